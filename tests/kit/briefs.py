"""Briefs for minds, and the smallest mind that can stand in for the clerk. Must never need a document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.mind import Brief, Message, Mind, Thought
from crdt_docs.contents import Contents, Document
from crdt_docs.richtext import Node, Span

NOW = 1_767_225_600_000
CRITICAL = "The liability cap must stay at 2,000,000 EUR, whatever Cobalt asks for."


@dataclass
class Murmur:
    """A mind that always thinks the same."""

    thoughts: Sequence[Thought]
    name: str = "clerk"

    async def think(self, brief: Brief) -> AsyncIterator[Thought]:
        for thought in self.thoughts:
            yield thought


async def thoughts_of(mind: Mind, brief: Brief) -> list[Thought]:
    """All that a mind thinks about a brief."""
    return [thought async for thought in mind.think(brief)]


def message(text: str, id: str = "m1", *, role: str = "user", author: str = "ada", at: int = NOW) -> Message:
    return Message(id=id, author=author, role=role, text=text, at=at)


def brief(*asked: str, contents: Contents | None = None, **more: Any) -> Brief:
    """A brief in which people ask this, one message each."""
    messages = tuple(message(text, f"m{number}") for number, text in enumerate(asked, 1))
    made = Brief("Acme contract", "en", messages, (), contents or working_set(), NOW)
    return replace(made, **more)


def working_set(**more: Any) -> Contents:
    """A small working set: one constraint of each severity, decisions, a question, a step, a document."""
    made = Contents(
        meta={"schema": 1, "name": "Acme contract", "status": "open", "goal": "Sign before March."},
        documents=[document("d1", "Draft", "Clause 7: either party may end this agreement with notice.")],
        retired_documents=[],
        constraints=[
            constraint("c1", CRITICAL, "critical"),
            constraint("c2", "Write British English.", "normal"),
            constraint("c3", "Send nothing on Fridays.", "normal", "retired"),
        ],
        decisions=[
            decision("e1", "Notice period is sixty days.", "superseded"),
            decision("e2", "The notice period is thirty days.", "current", ["e1"]),
        ],
        questions=[question("q1", "Does Cobalt accept a 21-day termination notice?")],
        outputs=[],
        messages=[],
        slots=[step("n1", "Ada sends the redline to Okafor.")],
        calls=[],
        summary={"text": "", "covers_seq": None, "by": None, "checked": []},
        bodies={},
    )
    return replace(made, **more)


def document(id: str, title: str, *paragraphs: str) -> Document:
    return Document(id, title, [Node("paragraph", {}, [Span(text)]) for text in paragraphs])


def constraint(id: str, text: str, severity: str, status: str = "active") -> dict[str, Any]:
    return {"id": id, "text": text, "status": status, "severity": severity, "source": None, "by": "ada", "at": None}


def decision(id: str, text: str, status: str = "current", supersedes: Sequence[str] = ()) -> dict[str, Any]:
    more = {"topic": None, "supersedes": list(supersedes), "source": None, "by": "ada", "at": None}
    return {"id": id, "text": text, "status": status, **more}


def question(id: str, text: str, status: str = "open") -> dict[str, Any]:
    return {"id": id, "text": text, "status": status, "answers": [], "by": "ada", "at": None}


def step(id: str, text: str, status: str = "open") -> dict[str, Any]:
    return {"id": id, "text": "next_step", "status": status, "intent": "next_step", "fields": {"text": text}}

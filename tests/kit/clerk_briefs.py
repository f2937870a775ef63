"""Briefs for minds: a working set from parts, and one message or several about it; and what thoughts came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.mind import Brief, Filed, Language, Message, Proposal, Said, Thought, Unfiled
from crdt_docs.contents import Contents

Item = dict[str, Any]
SAID_AT = 1_000_000
"""When the messages of a brief are said; the ledger's entries are older."""


def contents(**parts: Any) -> Contents:
    """A working set that holds only these parts."""
    empty: dict[str, Any] = {name: [] for name in ("documents", "constraints", "decisions", "questions", "outputs")}
    empty |= {
        "retired_documents": [],
        "messages": [],
        "slots": [],
        "calls": [],
        "meta": {},
        "summary": {},
        "bodies": {},
    }
    return Contents(**(empty | parts))


def constraint(key: str, text: str, severity: str = "important", **more: Any) -> Item:
    return {"id": key, "text": text, "severity": severity, "status": "active", "source": None, "at": 1, **more}


def decision(key: str, text: str, topic: str | None = None, **more: Any) -> Item:
    trace: Item = {"supersedes": [], "source": None, "at": 1}
    return {"id": key, "text": text, "topic": topic, "status": "current", **trace, **more}


def question(key: str, text: str, **more: Any) -> Item:
    return {"id": key, "text": text, "status": "open", "answers": [], "at": 1, **more}


def step(key: str, text: str, **more: Any) -> Item:
    fields = {"text": text, "by": "user:ana", "at": 1, **more}
    return {"id": key, "text": "next_step", "intent": "next_step", "status": "open", "fields": fields}


def brief(
    *texts: str,
    holding: Contents | None = None,
    language: Language = "en",
    before: Sequence[Message] = (),
    needs_name: bool = False,
    begun: str = "",
) -> Brief:
    """A brief about messages that one person said, one after another."""
    asked = tuple(
        Message(f"m{number}", "Ana", "user", text, SAID_AT + number) for number, text in enumerate(texts, start=1)
    )
    known = holding or contents()
    return Brief("A task", language, asked, tuple(before), known, SAID_AT + 100, needs_name=needs_name, begun=begun)


def said(thoughts: list[Thought]) -> str:
    return "".join(thought.text for thought in thoughts if isinstance(thought, Said))


def filed(thoughts: list[Thought]) -> list[Proposal]:
    return [proposal for thought in thoughts if isinstance(thought, Filed) for proposal in thought.proposals]


def unfiled(thoughts: list[Thought]) -> list[str]:
    return [thought.quote for thought in thoughts if isinstance(thought, Unfiled)]

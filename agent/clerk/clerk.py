"""The clerk: the agent's mind without a model.

Owns what one turn comes to: names, proposals, doubts and an answer, all by rules. Must never say the same brief in two
ways, and never drop a statement: what it can't file it hands back.
"""

from __future__ import annotations

import os.path
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from agent.clerk.answers import Asked
from agent.clerk.ledger import Ledger
from agent.clerk.naming import name_from
from agent.clerk.queries import find_queries
from agent.clerk.replies import Words
from agent.clerk.sentences import READ
from agent.clerk.statements import Statement, find_statements
from agent.clerk.terms import same_words
from agent.clerk.topics import superseded, topic_of
from agent.mind import Brief, Filed, Kind, Message, Named, Proposal, Said, Thought, Unfiled


@dataclass(slots=True)
class _Turn:
    """What the messages of a turn come to."""

    proposals: list[Proposal] = field(default_factory=list)
    unfiled: list[Unfiled] = field(default_factory=list)
    already: list[tuple[Kind, str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    cut: bool = False


class Clerk:
    """A mind that files what people state and answers from the ledger. It needs no model, and the same brief gives the same thoughts."""

    name = "clerk"

    async def think(self, brief: Brief) -> AsyncIterator[Thought]:
        """Name, entries, doubts and then the answer, or what of it was not yet said in ``brief.begun``."""
        for thought in consider(brief):
            yield thought


def consider(brief: Brief) -> list[Thought]:
    """All thoughts on a brief, in order."""
    thoughts: list[Thought] = []
    if brief.needs_name and (name := _name(brief)):
        thoughts.append(Named(name))
    ledger = Ledger(brief)
    turn = _read(brief, ledger)
    if turn.proposals:
        thoughts.append(Filed(tuple(turn.proposals)))
    thoughts.extend(turn.unfiled)
    words = Words(brief.language)
    rest = _rest("\n".join(_answer(turn, ledger, words)), brief.begun, words)
    return [*thoughts, Said(rest)] if rest else thoughts


def _name(brief: Brief) -> str | None:
    said = (message for message in (*brief.before, *brief.asked) if message.role == "user")
    return next((name for message in said if (name := name_from(message.text))), None)


def _read(brief: Brief, ledger: Ledger) -> _Turn:
    turn = _Turn()
    words = Words(brief.language)
    for message in brief.asked:
        if message.role != "user":
            continue
        turn.cut = turn.cut or len(message.text) > READ
        found = find_statements(message.text, [*ledger.open_questions(), *_asked_now(turn)])
        for statement in found.statements:
            _file(turn, statement, message, ledger)
        turn.unfiled.extend(Unfiled(quote, message.id) for quote in found.unsure)
        for query in find_queries(message.text):
            turn.answers.extend(words.answered(query, ledger, brief))
    return turn


def _asked_now(turn: _Turn) -> list[Asked]:
    return [Asked("", proposal.text) for proposal in turn.proposals if proposal.kind == "question"]


def _file(turn: _Turn, statement: Statement, message: Message, ledger: Ledger) -> None:
    quote = statement.quote
    if statement.answers == "":
        turn.unfiled.append(Unfiled(quote, message.id))
        return
    known = ledger.holds_answer(statement.answers, quote) if statement.answers else ledger.holds(statement.kind, quote)
    if known or any(p.kind == statement.kind and same_words(p.text, quote) for p in turn.proposals):
        turn.already.append((statement.kind, quote))
        return
    turn.proposals.append(_proposal(turn, statement, message, ledger))


def _proposal(turn: _Turn, statement: Statement, message: Message, ledger: Ledger) -> Proposal:
    quote = statement.quote
    if statement.kind != "decision":
        return Proposal(
            statement.kind, quote, message.id, quote, severity=statement.severity, answers=statement.answers
        )
    topic, named = topic_of(quote)
    standing = ledger.standing("decision")
    old = superseded(quote, topic, standing)
    if old and not named:
        topic = next((str(item["topic"]) for item in standing if item["id"] == old and item.get("topic")), topic)
    _overtake(turn, quote, topic)
    return Proposal("decision", quote, message.id, quote, topic=topic, supersedes=(old,) if old else ())


def _overtake(turn: _Turn, quote: str, topic: str) -> None:
    """A decision of this turn that a later one of it replaces is not filed: it never stood."""
    mine = [
        {"id": str(index), "text": p.text, "topic": p.topic}
        for index, p in enumerate(turn.proposals)
        if p.kind == "decision"
    ]
    old = superseded(quote, topic, mine)
    if old is not None:
        gone = turn.proposals.pop(int(old))
        turn.unfiled.append(Unfiled(gone.quote, gone.source))


def _answer(turn: _Turn, ledger: Ledger, words: Words) -> list[str]:
    lines = [*turn.answers, *words.filed(turn.proposals, ledger), *words.already(turn.already)]
    lines += words.unsure([unfiled.quote for unfiled in turn.unfiled])
    if turn.cut:
        lines.append(words["cut"].format(READ))
    return lines or [words["nothing"]]


def _rest(reply: str, begun: str, words: Words) -> str:
    """What is still to be said after ``begun``: the rest, or a correction by the lines that were not said."""
    if reply.startswith(begun):
        return reply[len(begun) :]
    said = os.path.commonprefix([reply, begun])
    lines = [line for line in reply[said.rfind("\n") + 1 :].split("\n") if line not in begun.split("\n")]
    return "\n\n" + "\n".join([words["correction"], *lines]) if lines else ""

"""The clerk: the agent's mind without a model.

Owns what one turn comes to: names, proposals, doubts and an answer, all by rules. Must never say the same brief in two
ways, and never drop a statement: what it can't file it hands back.
"""

from __future__ import annotations

import os.path
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from agent.clerk.answers import Asked
from agent.clerk.ledger import Ledger
from agent.clerk.naming import name_from
from agent.clerk.queries import find_queries
from agent.clerk.replies import Words
from agent.clerk.sentences import READ
from agent.clerk.statements import Statement, find_statements
from agent.clerk.terms import Known
from agent.clerk.topics import Decisions, topic_of
from agent.mind import Brief, Filed, Kind, Message, Named, Proposal, Said, Thought, Unfiled

_LAST: Final = 20
"""Decisions of a turn that a later one of the same turn may replace."""


class Clerk:
    """A mind that files what people state and answers from the ledger, by rules: a brief has one answer."""

    name = "clerk"

    async def think(self, brief: Brief) -> AsyncIterator[Thought]:
        """Name, entries, doubts and then the answer, or what of it was not yet said in ``brief.begun``."""
        for thought in consider(brief):
            yield thought


def consider(brief: Brief) -> list[Thought]:
    """All thoughts on a brief, in order."""
    name = _name(brief) if brief.needs_name else None
    turn = _Turn(brief)
    for message in brief.asked:
        if message.role == "user":
            turn.read(message)
    thoughts: list[Thought] = [Named(name)] if name else []
    if turn.proposals:
        thoughts.append(Filed(tuple(turn.proposals)))
    thoughts.extend(turn.unfiled)
    rest = _rest("\n".join(turn.answer()), brief.begun, turn.words)
    return [*thoughts, Said(rest)] if rest else thoughts


@dataclass(slots=True)
class _Turn:
    """What the messages of a turn come to."""

    brief: Brief
    words: Words = field(init=False)
    ledger: Ledger = field(init=False)
    proposals: list[Proposal] = field(default_factory=list)
    unfiled: list[Unfiled] = field(default_factory=list)
    already: list[tuple[Kind, str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    known: dict[Kind, Known] = field(default_factory=lambda: defaultdict(Known))
    cut: bool = False

    def __post_init__(self) -> None:
        self.words = Words(self.brief.language)
        self.ledger = Ledger(self.brief)

    def read(self, message: Message) -> None:
        """Take in a message: what it states, what it asks of the ledger."""
        self.cut = self.cut or len(message.text) > READ
        asked_now = [Asked("", proposal.text) for proposal in self.proposals if proposal.kind == "question"]
        found = find_statements(message.text, [*self.ledger.open_questions(), *asked_now])
        for statement in found.statements:
            self._file(statement, message.id)
        self.unfiled.extend(Unfiled(quote, message.id) for quote in found.unsure)
        for query in find_queries(message.text):
            self.answers.extend(self.words.answered(query, self.ledger, self.brief))

    def answer(self) -> list[str]:
        """The answer, line by line."""
        lines = [*self.answers, *self.words.filed(self.proposals, self.ledger), *self.words.already(self.already)]
        lines += self.words.unsure([unfiled.quote for unfiled in self.unfiled])
        if self.cut:
            lines.append(self.words["cut"].format(READ))
        return lines or [self.words["nothing"]]

    def _file(self, statement: Statement, source: str) -> None:
        quote, kind, question = statement.quote, statement.kind, statement.answers
        if question == "":
            # It answers a question of this same turn, which has no id yet.
            self.unfiled.append(Unfiled(quote, source))
        elif self._is_known(kind, quote, question):
            self.already.append((kind, quote))
        else:
            self.known[kind].add(quote, source)
            self.proposals.append(self._proposal(statement, source))

    def _is_known(self, kind: Kind, quote: str, question: str | None) -> bool:
        if question:
            return self.ledger.holds_answer(question, quote)
        return self.ledger.holds(kind, quote) or self.known[kind].find(quote) is not None

    def _proposal(self, statement: Statement, source: str) -> Proposal:
        quote, kind = statement.quote, statement.kind
        if kind != "decision":
            return Proposal(kind, quote, source, quote, severity=statement.severity, answers=statement.answers)
        topic, named = topic_of(quote)
        old = self.ledger.decided.superseded_by(quote, topic)
        if old and not named:
            standing = self.ledger.standing("decision")
            topic = next((str(item["topic"]) for item in standing if item["id"] == old and item.get("topic")), topic)
        self._overtake(quote, topic)
        return Proposal(kind, quote, source, quote, topic=topic, supersedes=(old,) if old else ())

    def _overtake(self, quote: str, topic: str) -> None:
        """A decision of this turn that a later one of it replaces is not filed: it never stood."""
        mine = [(index, p) for index, p in enumerate(self.proposals) if p.kind == "decision"][-_LAST:]
        decisions = Decisions([{"id": index, "text": p.text, "topic": p.topic} for index, p in mine])
        if (old := decisions.superseded_by(quote, topic)) is not None:
            gone = self.proposals.pop(int(old))
            self.unfiled.append(Unfiled(gone.quote, gone.source))


def _name(brief: Brief) -> str | None:
    said = (message for message in (*brief.before, *brief.asked) if message.role == "user")
    return next((name for message in said if (name := name_from(message.text))), None)


def _rest(reply: str, begun: str, words: Words) -> str:
    """What is still to be said after ``begun``: the rest, or a correction by the lines that were not said."""
    if reply.startswith(begun):
        return reply[len(begun) :]
    same = os.path.commonprefix([reply, begun])
    said = set(begun.split("\n"))
    lines = [line for line in reply[same.rfind("\n") + 1 :].split("\n") if line not in said]
    return "\n\n" + "\n".join([words["correction"], *lines]) if lines else ""

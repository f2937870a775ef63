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
from agent.clerk.rules import read_patterns
from agent.clerk.sentences import READ
from agent.clerk.statements import Statement, find_statements
from agent.clerk.terms import Known, terms
from agent.clerk.topics import Decisions, clear_topic, topic_of
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
    held: list[tuple[str, str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    known: dict[Kind, Known] = field(default_factory=lambda: defaultdict(Known))
    spoken: frozenset[str] = frozenset()
    cut: bool = False

    def __post_init__(self) -> None:
        self.words = Words(self.brief.language)
        self.ledger = Ledger(self.brief)

    def read(self, message: Message) -> None:
        """Take in a message: what it states, what it asks of the ledger."""
        self.cut = self.cut or len(message.text) > READ
        asked_now = [Asked("", proposal.text) for proposal in self.proposals if proposal.kind == "question"]
        again = read_patterns("topics")["corrects"].search(message.text[:READ])
        settled = self.ledger.answered_questions() if again else []
        found = find_statements(message.text, [*self.ledger.open_questions(), *settled, *asked_now])
        self.spoken = terms(message.text[:READ]) if any(s.kind == "decision" for s in found.statements) else frozenset()
        for statement in found.statements:
            self._file(statement, message)
        for quote in found.unsure:
            if not self._is_held(quote, message.id):
                self.unfiled.append(Unfiled(quote, message.id))
        for query in find_queries(message.text):
            self.answers.extend(self.words.answered(query, self.ledger, self.brief))

    def answer(self) -> list[str]:
        """The answer, line by line."""
        lines = [*self.answers, *self.words.filed(self.proposals, self.ledger), *self.words.already(self.already)]
        lines += self.words.held(self.held)
        lines += self.words.unsure(
            [quote for unfiled in self.unfiled if (quote := unfiled.quote) not in dict(self.held)]
        )
        if self.cut:
            lines.append(self.words["cut"].format(READ))
        nothing = self.words["nothing"]
        is_said = self.brief.follows and nothing in self.brief.before[-1].text
        return lines or ([] if is_said else [nothing])

    def _file(self, statement: Statement, message: Message) -> None:
        quote, kind, question, source = statement.quote, statement.kind, statement.answers, message.id
        if kind != "question" and self._is_held(quote, source):
            return
        if kind == "question" and (told := self.ledger.telling(quote, self.brief.task_name)):
            lines = self.words.told(told, self.ledger)
            self.answers.extend(line for line in lines if line not in self.answers)
        elif question == "":
            # It answers a question of this same turn, which has no id yet.
            self.unfiled.append(Unfiled(quote, source))
        elif self._is_known(kind, quote, question):
            self.already.append((kind, quote))
        else:
            self.known[kind].add(quote, source)
            self._propose(statement, message)

    def _is_held(self, quote: str, source: str) -> bool:
        """Hand back what changes the amount of a constraint: only people retire one, and never must two stand."""
        old = self.ledger.limit_on(quote) if read_patterns("topics")["limit"].search(quote) else None
        if old is None:
            return False
        if (quote, old) not in self.held:
            self.held.append((quote, old))
            self.unfiled.append(Unfiled(quote, source))
        return True

    def _is_known(self, kind: Kind, quote: str, question: str | None) -> bool:
        if question:
            return self.ledger.holds_answer(question, quote)
        return self.ledger.holds(kind, quote) or self.known[kind].find(quote) is not None

    def _propose(self, statement: Statement, message: Message) -> None:
        quote, kind, source = statement.quote, statement.kind, message.id
        if kind != "decision":
            old = self.ledger.answer_to(statement.answers) if statement.answers else None
            olds = (old,) if old else ()
            self.proposals.append(
                Proposal(kind, quote, source, quote, statement.severity, supersedes=olds, answers=statement.answers)
            )
            return
        topic, named = topic_of(quote)
        overtaken = self._overtake(quote, topic)
        old, unclear = self.ledger.decided.replaced_by(quote, topic, self.spoken)
        if unclear and not overtaken:
            self.unfiled.append(Unfiled(quote, source))
            return
        clear = clear_topic(topic, quote)
        if old and (not named or read_patterns("topics")["another"].search(quote)):
            standing = self.ledger.standing("decision")
            clear = next((str(item["topic"]) for item in standing if item["id"] == old and item.get("topic")), clear)
        self.proposals.append(Proposal(kind, quote, source, quote, topic=clear, supersedes=(old,) if old else ()))

    def _overtake(self, quote: str, topic: str) -> bool:
        """A decision of this turn that a later one of it replaces is not filed: it never stood."""
        mine = [(index, p) for index, p in enumerate(self.proposals) if p.kind == "decision"][-_LAST:]
        decisions = Decisions([{"id": index, "text": p.text, "topic": p.topic} for index, p in mine])
        old, _ = decisions.replaced_by(quote, topic, frozenset())
        if old is None:
            return False
        gone = self.proposals.pop(int(old))
        self.unfiled.append(Unfiled(gone.quote, gone.source))
        return True


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

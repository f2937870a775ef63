"""What a message states: constraints, decisions, questions, next steps, and answers to what is open.

Owns what is made of the judged clauses of a message: quotes, severity, and which question something answers. Must never
guess: what looks like a statement and fits no rule is handed back as unsure. Pure, and linear in the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent.clerk.answers import Asked, Questions
from agent.clerk.judge import judge
from agent.clerk.parts import LONGEST, Part, near, read_parts, table_of
from agent.clerk.queries import find_queries
from agent.clerk.rules import first
from agent.clerk.sentences import Clause
from agent.clerk.terms import terms
from agent.mind import Kind
from crdt_docs.entries import Severity

_COMMAS = {",", "，", " "}
_COLON = 3
"""Characters between a label and what it labels, at most."""
_FOLLOWS = re.compile(r"\bso\b|所以|因此|于是|那就?", re.I)
"""Parts what follows from an answer from the answer."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something stated at ``start`` of a message, in its words ``quote``; ``answers`` is the id of a question."""

    kind: Kind
    quote: str
    start: int
    severity: Severity = "normal"
    answers: str | None = None

    @property
    def end(self) -> int:
        """Where it ends in the message."""
        return self.start + len(self.quote)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a message: statements, and quotes of what could be one."""

    statements: tuple[Statement, ...]
    unsure: tuple[str, ...]


def find_statements(text: str, asked: Sequence[Asked] = ()) -> Found:
    """Everything that a message states, in its order; ``asked`` are the questions that are open."""
    parts, heard = read_parts(text)
    parts = judge(text, parts, heard, [terms(question.text) for question in asked])
    answers = _answers(text, parts, Questions(asked)) if asked else []
    told = [(answer.start, answer.end) for answer in answers]
    found = [statement for part in parts if (statement := _statement(part, text)) and not _is_told(part, told)]
    doubts = [part for part in parts if part.means == "unsure" and not _is_told(part, told)]
    unsure = [part.clause.text for part in doubts if not find_queries(part.clause.text)]
    ordered = sorted([*found, *answers], key=lambda said: (said.start, said.kind != "decision"))
    return Found(tuple(ordered), tuple(unsure))


def _is_told(part: Part, told: list[tuple[int, int]]) -> bool:
    """Whether a clause is all of an answer or part of one. A choice is a decision as well."""
    if part.means == "decision" and not part.weak:
        return False
    return any(part.clause.start <= start < part.clause.end or start <= part.clause.start < end for start, end in told)


def _statement(part: Part, text: str) -> Statement | None:
    clause = part.clause
    kind = _kind(part)
    if kind is None or (kind == "question" and find_queries(clause.text)):
        return None
    if found := part.table.cues["opening"].match(clause.plain):
        at = found.end()
        clause = replace(clause, text=clause.text[at:], plain=clause.plain[at:], start=clause.start + at)
    clause = _with_label(part, clause, text)
    return Statement(kind, clause.text, clause.start, _severity(clause) if kind == "constraint" else "normal")


def _with_label(part: Part, clause: Clause, text: str) -> Clause:
    """A clause with what stands before its colon, where that says what it is about: "budget: 12k"."""
    label, at = clause.label, clause.label_at
    opens = label and text.startswith(label, at) and clause.start - at <= len(label) + _COLON
    if (
        not opens
        or part.means == "next_step"
        or 2 * len(label) < len(clause.text)
        or first(table_of(label).labels, label)
    ):
        return clause
    plain = label + text[at + len(label) : clause.start] + clause.plain
    return replace(clause, text=text[at : clause.end], plain=plain, start=at)


def _kind(part: Part) -> Literal["constraint", "decision", "question", "next_step"] | None:
    means = part.means
    return means if means in ("constraint", "decision", "question", "next_step") else None


def _severity(clause: Clause) -> Severity:
    cues = table_of(clause.text).cues
    plain = cues["uncritical"].sub(" ", clause.plain)
    if cues["normal"].search(plain):
        return "normal"
    return "critical" if cues["critical"].search(plain) else "important"


def _answers(text: str, parts: list[Part], questions: Questions) -> list[Statement]:
    out: list[Statement] = []
    index = 0
    while index < len(parts):
        told = _answer_of(parts, index, questions)
        index += 1
        if told is None:
            continue
        clause, question = told
        end = clause.end
        while index < len(parts) and _goes_on(parts[index], clause, text[end : parts[index].clause.start]):
            if questions.answered_by(parts[index].clause.plain, "") not in ([], [question]):
                break
            end = parts[index].clause.end
            index += 1
        out.append(Statement("answer", text[clause.start : end], clause.start, answers=question))
    return out


def _answer_of(parts: list[Part], index: int, questions: Questions) -> tuple[Clause, str] | None:
    """The clause that answers, without whom it is from, and the id of its question."""
    part = parts[index]
    if not part.open or part.means == "question" or len(part.clause.plain) > LONGEST:
        return None
    clause = part.clause if part.means == "decision" else _told(part)
    if clause is part.clause and part.means != "decision" and part.table.cues["sources"].search(clause.plain):
        return None
    context = near(parts, index) if part.means in {"nothing", "unsure"} else ""
    fitting = questions.answered_by(clause.plain, context)
    if len(fitting) > 1 and part.means == "nothing":
        part.means = "unsure"
    return (clause, fitting[0]) if len(fitting) == 1 else None


def _told(part: Part) -> Clause:
    """A clause without whom it comes from."""
    clause = part.clause
    found = part.table.cues["reports"].match(clause.plain)
    if found is None or found.end() >= len(clause.plain):
        return clause
    at = found.end()
    return replace(clause, text=clause.text[at:], plain=clause.plain[at:], start=clause.start + at)


def _goes_on(part: Part, clause: Clause, gap: str) -> bool:
    """Whether a clause tells more of an answer, and not where it is from."""
    plain, cues = part.clause.plain, part.table.cues
    if part.clause.sentence != clause.sentence or not part.open or part.means in {"question", "next_step"}:
        return False
    if _FOLLOWS.search(gap):
        return False
    own = part.means == "decision" or (part.means == "constraint" and cues["critical"].search(plain))
    return part.clause.after in _COMMAS and not own and not cues["sources"].search(plain)

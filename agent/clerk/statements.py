"""What a message states: constraints, decisions, questions, next steps, and answers to what is open.

Owns the reading of one message by the rules of its language. Must never guess: what looks like a statement and fits no
rule is handed back as unsure. Pure, and linear in the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from agent.clerk.answers import Asked, best_question
from agent.clerk.chinese import CHINESE
from agent.clerk.english import ENGLISH
from agent.clerk.rules import Means, Rule, Table
from agent.clerk.sentences import BLANK, Clause, is_chinese, split
from agent.mind import Kind
from crdt_docs.entries import Severity

LONGEST: Final = 400
"""Characters of a clause that is still judged: what is longer was not typed as a statement."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something stated at ``start`` of a message, in its words ``quote``; ``answers`` is the id of a question."""

    kind: Kind
    quote: str
    start: int
    severity: Severity = "normal"
    answers: str | None = None
    context: str = ""

    @property
    def end(self) -> int:
        """Where it ends in the message."""
        return self.start + len(self.quote)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a message: statements, and quotes of what could be one."""

    statements: tuple[Statement, ...]
    unsure: tuple[str, ...]


@dataclass(slots=True)
class _Part:
    """A clause with what it was taken for; ``open`` if an answer may be looked for in it, ``weak`` if it belongs to one before."""

    clause: Clause
    means: Means
    open: bool = True
    weak: bool = False
    settles: bool = False


def find_statements(text: str, asked: Sequence[Asked] = ()) -> Found:
    """Everything that a message states, in its order; ``asked`` are the questions that are open."""
    parts: list[_Part] = []
    for _, clauses in groupby(split(text), key=lambda clause: clause.sentence):
        if not _judge(_joined(list(clauses), text), text, parts):
            return Found((), ())
    found = [statement for part in parts if (statement := _statement(part))]
    return Found(tuple(_with_answers(text, parts, found, asked)), tuple(p.clause.text for p in parts if p.means == "unsure"))


def table_of(text: str) -> Table:
    """The rules of the language that a text is in."""
    return CHINESE if is_chinese(text) else ENGLISH


def _joined(clauses: list[Clause], text: str) -> list[Clause]:
    """A question that holds commas is one clause."""
    if not clauses[-1].asked:
        return clauses
    for index, clause in enumerate(clauses):
        table = table_of(clause.text)
        bare = _bare(clause, table)
        if bare and table.interrogative.match(bare.plain):
            end = clauses[-1].end
            plain = BLANK.join(c.plain for c in clauses[index:])
            whole = text[bare.start : end]
            plain = bare.plain + text[bare.end : end] if len(clauses) > index + 1 else bare.plain
            return [*clauses[:index], replace(bare, text=whole, plain=plain)]
    return clauses


def _judge(clauses: list[Clause], text: str, parts: list[_Part]) -> bool:
    """Take the clauses of one sentence for what they are; False if nothing in the whole message counts."""
    label = _label(clauses[0].label)
    void = label is not None and label.means == "nothing"
    until_but = False
    reported = label is not None and label.means == "reported"
    first = len(parts)
    for clause in clauses:
        table = table_of(clause.text)
        bare = _bare(clause, table)
        if bare is None:
            continue
        if len(clause.plain) <= LONGEST and table.retracts.search(clause.plain):
            _take_back(parts)
            parts.append(_Part(bare, "nothing", open=False))
            continue
        rule = None if void and not until_but else _rule(bare, table, own=label is not None and label.means not in {"nothing", "reported"})
        if rule and rule.scope == "message":
            return False
        if until_but and table.turns.search(f"{clause.after} {clause.plain}"):
            void = until_but = False
            rule = _rule(bare, table, own=True)
        elif rule and rule.means == "nothing" and rule.scope in {"sentence", "until_but"}:
            until_but = rule.scope == "until_but" and (until_but or not void)
            void = True
        reported = (reported and clause.after != "but") or (rule is not None and rule.means == "reported" and rule.scope == "sentence")
        if reported or (rule and rule.means == "reported"):
            parts.append(_Part(bare, "nothing"))
            continue
        if void:
            parts.append(_Part(bare, "nothing", open=False))
            continue
        _place(parts, first, _part(bare, rule, table), (label, table, text))
    return True


def _rule(clause: Clause, table: Table, *, own: bool) -> Rule | None:
    plain = clause.plain
    if len(plain) > LONGEST:
        return None
    rule = None if own else _first(table.before, plain)
    if rule is None and (clause.text.endswith(("?", "？")) or not clause.asked):
        rule = _first(table.asked, plain)
        marked = clause.text.endswith(("?", "？"))
        if (rule or marked) and (vetoed := _first(table.unasked, plain.rstrip("?？"))):
            rule = None if vetoed.means == "no_question" and not marked else vetoed
    return rule or _first(table.rules, plain)


def _part(clause: Clause, rule: Rule | None, table: Table) -> _Part:
    if rule is None:
        return _Part(clause, "nothing", open=not clause.text.endswith(("?", "？")))
    if rule.means == "hedged":
        return _Part(clause, "nothing", open=False)
    if rule.scope == "beside":
        return _Part(clause, rule.means, weak=True)
    if clause.text.endswith(("?", "？")) and rule.means != "question" and not clause.text.startswith("@"):
        return _Part(clause, "nothing", open=False)
    return _Part(clause, rule.means, open=rule.means not in {"question"})


def _place(parts: list[_Part], first: int, part: _Part, about: tuple[Rule | None, Table, str]) -> None:
    """Put a clause beside the ones before it in its sentence, or let it belong to the last of them."""
    label, table, text = about
    before = parts[-1] if len(parts) > first else None
    plain = part.clause.plain
    if table.settles.search(plain) and len(plain) < 40:
        said = before and len(before.clause.text.split()) + len(before.clause.text) * is_chinese(before.clause.text) > 1
        if before and said and before.means in {"nothing", "decision", "unsure", "next_step"} and before.open:
            before.means = "decision"
            _extend(before, part.clause, text)
            return
        parts.append(_Part(part.clause, "nothing", open=False, settles=True))
        return
    if label and label.means not in {"nothing", "reported"} and (before is None or label.means in {"decision", "question"}):
        if part.means in {"nothing", "unsure", "decision", "next_step", "constraint"} or label.means == "question":
            part.means = label.means
    elif before and before.settles and part.means in {"nothing", "unsure", "next_step"}:
        part.means = "decision"
    if before and before.means == "nothing" and before.open and table.contrasts.search(plain):
        before.means = "decision"
        _extend(before, part.clause, text)
        return
    if before and before.means in {"decision", "constraint"} and table.continues.search(plain):
        if part.means in {"nothing", "unsure", before.means}:
            _extend(before, part.clause, text)
            return
    if before and part.weak and part.clause.after in {",", "，", " "}:
        if before.means == "next_step" or (before.means == "decision" and table.bare.match(before.clause.plain)):
            _extend(before, part.clause, text)
            return
    if not label and before and before.means == part.means == "question" and not _first(table.asked, plain):
        return
    if before and before.means == part.means == "next_step" and part.clause.after in {",", "，", " "}:
        _extend(before, part.clause, text)
        return
    parts.append(part)


def _extend(part: _Part, clause: Clause, text: str) -> None:
    start, end = part.clause.start, clause.end
    gap = text[part.clause.end : clause.start]
    part.clause = replace(part.clause, text=text[start:end], plain=part.clause.plain + gap + clause.plain)


def _label(label: str) -> Rule | None:
    if not label:
        return None
    table = table_of(label)
    return _first(table.labels, label)


def _first(rules: tuple[Rule, ...], plain: str) -> Rule | None:
    for rule in rules:
        if rule.pattern.search(plain):
            return rule
    return None


def _bare(clause: Clause, table: Table) -> Clause | None:
    """The clause without particles before and after it."""
    start, end = 0, len(clause.plain)
    if found := table.leading.match(clause.plain):
        start = found.end()
    if found := table.trailing.search(clause.plain, start):
        end = found.start()
    while start < end and _is_ornament(clause.text[start]):
        start += 1
    while end > start and _is_ornament(clause.text[end - 1]):
        end -= 1
    if start >= end:
        return None
    return replace(clause, text=clause.text[start:end], plain=clause.plain[start:end], start=clause.start + start)


def _is_ornament(char: str) -> bool:
    """Spaces, commas, emoji and the like around a clause."""
    return not char.isalnum() and char not in "?？)）]】\"'”’「」《》“‘%‰€$£¥°#@+-/*_(（[" and char != BLANK


def _take_back(parts: list[_Part]) -> None:
    """The message takes back what it said last."""
    for part in reversed(parts):
        if part.means != "nothing":
            part.means, part.open = "nothing", False
            return


def _statement(part: _Part) -> Statement | None:
    clause = part.clause
    if part.means in {"nothing", "unsure"}:
        return None
    if found := table_of(clause.text).opening.match(clause.plain):
        at = found.end()
        clause = replace(clause, text=clause.text[at:], plain=clause.plain[at:], start=clause.start + at)
    kind: Kind = part.means  # type: ignore[assignment]
    severity = _severity(clause) if kind == "constraint" else "normal"
    return Statement(kind, clause.text, clause.start, severity, context=clause.label)


def _severity(clause: Clause) -> Severity:
    table = table_of(clause.text)
    plain = table.uncritical.sub(" ", clause.plain)
    if table.normal.search(plain):
        return "normal"
    return "critical" if table.critical.search(plain) else "important"


def _with_answers(text: str, parts: list[_Part], found: list[Statement], asked: Sequence[Asked]) -> list[Statement]:
    if not asked:
        return found
    out = list(found)
    index = 0
    while index < len(parts):
        part = parts[index]
        index += 1
        told = _answer_of(parts, index - 1, asked)
        if told is None:
            continue
        clause, question = told
        if part.means != "decision" or part.weak:
            out = [s for s in out if s.start != part.clause.start]
        end = clause.end
        while index < len(parts) and _goes_on(parts[index], clause):
            out = [s for s in out if s.start != parts[index].clause.start]
            end = parts[index].clause.end
            index += 1
        out.append(Statement("answer", text[clause.start : end], clause.start, answers=question))
    return sorted(out, key=lambda s: (s.start, s.kind != "decision"))


def _answer_of(parts: list[_Part], index: int, asked: Sequence[Asked]) -> tuple[Clause, str] | None:
    """The clause that answers, without whom it is from, and the id of its question."""
    part = parts[index]
    table = table_of(part.clause.text)
    if not part.open or part.means == "question" or len(part.clause.plain) > LONGEST:
        return None
    clause = part.clause if part.means == "decision" else _told(part.clause, table)
    if clause is part.clause and part.means != "decision" and table.sources.search(clause.plain):
        return None
    plain = part.means in {"nothing", "unsure"}
    near = [p.clause.plain for p in parts[max(0, index - 1) : index] if p.clause.sentence == clause.sentence]
    question = best_question(clause.text, " ".join([clause.label, *near]) if plain else "", asked)
    return (clause, question) if question is not None else None


def _told(clause: Clause, table: Table) -> Clause:
    found = table.reports.match(clause.plain)
    if found is None or found.end() >= len(clause.plain):
        return clause
    at = found.end()
    return replace(clause, text=clause.text[at:], plain=clause.plain[at:], start=clause.start + at)


def _goes_on(part: _Part, clause: Clause) -> bool:
    """Whether a clause tells more of an answer, and not where it is from."""
    plain = part.clause.plain
    if part.clause.sentence != clause.sentence or not part.open or part.means in {"question", "next_step"}:
        return False
    table = table_of(part.clause.text)
    own = part.means == "decision" or (part.means == "constraint" and table.critical.search(plain))
    return part.clause.after in {",", "，", " "} and not own and not table.sources.search(plain)

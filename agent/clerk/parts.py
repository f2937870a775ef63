"""The clauses of a message, each with what it was taken for.

Owns the judging: rules of the clause's language, what a sentence's beginning does to its rest, and which clauses belong
together. Must never say what is filed: that is for ``statements``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from agent.clerk.rules import Means, Rule, Table, first, read_table
from agent.clerk.sentences import BLANK, Clause, is_chinese, split

LONGEST: Final = 400
"""Characters of a clause that is still judged: what is longer was not typed as a statement."""
_SHORT: Final = 40
_SAYS_LITTLE: Final = {"nothing", "unsure", "question"}
_OBJECT: Final = re.compile(r"and (?!(?:we|i|he|she|they|it|you|the|our|my|that|this|there|let's)\b)", re.I)
_TOO_LONG: Final = Rule("unsure", re.compile(""), "it runs on for too long to be judged")
_ASKS: Final = ("?", "？")
_COMMAS: Final = {",", "，", " "}
_CLOSING: Final = "?？)）]】\"'”’「」《》“‘%‰€$£¥°#@+-/*_(（["


@dataclass(slots=True)
class Part:
    """A clause and what it was taken for.

    ``open`` if an answer may be looked for in it, ``weak`` if it goes with a statement before it, ``settles`` if it
    makes a decision of what comes next.
    """

    clause: Clause
    means: Means
    open: bool = True
    weak: bool = False
    settles: bool = False

    @property
    def table(self) -> Table:
        """The rules of its language."""
        return table_of(self.clause.text)


@dataclass(frozen=True, slots=True)
class Heard:
    """A clause before it was put beside others: the rule that fits it, and ``state``, what its sentence does to it."""

    clause: Clause
    rule: Rule | None
    state: str


def table_of(text: str) -> Table:
    """The rules of the language that a text is in."""
    return read_table("chinese" if is_chinese(text) else "english")


def read_parts(text: str) -> tuple[list[Part], list[Heard]]:
    """The clauses of a message, judged by rules, and before; no parts if the whole message is not meant in earnest."""
    parts: list[Part] = []
    heard: list[Heard] = []
    earnest = True
    for _, clauses in groupby(split(text), key=lambda clause: clause.sentence):
        sentence = _Sentence(text, parts, _joined(list(clauses), text), heard)
        earnest = sentence.read() and earnest
    return (parts if earnest else []), heard


class _Sentence:
    """The reading of one sentence: what its label and its first clauses do to the later ones."""

    def __init__(self, text: str, parts: list[Part], clauses: list[Clause], heard: list[Heard]) -> None:
        self._text = text
        self._parts = parts
        self._heard = heard
        self._clauses = clauses
        self._begun = len(parts)
        label = clauses[0].label
        self._label = first(table_of(label).labels, label) if label else None
        self._void = self._label is not None and self._label.means == "nothing"
        self._reported = self._label is not None and self._label.means == "reported"
        self._until_but = False
        self._told = False

    def read(self) -> bool:
        """Take its clauses for what they are; False if nothing in the whole message counts."""
        earnest = True
        for clause in self._clauses:
            if bare := _bare(clause):
                rule, state = self._take(clause, bare)
                self._heard.append(Heard(bare, rule, state))
                earnest = earnest and state != "jest"
        return earnest

    def _take(self, clause: Clause, bare: Clause) -> tuple[Rule | None, str]:
        """Put a clause among the parts: the rule that fits it, and what the sentence does to it."""
        if len(clause.plain) <= LONGEST and table_of(clause.text).cues["retracts"].search(clause.plain):
            self._take_back(bare)
            return None, "retracts"
        if len(clause.plain) <= LONGEST and table_of(clause.text).cues["denies"].search(clause.plain):
            self._deny()
            self._parts.append(Part(bare, "nothing", open=False))
            return None, "denies"
        rule = self._rule(bare)
        if rule and rule.scope == "message":
            self._parts.append(Part(bare, "nothing", open=False))
            return rule, "jest"
        if self._is_reason(clause):
            self._parts.append(Part(bare, "nothing", open=False))
            return rule, "reason"
        self._told = self._reported or self._goes_on_telling(clause) or (rule is not None and rule.means == "reported")
        if self._told:
            self._parts.append(Part(bare, "nothing"))
            return rule, "told"
        if self._void:
            self._parts.append(Part(bare, "nothing", open=False))
            return rule, "void"
        self._place(_part(bare, rule))
        return rule, ""

    @property
    def _own(self) -> bool:
        """Whether a label says that what follows is stated."""
        return self._label is not None and self._label.means not in {"nothing", "reported"}

    def _rule(self, clause: Clause) -> Rule | None:
        """The rule for a clause, after what it does to the sentence."""
        if self._void and not self._until_but:
            return None
        rule = _judged(clause, own=self._own)
        if self._until_but and table_of(clause.text).cues["turns"].search(f"{clause.after} {clause.plain}"):
            self._void = self._until_but = False
            return _judged(clause, own=True)
        if rule and rule.means == "nothing" and rule.scope in {"sentence", "until_but"}:
            self._until_but = rule.scope == "until_but"
            self._void = True
        if rule and rule.means == "reported" and rule.scope == "sentence":
            self._reported = True
        return rule

    def _is_reason(self, clause: Clause) -> bool:
        """Whether a clause says why what was stated in its sentence is so."""
        stated = any(part.means not in {"nothing", "question"} for part in self._parts[self._begun :])
        reasons = table_of(clause.text).cues["reasons"]
        return stated and reasons.search(f"{clause.after} {clause.plain}") is not None

    def _goes_on_telling(self, clause: Clause) -> bool:
        """Whether a clause without a subject of its own goes on with what somebody else wants: "and use red paper"."""
        return self._told and _OBJECT.match(f"{clause.after} {clause.plain}") is not None

    def _deny(self) -> None:
        """What was told right before is not so: it answers nothing."""
        if self._parts and self._parts[-1].means == "nothing":
            self._parts[-1].open = False

    def _take_back(self, clause: Clause) -> None:
        """The message takes back what it said last."""
        for part in reversed(self._parts):
            if part.means != "nothing":
                part.means, part.open = "nothing", False
                break
        self._parts.append(Part(clause, "nothing", open=False))

    def _place(self, part: Part) -> None:
        """Put a clause beside the ones before it, or let it belong to the last of them."""
        before = self._parts[-1] if len(self._parts) > self._begun else None
        cues = part.table.cues
        if cues["settles"].search(part.clause.plain) and len(part.clause.plain) < _SHORT:
            if before and _may_settle(before):
                before.means = "decision"
                self._extend(before, part)
            else:
                self._parts.append(Part(part.clause, "nothing", open=False, settles=True))
            return
        self._relabel(part, before)
        if before and self._is_detail(part, before):
            part.means = "nothing"
        if before and self._belongs(part, before):
            self._extend(before, part)
        elif before and _fronts(part, before):
            front = self._parts.pop()
            self._extend(front, part)
            part.clause = front.clause
            self._parts.append(part)
        elif not (before and self._tells_of(part, before)):
            self._parts.append(part)

    def _relabel(self, part: Part, before: Part | None) -> None:
        """A label, or words that settle what comes next, say what a clause is where its own words do not."""
        if part.means == "question" or not any(char.isalnum() for char in part.clause.plain):
            return
        label = self._label if self._own else None
        if label and (before is None or label.means in {"decision", "question"}):
            part.means = label.means
        elif (
            part.means == "unsure" and part.clause.text.endswith(_ASKS) and before and before.means not in _SAYS_LITTLE
        ):
            part.means = "question"
        elif before and before.settles and part.means in {"nothing", "unsure", "next_step"}:
            part.means = "decision"

    def _belongs(self, part: Part, before: Part) -> bool:
        plain, cues = part.clause.plain, part.table.cues
        beside = part.clause.after in _COMMAS
        if before.means == "nothing" and before.open and _contrasts(part, before):
            before.means = "decision"
            return True
        if before.means == part.means == "constraint" and beside and _is_other_side(part, before):
            return True
        if before.means in {"decision", "constraint"} and cues["continues"].search(plain):
            return part.means in {"nothing", "unsure", before.means}
        if part.weak and beside:
            topicless = "bare" in cues and cues["bare"].match(before.clause.plain)
            return before.means == "next_step" or (before.means == "decision" and bool(topicless))
        return beside and before.means == part.means == "next_step" and not cues["names"].match(plain)

    def _is_detail(self, part: Part, before: Part) -> bool:
        """Whether a weak choice after a rule or a choice only tells more of it, or why."""
        stated = before.means == "constraint" or (before.means == "decision" and not before.weak)
        return (
            part.weak and stated and not self._own and part.clause.after in _COMMAS and not self._belongs(part, before)
        )

    def _tells_of(self, part: Part, before: Part) -> bool:
        """Whether a clause only says that the question before it is open."""
        both = before.means == part.means == "question" and not self._label
        return both and first(part.table.asked, part.clause.plain) is None

    def _extend(self, part: Part, more: Part) -> None:
        start, end = part.clause.start, more.clause.end
        gap = self._text[part.clause.end : more.clause.start]
        plain = part.clause.plain + gap + more.clause.plain
        part.clause = replace(part.clause, text=self._text[start:end], plain=plain)


def _joined(clauses: list[Clause], text: str) -> list[Clause]:
    """A question that holds commas is one clause."""
    if not clauses[-1].asked:
        return clauses
    for index, clause in enumerate(clauses):
        bare = _bare(clause)
        opens = table_of(clause.text).cues.get("interrogative")
        if bare and opens and opens.match(bare.plain):
            end = clauses[-1].end
            joined = replace(bare, text=text[bare.start : end], plain=bare.plain + text[bare.end : end])
            return [*clauses[:index], joined]
    return clauses


def _judged(clause: Clause, *, own: bool) -> Rule | None:
    """The first rule that fits a clause; ``own`` if it is known to be the writer's own statement."""
    table, plain = table_of(clause.text), clause.plain
    if len(plain) > LONGEST:
        return _TOO_LONG if any(rule.pattern.search(plain[:LONGEST]) for rule in table.rules if _files(rule)) else None
    rule = None if own else first(table.before, plain)
    marked = clause.text.endswith(_ASKS)
    if rule is None and (marked or not clause.asked):
        rule = first(table.asked, plain)
        if (rule or marked) and (vetoed := first(table.unasked, plain.rstrip("?？"))):
            rule = None if vetoed.means == "no_question" and not marked else vetoed
    return rule or first(table.rules, plain)


def _files(rule: Rule) -> bool:
    return rule.means not in {"nothing", "reported", "hedged"} and rule.scope != "beside"


def _part(clause: Clause, rule: Rule | None) -> Part:
    marked = clause.text.endswith(_ASKS)
    if rule is None:
        return Part(clause, "nothing", open=not marked)
    if rule.means == "hedged":
        return Part(clause, "unsure" if _says_more(clause) else "nothing", open=False)
    if marked and rule.means not in {"question", "unsure"} and not clause.text.startswith("@"):
        return Part(clause, "nothing", open=False)
    return Part(clause, rule.means, open=rule.means != "question", weak=rule.scope == "beside")


def _says_more(clause: Clause) -> bool:
    """Whether a clause that is said with reserve would be a constraint or a decision without."""
    rules = table_of(clause.text).rules
    stated = (rule for rule in rules if rule.means in {"constraint", "decision", "unsure"} and rule.scope != "beside")
    return any(rule.pattern.search(clause.plain) for rule in stated)


def _contrasts(part: Part, before: Part) -> bool:
    """Whether a clause says what was not chosen, and the one before it what was."""
    cues = part.table.cues
    found = cues["contrasts"].search(part.clause.plain) and cues["contrasted"].search(before.clause.plain)
    return found is not None and len(before.clause.plain) <= LONGEST


def _fronts(part: Part, before: Part) -> bool:
    """Whether the clause before a statement belongs to it: "until the contract is signed, nobody starts"."""
    if part.means not in {"constraint", "decision", "next_step"} or part.clause.after not in _COMMAS:
        return False
    if before.means not in {"nothing", "constraint"} or not before.open or len(before.clause.plain) > _SHORT:
        return False
    cues, plain = part.table.cues, before.clause.plain
    if cues["fronts"].search(plain):
        return before.means == "nothing" or is_chinese(plain)
    if "topic" not in cues or before.means != "nothing":
        return False
    return bool(cues["topic"].search(plain) and cues["topicless"].match(part.clause.plain))


def _is_other_side(part: Part, before: Part) -> bool:
    """Whether two rules are one said from two sides: this only, and not that."""
    other = part.table.cues.get("other_side")
    if other is None or not other.search(part.clause.plain):
        return False
    return other.search(before.clause.plain) is None


def _may_settle(part: Part) -> bool:
    """Whether "that's decided" can be said of a clause: it says something, and nothing else."""
    words = len(part.clause.text) if is_chinese(part.clause.text) else len(part.clause.text.split())
    says = words > 1 or any(char.isdigit() for char in part.clause.text)
    return says and part.open and part.means in {"nothing", "decision", "unsure", "next_step"}


def _bare(clause: Clause) -> Clause | None:
    """The clause without particles, emoji and the like before and after it."""
    cues = table_of(clause.text).cues
    start, end = 0, len(clause.plain)
    if len(clause.plain) <= LONGEST:
        if found := cues["leading"].match(clause.plain):
            start = found.end()
        if found := cues["trailing"].search(clause.plain, start):
            end = found.start()
    while start < end and _is_ornament(clause.text[start]):
        start += 1
    while end > start and _is_ornament(clause.text[end - 1]):
        end -= 1
    if start >= end:
        return None
    return replace(clause, text=clause.text[start:end], plain=clause.plain[start:end], start=clause.start + start)


def _is_ornament(char: str) -> bool:
    return not char.isalnum() and char not in _CLOSING and char != BLANK


def near(parts: Sequence[Part], index: int) -> str:
    """What stands right before a part in its sentence, and its label."""
    clause = parts[index].clause
    before = [part for part in parts[max(0, index - 1) : index] if part.clause.sentence == clause.sentence]
    said = [part.clause.plain for part in before if part.open or part.means == "question"]
    return " ".join([clause.label, *said])

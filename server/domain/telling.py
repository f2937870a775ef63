"""The resumption as one paragraph, sentence by sentence. Owns what is told in full and what is only counted.

Must never count what is critical or important, open, in conflict, waiting or not filed: that is told whatever it takes.
Of the rest (normal constraints, decisions that stand, answered questions, finished results, changes of these) the
latest are told up to a budget for each kind, and the others as "and 12 more decisions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from server.domain.facts import Facts, Item, is_finished, severity, standing_answers
from server.domain.language import Language
from server.domain.quoting import one_line
from server.domain.telling_en import English
from server.domain.telling_zh import Chinese

MOST: Final = 12
"""Items of one kind that are told before the others are counted."""
LETTERS: Final = 1_500
"""Characters of one kind's items before the others are counted; the latest is told however long it is."""


class Share(NamedTuple):
    """What is told of one kind, in the ledger's order, and how many more there are."""

    told: list[Item]
    more: int


class Since(NamedTuple):
    """When the person last looked, and the time now; Unix seconds."""

    looked: float
    now: float


class Shares(NamedTuple):
    """The facts, shared out over the sentences."""

    constraints: Share
    decisions: Share
    conflicts: list[list[Item]]
    open: list[Item]
    disputed: list[Item]
    answered: Share
    outputs: Share
    calls: list[Item]
    dialogues: list[Item]
    changes: Share


Words: TypeAlias = type[English] | type[Chinese]
"""A language: each of its functions is one whole sentence."""
WORDS: Final[Mapping[Language, Words]] = {"en": English, "zh": Chinese}


def tell(name: str, facts: Facts, language: Language, since: Since | None = None) -> str:
    """The paragraph. Without ``since`` it says nothing of changes."""
    words = WORDS[language]
    return words.BETWEEN.join([words.opening(name), *_sentences(facts, words, since)])


def _sentences(facts: Facts, words: Words, since: Since | None) -> Iterator[str]:
    told = share_out(facts)
    if facts.goal:
        yield words.goal(facts.goal)
    if any(told.constraints):
        yield words.constraints(*told.constraints)
    if any(told.decisions):
        yield words.decisions(*told.decisions)
    yield from map(words.conflict, told.conflicts)
    if told.open:
        yield words.open(told.open)
    if told.disputed:
        yield words.disputed(told.disputed)
    if any(told.answered):
        yield words.answered(*told.answered)
    if any(told.outputs):
        yield words.outputs(*told.outputs)
    if told.calls:
        yield words.calls(told.calls)
    if told.dialogues:
        yield words.dialogues(told.dialogues)
    if facts.next_steps:
        yield words.next_steps(facts.next_steps)
    elif facts.next_step is not None:
        yield words.follows(facts.next_step)
    if since is not None and not facts.changes:
        yield words.unchanged(since.now - since.looked)
    elif since is not None:
        yield words.changes(*told.changes, *since)
    if facts.not_filed:
        yield words.not_filed(facts.not_filed)


def share_out(facts: Facts) -> Shares:
    """Decide what is told in full."""
    by_id = {item["id"]: item for item in facts.decisions}
    questions = facts.questions
    return Shares(
        constraints=fit(facts.constraints, lambda item: severity(item) != "normal"),
        decisions=fit([item for item in facts.decisions if item["status"] == "current"]),
        conflicts=[[by_id[key] for key in keys] for keys in facts.conflicts],
        open=[item for item in questions if item["status"] == "open"],
        disputed=[item for item in questions if item["status"] == "conflicting"],
        answered=fit([item for item in questions if item["status"] == "answered"]),
        outputs=fit(facts.outputs, lambda item: not is_finished(item)),
        calls=[item for item in facts.pending if item["kind"] == "call"],
        dialogues=[item for item in facts.pending if item["kind"] == "dialogue"],
        changes=fit(facts.changes, _is_grave),
    )


def fit(items: Sequence[Item], must: Callable[[Item], bool] = lambda item: False) -> Share:
    """Those that must be told, and of the others the latest within the budget."""
    told: set[int] = set()
    room, letters = MOST, LETTERS
    for at in range(len(items) - 1, -1, -1):
        if must(items[at]):
            told.add(at)
            continue
        long = len(items[at]["text"])
        if room == MOST or (room > 0 and long <= letters):
            told.add(at)
            room -= 1
            letters -= long
        else:
            room = 0  # nothing older, so that "more" are all from before
    return Share([item for at, item in enumerate(items) if at in told], len(items) - len(told))


def _is_grave(change: Item) -> bool:
    """What may not be counted among others; messages are never told but by their number."""
    return change["kind"] in ("question", "message") or severity(change) != "normal"


def missing(text: str, facts: Facts, language: Language) -> list[str]:
    """The ids of the facts that must be told and whose quoted words are not in the paragraph."""
    words, told = WORDS[language], share_out(facts)
    owed: list[Mapping[str, Any]] = [{"id": "goal", "text": facts.goal}] if facts.goal else []
    owed += [*told.constraints.told, *told.decisions.told, *(side for sides in told.conflicts for side in sides)]
    owed += [*told.open, *told.disputed, *told.answered.told, *told.outputs.told, *told.calls, *told.dialogues]
    owed += [answer for question in (*told.disputed, *told.answered.told) for answer in standing_answers(question)]
    owed += facts.next_steps or ([facts.next_step] if facts.next_step is not None else [])
    owed += [change for change in told.changes.told if change["kind"] != "message" and one_line(change["text"])]
    owed += facts.not_filed
    return [item["id"] for item in owed if words.quote(item["text"]) not in text]

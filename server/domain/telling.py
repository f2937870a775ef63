"""The resumption as one paragraph, sentence by sentence. Owns what is told, how much of it, and what is only counted.

Must never count what is critical or important, open, in conflict, waiting or not filed: that is told whatever it takes.
All the rest is told too (normal constraints, decisions that stand, answered questions, finished results) up to so many
items in all; of more the latest of each kind, and the others as "and 12 more decisions". What is long is shortened, so
that it pushes nothing out, but never a constraint that is not normal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from server.domain.facts import NOT_ANSWERED, Facts, Item, is_finished, severity, standing_answers
from server.domain.language import Language
from server.domain.quoting import LABEL, LONG, one_line, shorten
from server.domain.telling_en import English
from server.domain.telling_zh import Chinese

MOST: Final = 60
"""Items of no severity that are told before others are counted."""
FEWEST: Final = 12
"""Items of a kind that are told however many there are of the others; changes, and messages nobody answered."""
LETTERS: Final = 8_000
"""Characters of all items of no severity before each is shortened further."""
_SHORTER: Final = (LONG, 150, 100)


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
    steps: list[Item]
    changes: Share
    not_filed: list[Item]
    unanswered: Share


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
        yield words.next_steps(told.steps)
    elif told.steps:
        yield words.follows(told.steps[0])
    if since is not None and not facts.changes:
        yield words.unchanged(since.now - since.looked)
    elif since is not None:
        yield words.changes(*told.changes, *since)
    if told.not_filed:
        yield words.not_filed(told.not_filed)
    if any(told.unanswered):
        yield words.unanswered(*told.unanswered)


def share_out(facts: Facts) -> Shares:
    """Decide what is told, and how much of each."""
    by_id = {item["id"]: item for item in facts.decisions}
    decisions, constraints, answered, outputs = _plain(facts)
    steps = facts.next_steps or ([facts.next_step] if facts.next_step is not None else [])
    return Shares(
        constraints=constraints._replace(told=[*filter(_is_graver, facts.constraints), *constraints.told]),
        decisions=decisions,
        conflicts=[_apart([by_id[key] for key in keys]) for keys in facts.conflicts],
        open=_cut_all(item for item in facts.questions if item["status"] == "open"),
        disputed=[_dispute(item) for item in facts.questions if item["status"] == "conflicting"],
        answered=answered,
        outputs=outputs._replace(told=_in_order(facts.outputs, outputs.told)),
        calls=_cut_all(item for item in facts.pending if item["kind"] == "call"),
        dialogues=_cut_all(item for item in facts.pending if item["kind"] == "dialogue"),
        steps=_cut_all(steps),
        changes=_changes(facts.changes),
        not_filed=_cut_all(item for item in facts.not_filed if item["status"] != NOT_ANSWERED),
        unanswered=_latest([item for item in facts.not_filed if item["status"] == NOT_ANSWERED], FEWEST),
    )


def _kinds(facts: Facts) -> list[list[Item]]:
    """What may be counted, by kind: decisions, constraints, answered questions, results."""
    return [
        [item for item in facts.decisions if item["status"] == "current"],
        [item for item in facts.constraints if not _is_graver(item)],
        [item for item in facts.questions if item["status"] == "answered"],
        [item for item in facts.outputs if is_finished(item)],
    ]


def _plain(facts: Facts) -> list[Share]:
    kinds = _kinds(facts)
    shares = [_latest(kind, room) for kind, room in zip(kinds, allot([len(kind) for kind in kinds]), strict=True)]
    sizes = [len(item["text"]) for share in shares for item in share.told]
    most = next((most for most in _SHORTER if sum(min(most, size) for size in sizes) <= LETTERS), _SHORTER[-1])
    return [share._replace(told=[_cut(item, most) for item in share.told]) for share in shares]


def allot(sizes: Sequence[int]) -> list[int]:
    """How many of each kind are told, with ``MOST`` of them in all, the first kinds first and none below its floor."""
    given = [min(size, FEWEST) for size in sizes]
    for at, size in enumerate(sizes):
        given[at] += min(size - given[at], MOST - sum(given))
    return given


def _latest(items: Sequence[Item], room: int) -> Share:
    more = max(0, len(items) - room)
    return Share(list(items[more:]), more)


def _in_order(items: Sequence[Item], plain: Sequence[Item]) -> list[Item]:
    """The unfinished results among those finished ones that are told."""
    told = {item["id"]: item for item in plain}
    return [told.get(item["id"]) or _cut(item) for item in items if item["id"] in told or not is_finished(item)]


def _changes(changes: Sequence[Item]) -> Share:
    """Those that must be told, and of the others the latest."""
    plain = [at for at, change in enumerate(changes) if not _is_grave(change)]
    counted = set(plain[: max(0, len(plain) - FEWEST)])
    kept = [change for at, change in enumerate(changes) if at not in counted]
    most = {True: LONG, False: _SHORTER[-1]}  # what stands is told above at its length
    return Share([one if _is_graver(one) else _cut(one, most[_is_grave(one)]) for one in kept], len(counted))


def _is_graver(item: Item) -> bool:
    return severity(item) != "normal"


def _is_grave(change: Item) -> bool:
    """What may not be counted among others; messages are never told but by their number."""
    return change["kind"] in ("question", "message") or _is_graver(change)


def _cut(item: Item, most: int = LONG) -> Item:
    """The item with no more of its words than are told."""
    limits = {"text": most, "title": most, "next": most, "topic": LABEL, "status": LABEL}
    cut = {key: shorten(item[key], limit) for key, limit in limits.items() if isinstance(item.get(key), str)}
    answers = [{**answer, "text": shorten(answer["text"], most)} for answer in item.get("answers") or ()]
    return {**item, **cut, "answers": answers} if answers else {**item, **cut}


def _cut_all(items: Iterable[Item]) -> list[Item]:
    return [_cut(item) for item in items]


def _apart(sides: Sequence[Item]) -> list[Item]:
    """The sides of a conflict, shortened if they can be told apart then."""
    cut = _cut_all(sides)
    return cut if len({side["text"] for side in cut}) == len(sides) else list(sides)


def _dispute(question: Item) -> Item:
    return {**_cut(question), "answers": _apart(standing_answers(question))}


def missing(text: str, facts: Facts, language: Language) -> list[str]:
    """The ids of the facts that must be told and whose quoted words are not in the paragraph."""
    words, told = WORDS[language], share_out(facts)
    owed: list[Mapping[str, Any]] = [{"id": "goal", "text": facts.goal}] if facts.goal else []
    owed += [item for item in facts.constraints if _is_graver(item)]
    owed += [*told.constraints.told, *told.decisions.told, *(side for sides in told.conflicts for side in sides)]
    owed += [*told.open, *told.disputed, *told.answered.told, *told.outputs.told, *told.calls, *told.dialogues]
    owed += [answer for question in (*told.disputed, *told.answered.told) for answer in standing_answers(question)]
    owed += told.steps
    owed += [change for change in told.changes.told if change["kind"] != "message" and one_line(change["text"])]
    owed += [*told.not_filed, *told.unanswered.told]
    lost = (item["id"] for item in owed if words.quote(item["text"]) not in text)
    return list(dict.fromkeys([*_dropped(facts, told), *lost]))


def _dropped(facts: Facts, told: Shares) -> list[str]:
    """What is only counted, and may not be."""
    shares = (told.decisions, told.constraints, told.answered, told.outputs)
    named = {item["id"] for share in shares for item in share.told}
    named |= {item["id"] for items in (*told.conflicts, told.open, told.disputed) for item in items}
    every = [
        item["id"] for items in (facts.constraints, facts.decisions, facts.questions, facts.outputs) for item in items
    ]
    plain = {item["id"] for kind in _kinds(facts) for item in kind}
    full = len(plain & named) >= MOST
    return [key for key in every if key not in named and not (full and key in plain)]

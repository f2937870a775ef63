"""What stands in a task, as data: what a resumption tells. Owns which entries stand and in which order they come.

Must never leave out a standing entry. What does not stand any more (retired constraints, superseded decisions and
answers, dropped questions) is not among them, and what is open or in conflict keeps that status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

from server.domain.quoting import has_words, one_line, shorten

Item = dict[str, Any]
"""An entry of the working set as the engine reads it: at least ``id``, ``text`` and ``status``."""

FINISHED: Final = frozenset({"done", "final", "finished", "accepted", "delivered", "succeeded", "cancelled"})
"""States of an output after which nothing is left to do on it."""
SETTLED: Final = frozenset({"done", "succeeded", "failed", "cancelled", "declined", "denied", "rejected", "executed"})
"""Statuses of a tool call after which nobody waits for it."""
OVER: Final = frozenset({"done", "dropped", "cancelled", "closed", "finished"})
"""States of a dialogue or a next step after which it is over."""
NEXT_STEP: Final = "next_step"
NOT_ANSWERED: Final = "not_answered"
MOST_UNANSWERED: Final = 200
"""Characters of a message that nobody answered; the message itself is in the working set."""
_LOOKED_FOR: Final = 200
_ENDS: Final = " .,;:!?…。，；：！？"
_QUOTED: Final = 4
"""Letters that words have at least for one to say that they are a quote."""
_ORDER: Final = {"critical": 0, "important": 1, "normal": 3}


@dataclass(frozen=True, slots=True)
class Facts:
    """What stands. ``pending`` are calls and dialogues that wait, ``not_filed`` words that found no place yet: what an
    agent could not file (``not_filed``), and messages that no agent answered (``not_answered``).

    ``next_steps`` are those that people named and that are open; ``next_step`` is the latest of them, or what follows
    from the rest. ``conflicts`` are the ids of decisions that stand against each other, a list for each conflict.
    """

    goal: str
    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    pending: list[Item]
    next_steps: list[Item]
    next_step: Item | None
    not_filed: list[Item]
    conflicts: list[list[str]]
    changes: list[Item] = field(default_factory=list)


NOTHING: Final = Facts("", [], [], [], [], [], [], None, [], [])


def gather(ledger: Mapping[str, Any]) -> Facts:
    """What stands in the working set: nothing without words, nothing that was taken back."""

    def standing(kind: str, *statuses: str) -> list[Item]:
        return [item for item in ledger.get(kind, []) if item["status"] in statuses and has_words(item["text"])]

    constraints = standing("constraints", "active")
    decisions = standing("decisions", "current", "conflicting")
    questions = standing("questions", "open", "conflicting", "answered")
    outputs = [_without_body(item) for item in ledger.get("outputs", []) if has_words(item["text"])]
    steps = open_steps(ledger)
    return Facts(
        goal=one_line(ledger.get("meta", {}).get("goal") or ""),
        constraints=sorted(constraints, key=lambda item: _ORDER.get(severity(item), 2)),
        decisions=decisions,
        questions=questions,
        outputs=outputs,
        pending=[*_calls(ledger), *_dialogues(ledger)],
        next_steps=steps,
        next_step=steps[-1] if steps else following(questions, outputs),
        not_filed=not_filed(ledger),
        conflicts=conflicts(ledger.get("decisions", []), decisions),
    )


def severity(item: Mapping[str, Any]) -> str:
    """How much hangs on a constraint: ``critical``, ``important`` or ``normal``, or what somebody called it."""
    return one_line(item.get("severity") or "").casefold() or "normal"


def standing_answers(question: Mapping[str, Any]) -> list[Item]:
    """The answers that have words and that no other answer took the place of."""
    given = [answer for answer in question.get("answers", []) if has_words(answer["text"])]
    replaced = {old for answer in given for old in answer.get("supersedes", []) if old != answer["id"]}
    return [answer for answer in given if answer["id"] not in replaced] or given


def open_steps(ledger: Mapping[str, Any]) -> list[Item]:
    """The next steps that people named and that are open, the latest last."""
    found: list[tuple[float, Item]] = []
    for slot in ledger.get("slots", []):
        text = step_words(slot)
        if slot.get("intent") == NEXT_STEP and slot["status"] not in OVER and has_words(text):
            at = slot["fields"].get("at")
            step = {"id": slot["id"], "text": text, "status": slot["status"], "kind": NEXT_STEP}
            found.append((at if isinstance(at, int | float) else 0, step))
    found.sort(key=lambda one: one[0])
    return [step for _, step in found]


def step_words(slot: Mapping[str, Any]) -> str:
    """The words of a next step."""
    text = slot.get("fields", {}).get("text")
    return text if isinstance(text, str) else ""


def following(questions: Sequence[Item], outputs: Sequence[Item]) -> Item | None:
    """What comes next where nobody has said it: the first question that is not settled, else an unfinished output.

    Its ``text`` is the question's, or what the output says comes next, or else the output's ``title``.
    """
    for item in questions:
        if item["status"] in ("open", "conflicting"):
            return {"id": item["id"], "text": item["text"], "status": item["status"], "kind": "question"}
    for item in outputs:
        if not is_finished(item):
            text = item["next"] if has_words(item.get("next") or "") else item["text"]
            step = {"id": item["id"], "text": text, "status": item["status"], "kind": "output"}
            return {**step, "title": item["text"]}
    return None


def is_finished(output: Mapping[str, Any]) -> bool:
    """Whether nothing is left to do on an output."""
    return one_line(output["status"]).casefold() in FINISHED


def conflicts(every: Sequence[Item], standing: Sequence[Item]) -> list[list[str]]:
    """The decisions that stand against each other, together: those that trace back to one that they all replace."""
    parent: dict[str, str] = {item["id"]: item["id"] for item in every}

    def find(key: str) -> str:
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    for item in every:
        for old in item.get("supersedes", []):
            if old in parent:
                parent[find(old)] = find(item["id"])
    groups: dict[str, list[str]] = {}
    for item in standing:
        if item["status"] == "conflicting":
            groups.setdefault(find(item["id"]) if item["id"] in parent else "", []).append(item["id"])
    return list(groups.values())


def not_filed(ledger: Mapping[str, Any]) -> list[Item]:
    """What an agent could not file: words of a message that stand in it still, and in no entry of the ledger."""
    claimed = list(_unfiled(ledger.get("messages", [])))
    if not claimed:
        return []
    said = {message["id"]: one_line(message["text"]) for message in ledger["messages"]}
    filed = [one_line(text).casefold() for text in _filed_words(ledger)]
    found: dict[tuple[str, str], Item] = {}
    for item in claimed:
        words = one_line(item["text"])
        if words in said.get(item["source"], "") and not any(words.casefold() in one for one in filed):
            found.setdefault((item["source"], words), item)
    return list(found.values())


def unanswered(ledger: Mapping[str, Any], messages: Sequence[str]) -> list[Item]:
    """Of these messages what stands in no entry of the ledger: shortened, with status ``not_answered``.

    Only the latest are looked for in the ledger, so that thousands of them hold nobody up.
    """
    recent = set(messages[-_LOOKED_FOR:])
    said = {message["id"]: one_line(message["text"]) for message in ledger.get("messages", [])}
    filed = {one_line(text).casefold() for text in _filed_words(ledger)}
    every, lengths = "\n".join(filed), sorted({len(one) for one in filed if len(one) >= _QUOTED}, reverse=True)
    return [
        {"id": key, "text": shorten(said[key], MOST_UNANSWERED), "status": NOT_ANSWERED, "source": key}
        for key in messages
        if key in said and not (key in recent and _is_filed(said[key].casefold(), every, filed, lengths))
    ]


def _is_filed(words: str, every: str, filed: AbstractSet[str], lengths: Sequence[int]) -> bool:
    """Whether an entry has these words, or entries quote all of them; ``lengths`` are those that a quote may have."""
    bare = words.strip(_ENDS)
    if len(bare) >= _QUOTED and bare in every:
        return True
    at, quoted = 0, False
    while at < len(words):
        quote = next((length for length in lengths if words[at : at + length] in filed), 0)
        if not quote and words[at].isalnum():
            return False
        quoted = quoted or quote > 0
        at += quote or 1
    return quoted


def _unfiled(messages: Iterable[Item]) -> Iterable[Item]:
    for message in messages:
        refs = message.get("refs")
        for number, ref in enumerate(refs if isinstance(refs, list) else ()):
            text, source = (ref.get("unfiled"), ref.get("source")) if isinstance(ref, dict) else (None, None)
            if isinstance(text, str) and isinstance(source, str) and has_words(text):
                yield {"id": f"{message['id']}/{number}", "text": text, "status": "not_filed", "source": source}


def _filed_words(ledger: Mapping[str, Any]) -> Iterable[str]:
    for kind in ("constraints", "decisions", "questions", "outputs"):
        for item in ledger.get(kind, []):
            yield item["text"]
            yield from (answer["text"] for answer in item.get("answers", ()))
    yield from map(step_words, ledger.get("slots", []))


def _without_body(output: Item) -> Item:
    return {key: value for key, value in output.items() if key != "markdown"}


def _calls(ledger: Mapping[str, Any]) -> list[Item]:
    waiting = [call for call in ledger.get("calls", []) if one_line(call["status"]).casefold() not in SETTLED]
    return [{**call, "kind": "call"} for call in waiting if has_words(call["text"])]


def _dialogues(ledger: Mapping[str, Any]) -> list[Item]:
    waiting = [slot for slot in ledger.get("slots", []) if one_line(slot["status"]).casefold() not in OVER]
    told = [slot for slot in waiting if has_words(slot["text"]) and slot.get("intent") != NEXT_STEP]
    return [{**slot, "kind": "dialogue"} for slot in told]

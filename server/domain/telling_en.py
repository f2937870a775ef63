"""The sentences of a resumption in English. Owns the words; must never decide what is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from server.domain import quoting
from server.domain.facts import Item, severity, standing_answers
from server.domain.grouping import Deeds, by_whom, fields_of, is_begun
from server.domain.quoting import LABEL, one_line, shorten, stop

_PAIRS: Final = ("“”", "«»", "「」")
_STATES: Final = frozenset("draft done final finished accepted delivered succeeded cancelled failed running".split())
_KINDS: Final = {
    "constraint": "constraint", "decision": "decision", "question": "question", "output": "result",
    "document": "document", "message": "message", "dialogue": "dialogue", "call": "tool call",
    "next_step": "next step", "goal": "goal",
}  # fmt: skip
_DEEDS: Final = {
    "added": "added", "edited": "edited", "answered": "answered", "retired": "retired", "superseded": "replaced",
    "removed": "removed",
}  # fmt: skip
_UNITS: Final = ((86400, "day"), (3600, "hour"), (60, "minute"))


def quote(text: str) -> str:
    """People's words in quotes."""
    return quoting.quote(text, _PAIRS)


def count(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def ago(seconds: float) -> str:
    """How long ago, roughly."""
    for unit, name in _UNITS:
        if seconds >= unit:
            return f"{count(int(seconds // unit), name)} ago"
    return "just now"


def listed(parts: Iterable[str]) -> str:
    """“a”, “b” and “c”."""
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last


def _among(parts: Sequence[str], more: int, noun: str) -> str:
    rest = [count(more, f"more {noun}")] if more else []
    return listed([*parts, *rest])


class English:
    """Each function is one whole sentence."""

    BETWEEN: Final = " "
    quote = staticmethod(quote)

    @staticmethod
    def opening(name: str) -> str:
        """What they were on."""
        return f"You were working on {quote(name)}. Continue?"

    @staticmethod
    def unreadable() -> str:
        """That the ledger can't be read now."""
        return (
            "What stands in it, and what has changed, can’t be read at the moment. Nothing of it is lost: it can still"
            " be edited and exported, and whoever runs this server can repair it."
        )

    @staticmethod
    def goal(text: str) -> str:
        """What it is for."""
        return stop(f"The goal: {quote(text)}", ".")

    @staticmethod
    def constraints(told: Sequence[Item], more: int) -> str:
        """What must hold."""
        return stop(f"What must hold: {_among([_constraint(item) for item in told], more, 'constraint')}", ".")

    @staticmethod
    def decisions(told: Sequence[Item], more: int) -> str:
        """What is settled."""
        return stop(f"Decided: {_among([_decision(item) for item in told], more, 'decision')}", ".")

    @staticmethod
    def conflict(sides: Sequence[Item]) -> str:
        """Decisions that stand against each other."""
        return stop(f"Not settled, since decisions conflict: {' against '.join(map(_decision, sides))}", ".")

    @staticmethod
    def open(told: Sequence[Item]) -> str:
        """What nobody has answered."""
        return stop(f"Still open: {listed(quote(item['text']) for item in told)}", ".")

    @staticmethod
    def disputed(told: Sequence[Item]) -> str:
        """What was answered in different ways."""
        parts = [f"{quote(q['text'])} with {' against '.join(_answers(q))}" for q in told]
        return stop(f"Not settled, since answers conflict: {listed(parts)}", ".")

    @staticmethod
    def answered(told: Sequence[Item], more: int) -> str:
        """What was answered."""
        parts = [f"{quote(q['text'])} with {listed(_answers(q))}" for q in told]
        return stop(f"Answered: {_among(parts, more, 'question')}", ".")

    @staticmethod
    def outputs(told: Sequence[Item], more: int) -> str:
        """What has come of it."""
        return stop(f"Results: {_among([_output(item) for item in told], more, 'finished result')}", ".")

    @staticmethod
    def calls(told: Sequence[Item]) -> str:
        """Tool calls that wait or are half done."""
        held = [f"the tool call {quote(call['text'])} ({_call_state(call)})" for call in told]
        return f"Not finished: {listed(held)}."

    @staticmethod
    def dialogues(told: Sequence[Item]) -> str:
        """Dialogues that wait for more."""
        return stop(f"Open dialogues: {listed(map(_dialogue, told))}", ".")

    @staticmethod
    def next_steps(told: Sequence[Item]) -> str:
        """What people said they would do next."""
        return stop(f"Next step{'s' * (len(told) > 1)}: {listed(quote(item['text']) for item in told)}", ".")

    @staticmethod
    def follows(step: Item) -> str:
        """What comes next where nobody has said it."""
        if step["kind"] == "question":
            return stop(f"Next step: settle {quote(step['text'])}", ".")
        if step["text"] == step["title"]:
            return stop(f"Next step: finish {quote(step['title'])}", ".")
        return stop(f"Next step for {quote(step['title'])}: {quote(step['text'])}", ".")

    @staticmethod
    def unchanged(seconds: float) -> str:
        """That nothing happened since."""
        return f"Nothing has changed since you last looked ({ago(seconds)})."

    @staticmethod
    def changes(told: Sequence[Item], more: int, looked: float, now: float) -> str:
        """What happened since, by whom and when."""
        parts = [f"{_who(one.actor)} {_deeds(one)}{_when(one, now)}" for one in by_whom(told)]
        if more:
            parts.append(f"and {count(more, 'more change')}")
        return f"Since you last looked ({ago(now - looked)}): {'; '.join(parts)}."

    @staticmethod
    def not_filed(told: Sequence[Item]) -> str:
        """What was said and found no place in the ledger."""
        return stop(f"Said, but not filed: {listed(quote(item['text']) for item in told)}", ".")

    @staticmethod
    def unanswered(told: Sequence[Item], more: int) -> str:
        """What was said and no agent answered."""
        parts = [quote(item["text"]) for item in told]
        return stop(f"Not answered: {listed([*parts, *([count(more, 'earlier message')] if more else [])])}", ".")


def _constraint(item: Item) -> str:
    grave = severity(item)
    if grave == "normal":
        return quote(item["text"])
    told = grave if grave in ("critical", "important") else f"severity {quote(shorten(item['severity'], LABEL))}"
    return f"{quote(item['text'])} ({told})"


def _decision(item: Item) -> str:
    topic = one_line(item.get("topic") or "")
    return f"{quote(item['text'])} (on {quote(topic)})" if topic else quote(item["text"])


def _answers(question: Item) -> list[str]:
    return [quote(answer["text"]) for answer in standing_answers(question)]


def _state(status: str) -> str:
    return status if status in _STATES else quote(status)


def _output(item: Item) -> str:
    following = one_line(item.get("next") or "")
    return f"{quote(item['text'])} ({_state(item['status'])}{f', next {quote(following)}' if following else ''})"


def _call_state(call: Item) -> str:
    match is_begun(call["status"]):
        case True:
            return "begun"
        case False:
            return "waits for approval"
        case None:
            return quote(call["status"])


def _dialogue(item: Item) -> str:
    fields = [quote(field) for field in fields_of(item)]
    return f"{quote(item['text'])} ({listed(fields)})" if fields else quote(item["text"])


def _who(actor: tuple[Any, ...]) -> str:
    by, device, agent, you = actor
    person = "you" if you else quote(by) if by else "somebody"
    if agent:
        return f"the agent {quote(agent)} (for {person})"
    return f"{person} on {quote(device)}" if device else person


def _deeds(one: Deeds) -> str:
    parts = [f"{_DEEDS[what]} {listed(map(_thing, items))}" for what, items in one.deeds]
    if one.messages:
        parts.append(f"wrote {count(one.messages, 'message')}")
    return listed(parts)


def _when(one: Deeds, now: float) -> str:
    return "" if one.at is None else f" ({ago(now - one.at)})"


def _thing(item: Item) -> str:
    kind = _KINDS[item["kind"]]
    if item["kind"] == "goal":
        return "the goal"
    if not one_line(item["text"]):
        return f"a {kind}"
    return f"the {kind} {_constraint(item) if item['kind'] == 'constraint' else quote(item['text'])}"

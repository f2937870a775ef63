"""Why a task may be the one, in sentences for its user. Owns their wording in each language.

Must never quote anything but the user's own message: that the task has the words, too, is all that is told of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from server.domain.language import Language
from server.domain.likeness import Likeness, Message, Term, is_common

NAMED: Final = 3
"""How many words or phrases are quoted."""
QUOTED: Final = 60
"""Characters of pasted text that are quoted."""


@dataclass(frozen=True, slots=True)
class Work:
    """When the user last worked on a task, and on what: ``here`` on the session's own device, else by its name."""

    at: float
    here: bool = False
    device: str | None = None


def why(message: Message, like: Likeness, when: str, language: Language) -> str:
    """What the message has in common with the task, if anything telling, and ``when`` somebody was on it."""
    told = [_evidence(message, like, language), when]
    return ("" if language == "zh" else " ").join(sentence for sentence in told if sentence)


def _evidence(message: Message, like: Likeness, language: Language) -> str:
    if like.copied:
        pasted = _pasted(message, sorted(like.copied))
        return (
            f"您粘贴的文字“{pasted}”就在这个任务里。"
            if language == "zh"
            else f"You pasted text that is in it: “{pasted}”."
        )
    phrases = named(message, like)
    if not phrases:
        return ""
    if language == "zh":
        return f"您的消息提到{'、'.join(f'“{phrase}”' for phrase in phrases)}，这个任务里也有。"
    *most, last = [f"“{phrase}”" for phrase in phrases]
    return f"Your message speaks of {', '.join(most) + ' and ' if most else ''}{last}, as this task does."


def named(message: Message, like: Likeness) -> list[str]:
    """The message's most telling words that the task has, in the message's order; neighbours as one phrase."""
    weights: dict[str, float] = {}
    for inside in _phrases(message, like):
        telling = {term.value for term in inside if not is_common(term.value)}
        if telling:
            phrase = _cut(message.text[inside[0].start : inside[-1].end])
            weights.setdefault(phrase, sum(like.matched[term] for term in telling))
    best = sorted(weights, key=lambda phrase: -weights[phrase])[:NAMED]
    return [phrase for phrase in weights if phrase in best]


def _phrases(message: Message, like: Likeness) -> Iterator[list[Term]]:
    """The terms that the task has, too: those that overlap, or have one space between them, together."""
    inside: list[Term] = []
    for term in message.terms:
        if term.value not in like.matched:
            continue
        apart = not inside or message.text[inside[-1].end : term.start] not in ("", " ")
        if apart or (inside and term.end - inside[0].start > QUOTED):
            if inside:
                yield inside
            inside = []
        inside.append(term)
    if inside:
        yield inside


def _pasted(message: Message, copied: Sequence[int]) -> str:
    """The beginning of the first copied run."""
    last = next((at for at, following in pairwise(copied) if following != at + 1), copied[-1])
    text = message.text[message.steps[copied[0]].start : message.steps[last].end]
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    """No more than is quoted of one thing, and no half words where there are spaces."""
    if len(text) <= QUOTED:
        return text
    return (text[:QUOTED].rpartition(" ")[0] or text[:QUOTED]) + "…"


def worked(work: Work, now: float, language: Language) -> str:
    """When and on what the user was on the task."""
    if language == "zh":
        on = "在这台设备上" if work.here else f"在“{work.device}”上" if work.device else ""
        return f"您{_ago_zh(now - work.at)}{on}处理过它。"
    on = " on this device" if work.here else f" on “{work.device}”" if work.device else ""
    return f"You worked on it {_ago_en(now - work.at)}{on}."


def changed(at: float, now: float, language: Language) -> str:
    """When a task that the user was never on was made, renamed or edited."""
    return f"它{_ago_zh(now - at)}有更新。" if language == "zh" else f"It last changed {_ago_en(now - at)}."


_UNITS: Final = ((86400, "day", "天"), (3600, "hour", "小时"), (60, "minute", "分钟"))


def _ago_en(seconds: float) -> str:
    for unit, name, _ in _UNITS:
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def _ago_zh(seconds: float) -> str:
    for unit, _, name in _UNITS:
        if seconds >= unit:
            return f"{int(seconds // unit)}{name}前"
    return "刚刚"

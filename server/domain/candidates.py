"""Which task is a new session about? Owns the ranking of the user's unfinished tasks; must never choose for them.

A wrong continuation is worse than a question, so this only orders and gives its reasons, at most LIMIT of them. Three
things speak for a task, each on its own and all the more together (1 minus the product of the doubts):

- recency: halves every three days since the user was last on it;
- device: the same one was on it last;
- likeness: how much of the first message's rarer words stand in the task's name or text, or of the name in the
  message, as a square root, since one rare word in three says more than a third. Latin-like scripts are compared by
  words, CJK by pairs of characters. Pasted-back drafts come out high: nearly all of their words are the task's own.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.domain.task import Task

LIMIT: Final = 3
HALF_LIFE: Final = 3 * 86400.0
_RECENCY, _DEVICE, _LIKENESS = 0.45, 0.15, 0.9
_ALIKE: Final = 0.4
"""Likeness below this is what any two texts share, and is not named as a reason."""
_READ: Final = 20_000
"""Characters of a message or text that are compared; drafts are recognized by far fewer."""
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORDS: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK: Final = re.compile(rf"[{_CJK}]")


@dataclass(frozen=True, slots=True)
class Prior:
    """A task that the session might go on with. ``used_at`` is when the user was last on it, or when it was made."""

    task: Task
    used_at: float
    same_device: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """``score`` is in 0..1 and only orders; ``why`` is a sentence for the user."""

    task: Task
    score: float
    why: str


def rank(priors: Sequence[Prior], now: float, first_message: str = "") -> list[Candidate]:
    """The best LIMIT of the open and paused tasks, best first; the later used first where scores are equal."""
    unfinished = [prior for prior in priors if prior.task.status in ("open", "paused")]
    likenesses = _likenesses(unfinished, first_message)
    scored = [
        (_score(prior, now, likeness), prior.used_at, prior, likeness)
        for prior, likeness in zip(unfinished, likenesses, strict=True)
    ]
    scored.sort(key=lambda one: (-one[0], -one[1], one[2].task.id))
    return [Candidate(prior.task, score, _why(prior, now, alike)) for score, _, prior, alike in scored[:LIMIT]]


def _score(prior: Prior, now: float, likeness: float) -> float:
    age = max(0.0, now - prior.used_at)
    doubt: float = 1 - _RECENCY * 0.5 ** (age / HALF_LIFE)
    doubt *= 1 - _DEVICE * prior.same_device
    doubt *= 1 - _LIKENESS * likeness
    return round(1 - doubt, 3)


_COMMON: Final = frozenset(
    "an and are as at be but by can continue do for from go have in is it last let me my now of on or our please so"
    " that the this to up us was we what where were with work you your".split()
)
"""English words that say nothing of a task; other languages do without, at the price of a little likeness more."""


def terms(text: str) -> frozenset[str]:
    """What two texts are compared by: words of two characters and more, and pairs of CJK characters."""
    found: set[str] = set()
    for word in _WORDS.findall(unicodedata.normalize("NFKC", text[:_READ]).casefold()):
        if _IS_CJK.match(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif len(word) > 1:
            found.add(word)
    return frozenset(found - _COMMON)


def _likenesses(priors: Sequence[Prior], message: str) -> list[float]:
    """For each prior how much of the message is in it, or of its name in the message, weighing rare terms more."""
    said = terms(message)
    if not said:
        return [0.0] * len(priors)
    names = [terms(prior.task.name) for prior in priors]
    texts = [terms(prior.text) | name for prior, name in zip(priors, names, strict=True)]
    spread = Counter(term for text in texts for term in text)
    weight = {term: math.log(1 + len(priors) / spread[term]) for term in spread}

    def share(part: frozenset[str], whole: frozenset[str]) -> float:
        """How much of the part, by weight, is in the whole; terms of no task at all weigh as much as the rarest."""
        rarest = math.log(1 + len(priors))
        total = sum(weight.get(term, rarest) for term in part)
        return sum(weight.get(term, rarest) for term in part & whole) / total if total else 0.0

    return [math.sqrt(max(share(said, text), share(name, said))) for text, name in zip(texts, names, strict=True)]


def _why(prior: Prior, now: float, likeness: float) -> str:
    reasons = [f"you worked on it {_ago(now - prior.used_at)}{' on this device' if prior.same_device else ''}"]
    if likeness >= _ALIKE:
        reasons.insert(0, "your message is like what is in it")
    told = ", and ".join(reasons)
    return f"{told[0].upper()}{told[1:]}."


def _ago(seconds: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"

"""Which task is a new session about? Owns the ranking of the user's unfinished tasks; must never choose for them.

A wrong continuation is worse than a question, so this orders, gives its reasons, and says which one it would ask about
first, if any. The score is the share of a task among all that the session may be about, "something new" included:

- before a word is said, a task weighs by how recently the user was on it (a power law, as people come back), and more
  if it was on the same device;
- the message multiplies that by how like the task it is (``likeness``), and "something new" by what is in it that no
  task explains. Long messages must be explained to the most part: a page of another contract has half of its words in
  common with any contract, while what is pasted back is there as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from crdt_docs.ids import TaskId
from server.domain import reasons
from server.domain.language import Language
from server.domain.likeness import EMPTY, Likeness, Message, Profile, stem
from server.domain.openings import begins_anew
from server.domain.reasons import Work
from server.domain.task import Task

LIMIT: Final = 3
JUST_LEFT: Final = 1800.0
"""Seconds for which a task that was left is what a session without a word most likely goes on with."""
RECENCY: Final = 3600.0
"""Seconds after which a task weighs half, and after three times as many a quarter."""
SAME_DEVICE: Final = 2.0
SURE: Final = 0.6
"""The share from which on a task is suggested."""
SHARPNESS: Final = 0.8
"""How many nats of belief a unit of evidence is worth."""
AGE_MATTERS: Final = 0.3
"""The power of a task's weight before a word is said that is left once something telling is said."""
NEW: Final = 2.5
"""The evidence that a task needs against "something new" if the message says nothing else ..."""
UNEXPLAINED, UNEXPLAINED_LONG, LONG = 0.25, 0.7, 30.0
"""... and for each unit of what the message could be evidence for: up to LONG units, and beyond."""
BEGINNING: Final = 5.0
"""... and if it begins as a message does that begins something."""
COPIED: Final = 0.3
"""The evidence of each copied word, beyond that of its terms."""
GOING_ON: Final = frozenset(
    map(stem, "again back carry continue earlier last left lets pick proceed resume stopped task time work".split())
) | {"继续", "接着", "刚才", "上次", "任务"}
"""A message of these alone is as good as none."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A task that the session might go on with, and when and where this user last worked on it, if ever."""

    task: Task
    work: Work | None = None
    text: Profile = field(default=EMPTY)


@dataclass(frozen=True, slots=True)
class Candidate:
    """``score`` is in 0..1 and only orders; ``why`` are sentences for the user; ``worked``: they were on it before."""

    task: Task
    score: float
    why: str
    worked: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best LIMIT, best first; ``suggestion`` is the first one's id if it truly fits, None for something new."""

    candidates: list[Candidate]
    suggestion: TaskId | None


def rank(priors: Sequence[Prior], now: float, first_message: str = "", language: Language = "en") -> Ranking:
    """Rank the open and paused tasks; the later used first where shares are equal."""
    unfinished = [prior for prior in priors if prior.task.status in ("open", "paused")]
    message = Message(first_message, [prior.text for prior in unfinished])
    silent = GOING_ON.issuperset(message.weights)
    weighed = [
        _Weighed(prior, like := message.likeness(prior.text), _belief(prior, now, like, silent)) for prior in unfinished
    ]
    weighed.sort(key=lambda one: (-one.belief, -_last(one.prior), one.prior.task.id))
    shares = _shares([*(one.belief for one in weighed), 0.0 if silent else _belief_in_new(message)])
    best = [
        Candidate(
            one.prior.task,
            round(share, 4),
            reasons.why(message, one.like, _when(one.prior, now, language), language),
            one.prior.work is not None,
        )
        for one, share in zip(weighed[:LIMIT], shares, strict=False)
    ]
    likely = _just_left(unfinished, now) if silent else {one.task.id for one in best if one.score >= SURE}
    return Ranking(best, best[0].task.id if best and likely == {best[0].task.id} else None)


class _Weighed(NamedTuple):
    prior: Prior
    like: Likeness
    belief: float


def _when(prior: Prior, now: float, language: Language) -> str:
    if prior.work is not None:
        return reasons.worked(prior.work, now, language)
    return reasons.changed(prior.task.updated_at, now, language)


def _last(prior: Prior) -> float:
    return prior.work.at if prior.work else prior.task.updated_at


def _belief(prior: Prior, now: float, like: Likeness, silent: bool) -> float:
    """The logarithm of the task's weight."""
    age = max(0.0, now - _last(prior))
    before = -math.log1p(age / RECENCY) + math.log(SAME_DEVICE) * (prior.work is not None and prior.work.here)
    if silent:
        return before
    return AGE_MATTERS * before + SHARPNESS * (like.evidence + COPIED * len(like.copied))


def _belief_in_new(message: Message) -> float:
    weight = sum(message.weights.values())
    unexplained = UNEXPLAINED * min(weight, LONG) + UNEXPLAINED_LONG * max(0.0, weight - LONG)
    return SHARPNESS * (NEW + unexplained + BEGINNING * begins_anew(message.text))


def _shares(beliefs: Sequence[float]) -> list[float]:
    most = max(beliefs)
    weights = [math.exp(belief - most) for belief in beliefs]
    total = sum(weights)
    return [weight / total for weight in weights]


def _just_left(priors: Sequence[Prior], now: float) -> set[TaskId]:
    """The tasks that the user left a moment ago: a suggestion only if it is one."""
    return {prior.task.id for prior in priors if prior.work is not None and now - prior.work.at <= JUST_LEFT}

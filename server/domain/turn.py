"""A turn: one answer of an agent to what people said. Owns what may become of one; pure, so that SQL can decide by it.

    queued ── lease ──> running ── end(done) ──> done
       ^                  │  │
       └── lost, failed,  │  └── stop ─────────> stopped      (a queued one too)
           released: the  │
           next attempt ──┘── too often ───────> failed       (FAILURES that an agent reports, LOSSES of it)
    queued for a day ──────────────────────────> expired

Each function answers the turn as it is afterwards, or a ``Refusal``. Must never read a clock, or look at a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from crdt_docs.ids import AgentId, MessageId, TaskId, TokenId, TurnId, UserId, is_id, new_ordered_id
from server.domain.access import Role
from server.domain.credential import Secret
from server.domain.language import Language

Status = Literal["queued", "running", "done", "stopped", "failed", "expired"]
Outcome = Literal["done", "failed", "released"]

LEASE_LIFE: Final = 30.0
"""Seconds that a host has a turn without a word."""
GRANT_LIFE: Final = 300.0
"""Seconds that an agent's grant lives, from its lease or the last renewal on."""
REST: Final = 60.0
"""Seconds that a grant may still read after its turn: an agent that stays for the next one needs no new connection."""
AWAY: Final = 2.0
"""Seconds that a host's stream of offers may be gone before its turns are given to others."""
HEAD_START: Final = 3.0
"""Seconds by which a user's own agent hears of a turn before the built-in one does."""
FAILURES: Final = 3
"""Attempts that an agent may say have failed."""
LOSSES: Final = 10
"""Attempts that may be lost with their host or this server: more, and it may well be the turn that kills them."""
LONGEST_PAUSE: Final = 30.0
QUEUE_LIFE: Final = 86400.0
MOST_MESSAGES: Final = 25
"""Messages that one turn takes; of more (somebody was offline for long), the others wait in further turns."""
MAX_WHY: Final = 300
AHEAD: Final = 300_000
"""Milliseconds by which an answer's id may be ahead of the clock, to come after a message from a device that is."""

LOST: Final = "the agent was lost"
GONE: Final = "who asked may not write to this task any more"
TOO_OLD: Final = "no agent took it within a day"


@dataclass(frozen=True, slots=True)
class Turn:
    """``user`` is who wrote its messages, all of them; ``answer`` the message id to write the answer under.

    ``attempt`` is the number of the attempt that runs, or that its next lease begins. ``host`` is the bearer that
    leased it last and ``grant`` what it was given; both stay known afterwards. ``failures`` and ``losses`` are how
    earlier attempts ended. It is not offered before ``due_at``. Times are Unix seconds. ``ruled``: its task asks of
    devices what no agent on another machine can show.
    """

    id: TurnId
    task: TaskId
    user: UserId
    answer: MessageId
    status: Status
    attempt: int
    created_at: float
    queued_at: float
    agent: AgentId | None = None
    host: TokenId | None = None
    grant: TokenId | None = None
    lease_until: float | None = None
    why: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    failures: int = 0
    losses: int = 0
    due_at: float = 0.0
    user_name: str = ""
    messages: tuple[MessageId, ...] = ()
    ruled: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """It can't be done with the turn as it is, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Host:
    """Who may take turns: an agent by its bearer. ``user`` and ``task`` bound it; the built-in one has neither."""

    id: TokenId
    agent: AgentId
    name: str
    user: UserId | None = None
    task: TaskId | None = None

    def may_take(self, turn: Turn) -> bool:
        """Whether the turn is its business: a person's own agents have no part in a task that asks for proofs."""
        if turn.ruled and self.user is not None:
            return False
        return self.user in (None, turn.user) and self.task in (None, turn.task)


@dataclass(frozen=True, slots=True)
class Said:
    """A message that a user committed."""

    message: MessageId
    user: UserId


@dataclass(frozen=True, slots=True)
class Given:
    """A grant, as its host gets it. ``token`` is None where the one that it has goes on living."""

    id: TokenId
    token: Secret | None
    role: Role
    expires_at: float


@dataclass(frozen=True, slots=True)
class Leased:
    """What a host learns with its lease; ``named`` if a name that a person gave the task stands.

    ``language`` is what the turn's user chose to be spoken to in, if they did.
    """

    turn: Turn
    given: Given
    agent_name: str
    named: bool
    language: Language | None


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a host learns when it renews; ``given`` is None if it is to stop. ``messages`` were said meanwhile."""

    turn: Turn
    given: Given | None
    messages: tuple[MessageId, ...]


def queue(turn: TurnId, task: TaskId, user: UserId, messages: Sequence[MessageId], now: float) -> Turn:
    """A new turn about what the user said."""
    answer = answer_after(messages, now)
    return Turn(turn, task, user, answer, "queued", 1, now, now, messages=tuple(messages))


def room_in(turn: Turn | None) -> int:
    """How many messages may be added to a queued turn; none once an attempt has begun its answer."""
    waits = turn is not None and turn.status == "queued" and turn.started_at is None
    return max(0, MOST_MESSAGES - len(turn.messages)) if turn is not None and waits else 0


def add(turn: Turn, messages: Sequence[MessageId], now: float) -> Turn:
    """The queued turn with more to answer, for which there is room. Its answer comes after them."""
    messages = (*turn.messages, *messages)
    return replace(turn, messages=messages, answer=answer_after((*messages, turn.answer), now), queued_at=now)


def lease(turn: Turn, host: Host, now: float) -> Turn | Refusal:
    """The turn, leased to the host."""
    if turn.status == "running" and turn.host == host.id:  # it did not hear that it has it
        return replace(turn, lease_until=now + LEASE_LIFE)
    if turn.status != "queued":
        return Refusal("Somebody has it." if turn.status == "running" else f"This turn is {turn.status}.")
    return replace(
        turn,
        status="running",
        agent=host.agent,
        host=host.id,
        lease_until=now + LEASE_LIFE,
        why=None,
        started_at=turn.started_at if turn.started_at is not None else now,
    )


def renew(turn: Turn, host: Host, now: float) -> Turn | Refusal:
    """The turn with a longer lease; as it is if it was stopped, so that its host learns of that."""
    if turn.host != host.id or turn.status not in ("running", "stopped"):
        return Refusal("The lease was lost.")
    return turn if turn.status == "stopped" else replace(turn, lease_until=now + LEASE_LIFE)


def end(turn: Turn, host: Host, outcome: Outcome, why: str | None, now: float) -> Turn | Refusal:
    """The turn after its host is done with it. To say so again, or of one that was stopped, changes nothing."""
    if turn.host != host.id:
        return Refusal("The lease was lost.")
    if turn.status in ("stopped", "done", "failed"):
        return turn
    if turn.status != "running":
        return Refusal("The lease was lost.")
    if outcome == "done":
        return replace(turn, status="done", lease_until=None, why=why, ended_at=now)
    if outcome == "released":
        return _try_again(turn, why or "the agent gave it back", now)
    failed = replace(turn, failures=turn.failures + 1)
    why = why or "the agent failed"
    if failed.failures >= FAILURES:
        return fail(failed, why, now)
    return replace(_try_again(failed, why, now), due_at=now, queued_at=now)


def lose(turn: Turn, why: str, now: float) -> Turn:
    """A running turn after it was lost with its host: queued for the next attempt, or failed for good."""
    lost = replace(turn, losses=turn.losses + 1)
    if lost.losses >= LOSSES:
        return fail(lost, why, now)
    return replace(_try_again(lost, why, now), queued_at=now)


def _try_again(turn: Turn, why: str, now: float) -> Turn:
    """Queued for the next attempt, after a pause that grows with them."""
    pause = 0.0 if turn.attempt == 1 else min(LONGEST_PAUSE, 2.0 ** min(turn.attempt - 2, 10))
    return replace(turn, status="queued", attempt=turn.attempt + 1, lease_until=None, why=why, due_at=now + pause)


def stop(turn: Turn, now: float) -> Turn:
    """The turn, stopped by a person; one that is over stays as it ended."""
    if turn.status not in ("queued", "running"):
        return turn
    return replace(turn, status="stopped", lease_until=None, ended_at=now)


def fail(turn: Turn, why: str, now: float) -> Turn:
    """The turn, ended because it can't be answered whoever tries."""
    return replace(turn, status="failed", lease_until=None, why=why, ended_at=now)


def age(turn: Turn, now: float) -> Turn:
    """The turn as time has left it: its lease run out, or too long in the queue; else the same."""
    if turn.status == "running" and turn.lease_until is not None and turn.lease_until < now:
        return lose(turn, LOST, now)
    if turn.status == "queued" and turn.queued_at + QUEUE_LIFE < now:
        return replace(turn, status="expired", why=TOO_OLD, ended_at=now)
    return turn


def answer_after(messages: Iterable[str], now: float) -> MessageId:
    """A UUIDv7 of now that sorts after those of the messages, as far as they are of about now."""
    at = int(now * 1000)
    times = [int(message.replace("-", "")[:12], 16) for message in messages if is_id(message) and message[14] == "7"]
    later = max((time + 1 for time in times if time < at + AHEAD), default=at)
    return MessageId(new_ordered_id(max(at, later)))


def clean_why(why: str | None) -> str | None:
    """A reason as it may be shown: one line, not too long."""
    tidy = " ".join((why or "").split())
    return tidy[:MAX_WHY] or None

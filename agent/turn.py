"""One turn of the agent, as a state machine: what happened goes in, what is to be done comes out.

Owns which messages are asked, covered and waiting, when the mind is asked again, and what others are shown. Pure: no
document, no clock, no network. Must never wish for anything once the turn is over.

T1  a message is covered once the mind was asked about it and had finished, and stays covered
T2  what came meanwhile is asked about before the turn ends, at most ROUNDS times in all
T3  a turn is reported once; after that, and from ``Stopped`` on, nothing is written
T4  ``done`` is reported only after all that was written is durable
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from agent.mind import FellBack, Filed, Named, Narrated, Proposal, Said, Thought, Unfiled
from agent.pipe import Outcome
from agent.prose import heal

ROUNDS: Final = 8
MAX_WHY: Final = 300

Phase = Literal["reading", "thinking", "writing", "filing", "done"]
Ref = dict[str, Any]
"""What the answer says of itself; see ``filing``."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a turn stands. ``asked`` is being thought about, ``covered`` is behind us, ``waiting`` is known to wait."""

    id: str
    answer: str
    asked: tuple[str, ...]
    covered: tuple[str, ...] = ()
    waiting: int = 0
    round: int = 1
    phase: Phase = "reading"
    refs: tuple[Ref, ...] = ()
    outcome: Outcome | None = None


# What happens


@dataclass(frozen=True, slots=True)
class Read:
    """The document is here, with the messages that are asked."""


@dataclass(frozen=True, slots=True)
class Thinks:
    """The mind had a thought."""

    thought: Thought


@dataclass(frozen=True, slots=True)
class Entered:
    """What ``File`` or ``Quote`` led to."""

    refs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Silent:
    """The mind has finished."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The server says what came meanwhile."""

    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """So many messages are in the document that this turn was not asked about."""

    count: int


@dataclass(frozen=True, slots=True)
class Kept:
    """All that was written is durable."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """A person said stop, or the right to write is gone."""

    why: str | None = None


@dataclass(frozen=True, slots=True)
class Broke:
    """It can't go on. ``again`` tells whether another attempt may do better."""

    why: str
    again: Literal["retry", "never"] = "never"


@dataclass(frozen=True, slots=True)
class Dismissed:
    """Somebody took the answer away while it was being written."""


Event: TypeAlias = Read | Thinks | Entered | Silent | Heard | Waiting | Kept | Stopped | Broke | Dismissed


# What is to be done


@dataclass(frozen=True, slots=True)
class Consult:
    """Ask the mind about these messages; ``follows`` where the answer goes on after an earlier round of this turn."""

    asked: tuple[str, ...]
    follows: bool


@dataclass(frozen=True, slots=True)
class Write:
    """Append to the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class File:
    """Put into the ledger what is sound, and say by ``Entered`` what became of it."""

    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """Show what could not be filed, if somebody said it, and say so by ``Entered``."""

    unfiled: Unfiled


@dataclass(frozen=True, slots=True)
class Propose:
    """Propose a name for the task."""

    name: str


@dataclass(frozen=True, slots=True)
class Narrate:
    """Replace the narrative."""

    text: str


@dataclass(frozen=True, slots=True)
class AskQueue:
    """Find out what came meanwhile, and say so by ``Heard``."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Write what is left, refs included, wait until it is durable, and say so by ``Kept``."""


@dataclass(frozen=True, slots=True)
class Report:
    """Tell how it went. The last wish."""

    outcome: Outcome
    covered: tuple[str, ...]
    why: str | None = None


Wish: TypeAlias = Consult | Write | File | Quote | Propose | Narrate | AskQueue | Keep | Report


def advance(turn: Turn, event: Event) -> tuple[Turn, tuple[Wish, ...]]:
    """The turn after the event, and what is to be done now, in order."""
    if turn.phase == "done":
        return turn, ()
    match event:
        case Read():
            return replace(turn, phase="thinking"), (Consult(turn.asked, follows=False),)
        case Thinks(thought):
            return _take(turn, thought)
        case Entered(refs):
            return replace(turn, refs=_with(turn.refs, refs)), ()
        case Silent():
            return _finish_round(turn)
        case Heard(messages):
            return _go_on(turn, messages)
        case Waiting(count):
            return replace(turn, waiting=count), ()
        case Kept():
            return _end(turn, "done")
        case Stopped(why):
            return _end(turn, "stopped", why)
        case Dismissed():
            return _end(_cover(turn), "done", "the answer was removed")
        case Broke(why, again):
            return _end(turn, "released" if again == "retry" else "failed", why)


def showing(turn: Turn) -> dict[str, Any]:
    """What others see of the agent in its presence, beside ``user``; nothing once the turn is over."""
    if turn.phase == "done":
        return {}
    return {"state": _SHOWN[turn.phase], "turn": turn.id, "queued": turn.waiting}


_SHOWN: Final = {"reading": "reading", "thinking": "thinking", "writing": "writing", "filing": "writing"}


def _take(turn: Turn, thought: Thought) -> tuple[Turn, tuple[Wish, ...]]:
    match thought:
        case Said(text):
            return (replace(turn, phase="writing"), (Write(text),)) if text else (turn, ())
        case Filed(proposals):
            return (replace(turn, phase="filing"), (File(proposals),)) if proposals else (turn, ())
        case Unfiled():
            return turn, (Quote(thought),)
        case Named(name):
            return turn, (Propose(name),)
        case Narrated(text):
            return turn, (Narrate(text),)
        case FellBack(why):
            return replace(turn, refs=_with(turn.refs, ({"fell_back": heal(why)[:MAX_WHY]},))), ()


def _finish_round(turn: Turn) -> tuple[Turn, tuple[Wish, ...]]:
    return _cover(turn), (AskQueue() if turn.round < ROUNDS else Keep(),)


def _cover(turn: Turn) -> Turn:
    return replace(turn, asked=(), covered=tuple(dict.fromkeys((*turn.covered, *turn.asked))))


def _go_on(turn: Turn, messages: tuple[str, ...]) -> tuple[Turn, tuple[Wish, ...]]:
    if turn.asked or turn.round >= ROUNDS:  # nobody asked
        return turn, ()
    fresh = tuple(dict.fromkeys(one for one in messages if one not in turn.covered))
    if not fresh:
        return turn, (Keep(),)
    further = replace(turn, asked=fresh, round=turn.round + 1, phase="thinking", waiting=0)
    return further, (Consult(fresh, follows=True),)


def _end(turn: Turn, outcome: Outcome, why: str | None = None) -> tuple[Turn, tuple[Wish, ...]]:
    ended = replace(turn, phase="done", outcome=outcome)
    return ended, (Report(outcome, turn.covered, why and why[:MAX_WHY]),)


def _with(refs: tuple[Ref, ...], more: tuple[Ref, ...]) -> tuple[Ref, ...]:
    """Each ref once: an attempt after a crash comes by the same things again."""
    known = list(refs)
    known.extend(one for one in more if one not in known)
    return tuple(known)

"""What every language needs to word a list: who did what, and what a dialogue holds. Owns grouping; has no words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from server.domain.facts import Item
from server.domain.quoting import LONG, one_line, shorten

BEGUN: Final = frozenset("approved running started executing in_progress".split())
HELD: Final = frozenset("proposed held pending waiting input_required".split())
_DEEDS: Final = ("added", "edited", "answered", "superseded", "retired", "removed")
_MOST: Final = 8
"""Fields of a dialogue that are told."""


class Deeds(NamedTuple):
    """What one party did: (name, device, agent, whether that is the reader), what to which items, and when last."""

    actor: tuple[str | None, str | None, str | None, bool]
    deeds: Sequence[tuple[str, list[Item]]]
    messages: int
    at: float | None


def by_whom(changes: Sequence[Item]) -> list[Deeds]:
    """The changes by party, in the order in which each first did something."""
    parties: dict[tuple[Any, ...], list[Item]] = {}
    for change in changes:
        actor = (change["by"], change["device"], change["agent"], change.get("you", False))
        parties.setdefault(actor, []).append(change)
    return [_deeds(actor, items) for actor, items in parties.items()]


def _deeds(actor: tuple[Any, ...], items: list[Item]) -> Deeds:
    done: dict[str, list[Item]] = {}
    messages = 0
    for item in items:
        if item["kind"] == "message" and item["what"] != "removed":
            messages += 1
        else:
            done.setdefault(item["what"], []).append(item)
    deeds = [(what, done[what]) for what in _DEEDS if what in done]
    times = [datetime.fromisoformat(item["at"]).timestamp() for item in items if item["at"]]
    return Deeds(actor, deeds, messages, max(times, default=None))


def is_begun(status: str) -> bool | None:
    """Whether a call is under way rather than held; None for a status that is nobody's convention."""
    word = one_line(status).casefold()
    return True if word in BEGUN else False if word in HELD else None


def fields_of(slot: Mapping[str, Any]) -> list[str]:
    """What a dialogue has gathered so far, as ``name: value``."""
    fields = slot.get("fields") or {}
    plain = {name: value for name, value in fields.items() if isinstance(value, str | int | float) and value != ""}
    return [shorten(f"{name}: {value}", LONG) for name, value in list(plain.items())[:_MOST]]

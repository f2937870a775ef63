"""What a seed decides before anything happens: how many people, how bad a network, how small the limits."""

from __future__ import annotations

import random
from dataclasses import dataclass

from kit.network import Weather

from crdt_docs.ids import DocName, TaskId
from server.rooms.limits import Limits

NAME = DocName(TaskId("00000000-0000-4000-8000-000000000001"))
"""The one document that a schedule is about."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a seed decides before anything happens."""

    writers: int
    steps: int
    servers: int
    tabs: int
    mixed_browser: bool
    relays: bool
    limits: Limits
    weather: Weather
    pace: float


def plan(draw: random.Random) -> Plan:
    """Draw a plan."""
    limits = Limits(
        inline_frame=draw.choice((16 * 1024, 60)),
        idle=draw.choice((2.0, 60.0)),
        compact_tail=(tail := draw.choice((150, 600, 10**6))),
        compact_retry=1.0,
        rest=0.5,
        rest_tail=tail // 2,
        controls=draw.choice((8, 256)),
    )
    return Plan(
        writers=draw.choice((2, 3, 3, 3)),
        steps=draw.randint(12, 45),
        servers=2 if draw.random() < 0.15 else 1,
        tabs=draw.choice((0, 0, 1, 2)),
        mixed_browser=draw.random() < 0.1,
        relays=draw.random() < 0.25,
        limits=limits,
        weather=Weather(most=draw.choice((0.01, 0.06, 0.4)), slow=draw.choice((0.0, 0.3))),
        pace=draw.choice((0.01, 0.1, 0.5)),
    )

"""What stock clients said, as kept in ``tests/fixtures/frames``. Owns reading it; the README there has the format."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "fixtures" / "frames"


class Event(NamedTuple):
    """``what`` is open, close, step1, step2, update or awareness; ``payload`` a sync message without its frame."""

    what: str
    connection: int
    user: str
    payload: bytes


@dataclass
class Recording:
    """One room: all its connections' events in order of arrival, and, where it was kept, what all ended with."""

    name: str
    events: list[Event] = field(default_factory=list)
    final: dict[str, Any] | None = None


def read_recordings() -> list[Recording]:
    """Every recorded room."""
    return [room for path in sorted(FOLDER.glob("*.jsonl.gz")) for room in _read(path)]


def _read(path: Path) -> list[Recording]:
    rooms: dict[str, Recording] = {}
    of: dict[int, tuple[Recording, str]] = {}
    source = path.name.removesuffix(".jsonl.gz")
    for line in gzip.decompress(path.read_bytes()).splitlines():
        entry = json.loads(line)
        connection = entry["conn"]
        if entry["ev"] == "open":
            name = entry["room"]
            room = rooms.setdefault(name, Recording(f"{source}{name}"))
            of[connection] = (room, entry["q"]["user"])
        room, user = of[connection]
        what = {"open": "open", "close": "close", "aw": "awareness"}.get(entry["ev"])
        if entry["ev"] == "f":
            what = ("step1", "step2", "update")[entry["k"]]
        if what:
            room.events.append(Event(what, connection, user, base64.b64decode(entry.get("b", ""))))
    final = FOLDER / f"{source}-final.json.gz"
    if final.exists():
        for document in json.loads(gzip.decompress(final.read_bytes())):
            rooms[document["room"]].final = document
    return list(rooms.values())

"""What a document may hold, as plain data that JSON can carry.

Owns the conversion of engine values. Must never follow a shared type: those are read field by field, by who knows the
schema.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, Final

MAX_DEPTH: Final = 64


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON would have it; whole floats become integers, and what JSON cannot hold becomes None."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return None


def moment(value: Any) -> str | None:
    """Milliseconds since the epoch as RFC 3339 in UTC; a string that somebody wrote instead is passed on, else None."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None

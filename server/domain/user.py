"""A person. Lives from sign-up to erasure."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.ids import UserId


@dataclass(frozen=True, slots=True)
class User:
    """``name`` is unique on a server: it is how the CLI and members lists name people. Times are Unix seconds."""

    id: UserId
    name: str
    created_at: float

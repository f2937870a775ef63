"""An agent's registration. Owns whose it is; it, and not the bearer it came by, owns client ids (I4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crdt_docs.ids import AgentId, UserId

BUILT_IN: Final = "Clew"
"""The name under which the server's own agent is seen."""


@dataclass(frozen=True, slots=True)
class Agent:
    """``user`` is whose it is, None for the server's own. ``created_at`` is in Unix seconds."""

    id: AgentId
    user: UserId | None
    name: str
    created_at: float

"""Invitations to this server. Owns how long one is good; its secret is a link's, in the fragment, and good once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NewType

from crdt_docs.ids import UserId

InvitationId = NewType("InvitationId", str)

INVITATION_LIFE: Final = 7 * 86400.0
OPEN_AT_ONCE: Final = 100
"""Invitations of one server that nobody has used yet."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """Whoever holds it may become a user of this server, once, before ``expires_at`` (Unix seconds)."""

    id: InvitationId
    made_by: UserId
    created_at: float
    expires_at: float

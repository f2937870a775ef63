"""The way in of the server's own agent: a secret that is made anew for each start of it and stored nowhere.

Owns that at most one such secret is alive. Must never let it be more than a host's: it hears of turns, and no more.
"""

from __future__ import annotations

import hmac
from dataclasses import replace

from crdt_docs.ids import TokenId, UserId, new_id
from server.domain.access import Principal
from server.domain.agent import Agent
from server.domain.credential import Secret, SecretHash, hash_secret, new_secret


class BuiltIn:
    """Lets the built-in agent's process in."""

    def __init__(self) -> None:
        self._hash: SecretHash | None = None
        self._principal: Principal | None = None

    def admit(self, agent: Agent) -> tuple[TokenId, Secret]:
        """A secret for a new process of the agent, and what its host is known by. The one before it is dead."""
        token, secret = TokenId(new_id()), new_secret()
        self._hash = hash_secret(secret)
        self._principal = Principal(UserId(""), agent.name, "host", agent.id, token=token)
        return token, secret

    def dismiss(self) -> None:
        """Let nobody in any more."""
        self._hash = self._principal = None

    def find(self, secret: str, since: float) -> Principal | None:
        """The host with that secret, dated ``since`` (monotonic seconds)."""
        if self._hash is None or self._principal is None or not hmac.compare_digest(self._hash, hash_secret(secret)):
            return None
        return replace(self._principal, authenticated_at=since)

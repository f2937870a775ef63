"""The cookie by which a browser stays signed in. Owns its name and attributes; must never hold more than the secret.

Browsers do not keep ports apart, so on plain HTTP the name carries the port: two servers on one machine do not sign
each other's people out. Under TLS the ``__Host-`` prefix makes the browser refuse what a sibling host or a plain
connection tries to plant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from server.domain.credential import COOKIE_LIFE, Secret

_SECURE_NAME: Final = "__Host-clew"


@dataclass(frozen=True, slots=True)
class Cookies:
    """``secure`` says whether people reach this server by TLS of its own; a trusted proxy says so at each request."""

    secure: bool

    def name(self, headers: Headers) -> str:
        """The cookie's name on the host that was asked."""
        if self._is_secure(headers):
            return _SECURE_NAME
        port = headers.get("host", "").rpartition(":")[2]
        return f"clew-{port if port.isdigit() else '80'}"

    def read(self, headers: Headers) -> str | None:
        """The login's secret as the browser sent it; None if there is none, or if two differ (one was planted)."""
        wanted = self.name(headers)
        pairs = (part.strip().partition("=") for value in headers.getlist("cookie") for part in value.split(";"))
        found = {value for name, _, value in pairs if name == wanted}
        return found.pop() if len(found) == 1 else None

    def grant(self, headers: Headers, secret: Secret) -> str:
        """The Set-Cookie value that signs in."""
        return self._attributes(headers, secret, int(COOKIE_LIFE))

    def clear(self, headers: Headers) -> str:
        """The Set-Cookie value that signs out."""
        return self._attributes(headers, "", 0)

    def _attributes(self, headers: Headers, value: str, max_age: int) -> str:
        secure = "; Secure" if self._is_secure(headers) else ""
        return f"{self.name(headers)}={value}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{secure}"

    def _is_secure(self, headers: Headers) -> bool:
        return self.secure or headers.get("x-forwarded-proto") == "https"

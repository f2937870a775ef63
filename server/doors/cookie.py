"""The cookie by which a browser stays signed in. Owns its name and attributes; must never hold more than the secret.

Browsers do not keep ports apart, so on plain HTTP the name carries the port: two servers on one machine do not sign
each other's people out. Under TLS the ``__Host-`` prefix makes the browser refuse what a sibling host or a plain
connection tries to plant.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers

from server.domain.credential import COOKIE_LIFE, Secret

_SECURE_NAME: Final = "__Host-clew"


def cookie_name(host: str, secure: bool) -> str:
    """The cookie's name on the host (a Host header's value) that was asked."""
    if secure:
        return _SECURE_NAME
    port = host.rpartition(":")[2]
    return f"clew-{port if port.isdigit() else '80'}"


def read_cookie(headers: Headers, secure: bool) -> str | None:
    """The login's secret as the browser sent it; None if there is none, or if two differ (one was planted)."""
    wanted = cookie_name(headers.get("host", ""), secure)
    pairs = (part.strip().partition("=") for value in headers.getlist("cookie") for part in value.split(";"))
    found = {value for name, _, value in pairs if name == wanted}
    return found.pop() if len(found) == 1 else None


def grant_cookie(host: str, secure: bool, secret: Secret) -> str:
    """The Set-Cookie value that signs in."""
    return _attributes(f"{cookie_name(host, secure)}={secret}", int(COOKIE_LIFE), secure)


def clear_cookie(host: str, secure: bool) -> str:
    """The Set-Cookie value that signs out."""
    return _attributes(f"{cookie_name(host, secure)}=", 0, secure)


def _attributes(pair: str, max_age: int, secure: bool) -> str:
    return f"{pair}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"

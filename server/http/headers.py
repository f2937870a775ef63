"""The headers that every response carries. Owns the content security policy; must never be weakened by a route.

A route may set its own value for any of them only to be stricter.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.http.endpoint import PREFIX

PAGE_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
DATA_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

_ALWAYS: Final = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), geolocation=(), microphone=(self), payment=(), usb=()",
}


class Guarded:
    """The ASGI middleware that adds them, also to errors and to refused upgrades."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add to what starts a response; leave the rest alone."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        of_page = not scope["path"].startswith((f"{PREFIX}/", "/healthz", "/readyz", "/metrics"))

        async def send_guarded(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                _add(MutableHeaders(scope=message), of_page, scope.get("scheme") in ("https", "wss"))
            await send(message)

        await self._app(scope, receive, send_guarded)


def _add(headers: MutableHeaders, of_page: bool, secure: bool) -> None:
    for name, value in _ALWAYS.items():
        headers.setdefault(name, value)
    headers.setdefault("content-security-policy", PAGE_POLICY if of_page else DATA_POLICY)
    headers.setdefault("cache-control", "no-cache" if of_page else "no-store")
    if secure:
        headers.setdefault("strict-transport-security", "max-age=31536000")

"""An OpenID provider of our own on loopback: real HTTP, real keys. It vouches for whoever ``person`` is.

Owns what a provider must check of a relying party (exact redirect, PKCE, the client's secret, a code's single use), so
that a client that does not do its part fails here as it would anywhere. ``lies`` says what it then does wrong.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

CLIENT = "clew-test"
SECRET = "a client's secret"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


@dataclass
class Lies:
    """What it does wrong: claims that are other than they should be, None for left out; and where it answers."""

    claims: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, str | None] = field(default_factory=dict)
    key: RSAKey | OctKey | None = None
    algorithm: str = "RS256"


@dataclass
class OpenIdProvider:
    """``issued`` are the codes that are out: what each was asked with."""

    issuer: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "248289761001", "name": "Jane Doe"})
    lies: Lies = field(default_factory=Lies)
    now: Callable[[], float] = time.time
    keys: list[RSAKey] = field(default_factory=list)
    issued: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.turn_key()

    def turn_key(self) -> None:
        """A new key signs from now on."""
        key = RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, private=True)
        key.ensure_kid()
        self.keys = [key, *self.keys[:1]]

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "backchannel_logout_supported": True,
        }

    def authorize(self, query: dict[str, str]) -> str:
        """The person says yes: where their browser is sent."""
        self.asked.append(query)
        assert query["client_id"] == CLIENT and query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256" and "openid" in query["scope"].split()
        code = secrets.token_urlsafe(16)
        self.issued[code] = query
        answer = {"code": code, "state": query["state"], "iss": self.issuer, **self.lies.answer}
        return f"{query['redirect_uri']}?{urlencode({k: v for k, v in answer.items() if v is not None})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Trade a code, once."""
        asked = self.issued.pop(form.get("code", ""), None)
        expected = base64.b64encode(b"clew-test:a+client%27s+secret").decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if authorization != f"Basic {expected}":
            return 401, {"error": "invalid_client"}
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        token = self.sign({"nonce": asked["nonce"], "sid": "session-1", **self.person})
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": token}

    def sign(self, claims: dict[str, Any], header: dict[str, Any] | None = None) -> str:
        """A token of this provider's, with the lies in it."""
        now = int(self.now())
        told = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **claims, **self.lies.claims}
        key = self.lies.key or self.keys[0]
        head = {"alg": self.lies.algorithm, "kid": self.keys[0].kid, **(header or {})}
        return jwt.encode(head, {k: v for k, v in told.items() if v is not None}, key, algorithms=[self.lies.algorithm])

    def logout_token(self, **claims: Any) -> str:
        """A token that ends what it names (Back-Channel Logout 1.0)."""
        told = {"jti": secrets.token_urlsafe(8), "events": {LOGOUT: {}}, **claims}
        return self.sign(told, {"typ": "logout+jwt"})


@contextmanager
def openid_provider(now: Callable[[], float] = time.time) -> Iterator[OpenIdProvider]:
    """Serve one on a free port of the loopback until the block ends."""
    provider = OpenIdProvider(now=now)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/.well-known/openid-configuration":
                self._say(200, provider.metadata())
            elif parts.path == "/jwks":
                self._say(200, dict(KeySet(list(provider.keys)).as_dict(private=False)))
            elif parts.path == "/authorize":
                self.send_response(302)
                self.send_header("location", provider.authorize(query))
                self.end_headers()
            else:
                self._say(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._say(*provider.token(form, self.headers.get("authorization", "")))

        def _say(self, status: int, told: dict[str, Any]) -> None:
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()

"""Browsers that have a key, and what they sign with it. Owns honest proofs, and their making wrong on purpose."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey
from kit.app_under_test import HOST, ORIGIN, Answered, AppUnderTest, Browser

from crdt_docs.ids import UserId, new_id
from server.http.endpoint import PREFIX

Key = ECKey | RSAKey | OctKey
SECURE: Final = f"https://{HOST}"


def new_key() -> ECKey:
    """A P-256 pair."""
    return ECKey.generate_key("P-256")


def sign(key: Key, header: dict[str, Any], claims: dict[str, Any]) -> str:
    """A compact token; what stands in ``header`` wins over what would be right, None leaves a member out."""
    whole = {"alg": "ES256", **header}
    text = json.dumps({name: value for name, value in claims.items() if value is not None})
    named = {name: value for name, value in whole.items() if value is not None}
    return jws.serialize_compact(named, text.encode(), key, algorithms=[str(named["alg"])])


def proof(key: Key, method: str, url: str, now: float, nonce: str | None, **wrong: Any) -> str:
    """A DPoP proof (RFC 9449); ``wrong`` are claims, or members of the header: ``typ``, ``alg``, ``jwk``."""
    header = {"typ": "dpop+jwt", "jwk": key.as_dict(private=False)}
    header |= {name: wrong.pop(name) for name in ("typ", "alg", "jwk", "crit") if name in wrong}
    claims = {"jti": new_id(), "htm": method, "htu": url, "iat": int(now), "nonce": nonce, **wrong}
    return sign(key, header, claims)


def bound(key: Key, challenge: str, first: bool = False, **wrong: Any) -> str:
    """What a browser signs for a bound session; at registration it brings its key."""
    header: dict[str, Any] = {"typ": "dbsc+jwt", **({"jwk": key.as_dict(private=False)} if first else {})}
    header |= {name: wrong.pop(name) for name in ("typ", "alg", "jwk") if name in wrong}
    return sign(key, header, {"jti": challenge, **wrong})


@dataclass
class Keyed(Browser):
    """A page that proves each of its requests, unless a test gives another ``dpop``, or None."""

    world: AppUnderTest = field(kw_only=True)
    key: ECKey = field(default_factory=new_key)
    invitation: str = ""
    """The header by which the browser may bind the session that has just begun."""

    def prove(self, method: str, path: str, **wrong: Any) -> str:
        """A proof for one request below the API's prefix."""
        nonce = self.world.doors.proofs.nonces.issue()
        url = f"{self.scheme}://{HOST}{PREFIX}{path.partition('?')[0]}"
        return proof(self.key, method, url, self.world.clock.now(), nonce, **wrong)

    async def ask(self, method: str, path: str, body: object = None, **extra: str | None) -> Answered:
        """One request, proven."""
        return await super().ask(method, path, body, **{"dpop": self.prove(method, path), **extra})

    @property
    def copied(self) -> Browser:
        """Somebody who has this browser's cookies, and not its key."""
        return Browser(self.app, dict(self.headers), self.user, self.device, scheme=self.scheme)


async def sign_in(app: AppUnderTest, name: str = "owner", scheme: str = "http", key: ECKey | None = None) -> Keyed:
    """A page that opened a link and showed a key with it."""
    origin = ORIGIN if scheme == "http" else SECURE
    page = Keyed(app.app, {"origin": origin}, scheme=scheme, world=app, key=key or new_key())
    answer = await page.post("/signin", {"key": await app.doors.links.issue_by_name(name), "device": "laptop"})
    assert answer.status == 201, answer.body
    page.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
    page.user, page.device = UserId(answer.json["user"]["id"]), answer.json["device"]["id"]
    page.invitation = answer.headers.get("secure-session-registration", "")
    return page


@dataclass
class Machine:
    """What a browser binds its session with: the machine's key, the session's name, its cookie and its challenge."""

    page: Keyed
    key: Key = field(default_factory=new_key)
    session: str = ""
    cookie: str = ""
    challenge: str = ""

    async def register(self, token: str | None = None) -> Answered:
        """Bind the session that was just begun."""
        offered = self.page.invitation.partition('challenge="')[2].partition('"')[0]
        given = token or bound(self.key, offered, first=True)
        answer = await self.page.copied.ask("POST", "//dbsc/register", secure_session_response=given)
        if answer.status == 200:
            self.session = answer.json["session_identifier"]
            self._take(answer)
        return answer

    async def refresh(self, token: str | None = None, session: str | None = None) -> Answered:
        """Come for the next cookie, with the last challenge signed."""
        given = {"sec_secure_session_id": session or self.session}
        given["secure_session_response"] = token or bound(self.key, self.challenge)
        answer = await self.page.copied.ask("POST", "//dbsc/refresh", **given)
        self._take(answer)
        return answer

    def _take(self, answer: Answered) -> None:
        if asked := answer.headers.get("secure-session-challenge"):
            self.challenge = asked.partition(";")[0].strip('"')
        if answer.status != 200 or "set-cookie" not in answer.headers:
            return
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        login = self.page.headers["cookie"].partition(";")[0]
        self.page.headers["cookie"] = f"{login}; {self.cookie}"


async def bind(app: AppUnderTest, name: str = "owner") -> Machine:
    """A page over TLS whose browser has bound its session."""
    machine = Machine(await sign_in(app, name, "https"))
    assert (await machine.register()).status == 200
    return machine

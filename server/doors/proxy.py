"""What a proxy in front of this server may say of a request. Owns whose word is taken: that of the peers that the
operator has named, by the address that they connect from.

Behind this middleware ``X-Forwarded-Proto`` and the user header, if they are there, are true: whatever anybody else
says in them, or in any other forwarding header, is gone. Must never take a peer's word for a host name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.domain.clock import Clock
from server.domain.errors import Forbidden, Invalid
from server.domain.login import Login
from server.doors.authentication import Authentication, Keyring
from server.doors.built_in import BuiltIn
from server.doors.cookie import Cookies
from server.doors.device_check import DeviceCheck
from server.doors.origin import Refuse, refuse
from server.store.identities import Identities

Network: TypeAlias = IPv4Network | IPv6Network
Header: TypeAlias = tuple[bytes, bytes]
Parts: TypeAlias = tuple[Keyring, Cookies, Clock, DeviceCheck, BuiltIn | None]
"""What authentication is made of."""
PROTO: Final = b"x-forwarded-proto"
FOR: Final = b"x-forwarded-for"
ISSUER: Final = "proxy"
"""Under which the people of a trusted proxy are known, beside the issuers of organisations."""


@dataclass(frozen=True, slots=True)
class Trust:
    """``networks`` are the proxies', ``user_header`` is where they name who asks, if they do that.

    ``alone``: nobody comes in but by them, since what others send would cross a network in the clear.
    """

    networks: tuple[Network, ...] = ()
    user_header: str | None = None
    alone: bool = False

    @classmethod
    def of(cls, networks: Iterable[str], user_header: str | None, *, alone: bool = False) -> Trust:
        """Read addresses and networks (``10.0.0.7``, ``10.1.0.0/16``). Raises Invalid."""
        try:
            read = tuple(ip_network(one) for one in networks)
        except ValueError as error:
            raise Invalid(f"A trusted proxy is an address or a network: {error}.") from None
        return cls(read, user_header.lower() if user_header else None, alone)

    def has(self, address: str | None) -> bool:
        """Whether a peer of that address is one of them."""
        if not self.networks:
            return False
        try:
            ip = ip_address((address or "").partition("%")[0])
        except ValueError:
            return False
        if isinstance(ip, IPv6Address) and ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        return any(ip in network for network in self.networks)


class Forwarded:
    """The ASGI middleware that stands before all others."""

    def __init__(self, app: ASGIApp, trust: Trust) -> None:
        self._app = app
        self._trust = trust

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a trusted peer's word; drop everybody else's."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        peer = scope["client"][0] if scope.get("client") else None
        heard = self._hear(scope, peer)
        if isinstance(heard, Refuse):
            await refuse(heard, scope, receive, send)
        else:
            await self._app(heard, receive, send)

    def _hear(self, scope: Scope, peer: str | None) -> Scope | Refuse:
        trust, headers = self._trust, scope["headers"]
        named = trust.user_header.encode() if trust.user_header else None
        names = [value for name, value in headers if name == named]
        kept = [(name, value) for name, value in headers if not _forwards(name) and name != named]
        if not trust.has(peer):
            if names:
                return Refuse(403, "Only a trusted proxy says who somebody is.")
            if trust.alone and not _is_loopback(peer):
                return Refuse(403, "This server is reached through its proxy.")
            return {**scope, "headers": kept}
        if len(names) > 1:
            return Refuse(400, "A proxy names one person, once.")
        if named is not None and names:
            kept.append((named, names[0]))
        elif named is not None:  # nobody vouches for who sends this: a cookie is not enough here
            kept = [(name, value) for name, value in kept if name != b"cookie"]
        return self._as_forwarded(scope, kept, peer)

    def _as_forwarded(self, scope: Scope, kept: list[Header], peer: str | None) -> Scope:
        told = dict(scope)
        if _last(scope["headers"], PROTO) == "https":
            kept.append((PROTO, b"https"))
            told["scheme"] = "wss" if scope["type"] == "websocket" else "https"
        told["headers"] = kept
        told["client"] = (self._caller(_all(scope["headers"], FOR), peer), 0)
        return told

    def _caller(self, hops: Sequence[str], peer: str | None) -> str | None:
        """Who has asked the first of our proxies: the last hop that is none of them."""
        for hop in reversed(hops):
            if not self._trust.has(hop):
                try:
                    return str(ip_address(hop))
                except ValueError:
                    return peer
        return peer


class Vouched(Authentication):
    """Who comes in where a proxy names people: their logins are good only for whom it names at this very request.

    Who is known by the proxy is so by nothing else, past it neither: who was signed out there is out.
    """

    def __init__(
        self, keyring: Keyring, cookies: Cookies, clock: Clock, check: DeviceCheck, built_in: BuiltIn | None,
        vouching: tuple[Identities, str],
    ) -> None:  # fmt: skip
        super().__init__(keyring, cookies, clock, check, built_in)
        self._identities, self._header = vouching

    async def login(self, headers: Headers) -> Login | None:
        """The living login that the cookie stands for; None if the proxy does not say that it is them."""
        login = await super().login(headers)
        if login is None:
            return None
        named = headers.get(self._header)
        if named is not None:
            return login if await self._identities.find(ISSUER, named) == login.user else None
        return None if ISSUER in await self._identities.issuers(login.user) else login


def admit_by(trust: Trust, identities: Identities, *parts: *Parts) -> Authentication:
    """The door by which requests come: where a proxy names people, a cookie must be that person's."""
    header = trust.user_header
    return Authentication(*parts) if header is None else Vouched(*parts, (identities, header))


def _forwards(name: bytes) -> bool:
    return name.startswith(b"x-forwarded-") or name in (b"forwarded", b"x-real-ip")


def _all(headers: Iterable[Header], wanted: bytes) -> list[str]:
    values = (value.decode("latin-1") for name, value in headers if name == wanted)
    return [part.strip() for value in values for part in value.split(",")]


def _last(headers: Iterable[Header], wanted: bytes) -> str:
    found = _all(headers, wanted)
    return found[-1].lower() if found else ""


def _is_loopback(address: str | None) -> bool:
    try:
        return ip_address((address or "").partition("%")[0]).is_loopback
    except ValueError:
        return False


def require_header(name: str, header: str | None) -> str:
    """The person whom a trusted proxy names. Raises Forbidden if it names nobody."""
    if not header or len(header) > 255:
        raise Forbidden(f"No trusted proxy names you ({name}).")
    return header

"""What a proxy in front of this server may say of a request. Owns whose word is taken: that of the peers that the
operator has named, by the address that they connect from.

Behind this middleware ``X-Forwarded-Proto`` and the user header, if they are there, are true: whatever anybody else
says in them, or in any other forwarding header, is gone. Must never take a peer's word for a host name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Protocol, TypeAlias

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from server.domain.access import Principal
from server.domain.errors import Forbidden, Invalid, Unauthenticated
from server.domain.proof import Target
from server.doors.origin import Refuse, refuse
from server.store.identities import Identities

Network: TypeAlias = IPv4Network | IPv6Network
Header: TypeAlias = tuple[bytes, bytes]
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


class Asks(Protocol):
    """The door by which requests come."""

    async def of_request(self, headers: Headers, target: Target | None = None) -> Principal:
        """Who sends this request. Raises Unauthenticated."""
        ...

    def nonce(self) -> str:
        """What the next proof has to repeat."""
        ...


class Vouched:
    """That door where a proxy names people: a login is good only for whom the proxy names at this very request."""

    def __init__(self, door: Asks, identities: Identities, header: str) -> None:
        self._door = door
        self._identities = identities
        self._header = header

    async def of_request(self, headers: Headers, target: Target | None = None) -> Principal:
        """Who sends this request. Raises Unauthenticated, also if the proxy says that it is somebody else."""
        principal = await self._door.of_request(headers, target)
        named = headers.get(self._header)
        if principal.token is None and named is not None:
            if await self._identities.find(ISSUER, named) != principal.user:
                raise Unauthenticated
        return principal

    def nonce(self) -> str:
        """What the next proof has to repeat."""
        return self._door.nonce()


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

"""Sign-in where a trusted proxy says who asks. Owns that a person whom it names is the same user every time."""

from __future__ import annotations

from starlette.responses import Response

from server.domain.clock import Clock
from server.domain.errors import Conflict, Unauthenticated
from server.domain.user import User
from server.doors.links import Threshold
from server.doors.oidc import namesakes
from server.doors.proxy import ISSUER, require_header
from server.http.endpoint import Call, Endpoint, Nothing, Row
from server.http.reception import Reception, SignedIn
from server.store.identities import Identities


def routes(
    header: str | None, identities: Identities, threshold: Threshold, reception: Reception, clock: Clock
) -> list[Row]:
    """The endpoint, if a header was named."""
    if header is None:
        return []

    async def sign_in(call: Call, _: Nothing) -> Response:
        named = require_header(header, call.request.headers.get(header))
        arrival = await reception.receive(call.request)
        known = await identities.find(ISSUER, named)
        user = await threshold.users.get(known) if known is not None else await welcome(named)
        if user is None:
            raise Unauthenticated
        entered = await threshold.enter(user, arrival, clock.now(), "proxy.entered")
        return await reception.admit(call.request, arrival, entered)

    async def welcome(named: str) -> User | None:
        """Make a user of whom the proxy names; never one who is here already by another way and has that name."""
        for name in namesakes({"name": named}):
            try:
                user = await threshold.users.add(name, clock.now())
            except Conflict:
                continue
            holder = await identities.add(ISSUER, named, user.id, clock.now())
            if holder != user.id:  # somebody was quicker
                await threshold.users.delete(user.id)
            return await threshold.users.get(holder)
        raise Conflict("Too many people here have that name.")

    return [
        Endpoint(
            "POST", "/signin/proxy", sign_in, Nothing, SignedIn, "Sign in as whom the trusted proxy names.", 201,
            ("unauthenticated", "forbidden", "conflict"), door="anyone",
        )
    ]  # fmt: skip

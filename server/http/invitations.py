"""Invitations to this server: its owner makes them, whoever is invited says what they are called. No other sign-up."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints
from starlette.responses import Response

from crdt_docs.ids import UserId
from server.domain.audit import Deed
from server.domain.clock import Clock, iso
from server.domain.credential import hash_secret
from server.domain.errors import Forbidden, NotFound, Unauthenticated
from server.domain.invitation import InvitationId
from server.doors.authority import require_login
from server.doors.links import Threshold
from server.doors.revocation import deed
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.entrance import draw_qr
from server.http.reception import Reception, SignedIn
from server.http.shapes import Name
from server.store.invitations import Invitations

Secret = Annotated[str, StringConstraints(min_length=1, max_length=200)]
UserName = Annotated[Name, StringConstraints(max_length=100)]


class InvitationMade(Answer):
    """An address by which one person becomes a user, once; ``qr`` is it in rows, ``1`` where they are dark."""

    id: str
    url: str
    expires_at: str
    qr: list[str]


class InvitationAnswer(Answer):
    """An invitation that nobody has used yet."""

    id: str
    created_at: str
    expires_at: str


class InvitationList(Answer):
    """Yours, the latest first."""

    invitations: list[InvitationAnswer]


class InvitationCheck(Input):
    """The secret from the link's fragment."""

    secret: Secret


class InvitationGood(Answer):
    """It can be used. Asking has not used it."""

    good: bool


class InvitationAccept(Input):
    """The secret from the link's fragment, what you want to be called, and what to call this device."""

    secret: Secret
    name: UserName
    device: Name | None = None


def routes(invitations: Invitations, threshold: Threshold, reception: Reception, clock: Clock) -> list[Row]:
    """The endpoints of invitations."""

    async def require_owner(call: Call) -> None:
        require_login(call.principal)
        owner = await threshold.users.owner()
        if owner is None or owner.id != call.principal.user:
            raise Forbidden("Only the owner of this server invites people.")

    async def make(call: Call, _: Nothing) -> InvitationMade:
        await require_owner(call)
        now = clock.now()
        made, secret = await invitations.issue(call.principal.user, now, call.principal.login)
        await threshold.audit.append("invitation.made", now, by=deed(call.principal), subjects=[made.id])
        url = f"{call.base}/i#{secret}"
        return InvitationMade(id=made.id, url=url, expires_at=iso(made.expires_at), qr=draw_qr(url))

    async def list_(call: Call, _: Nothing) -> InvitationList:
        require_login(call.principal)
        found = await invitations.of_user(call.principal.user, clock.now())
        return InvitationList(
            invitations=[
                InvitationAnswer(id=one.id, created_at=iso(one.created_at), expires_at=iso(one.expires_at))
                for one in found
            ]
        )

    async def take_back(call: Call, _: Nothing) -> None:
        require_login(call.principal)
        invitation = InvitationId(call.ids["id"])
        if not await invitations.delete(call.principal.user, invitation):
            raise NotFound
        await threshold.audit.append(
            "invitation.withdrawn", clock.now(), by=deed(call.principal), subjects=[invitation]
        )

    async def check(call: Call, given: InvitationCheck) -> InvitationGood:
        return InvitationGood(good=await invitations.is_good(hash_secret(given.secret), clock.now()))

    async def accept(call: Call, given: InvitationAccept) -> Response:
        arrival, now = await reception.receive(call.request, given.device), clock.now()
        await threshold.require_own_key(UserId(""), arrival.key)  # nobody is whoever comes
        user = await invitations.accept(hash_secret(given.secret), given.name, now)
        if user is None:
            raise Unauthenticated("This invitation was used, has expired, or never was one.")
        await threshold.audit.append("user.joined", now, by=Deed(user=user.id), subjects=[user.id])
        entered = await threshold.enter(user, arrival, now, "invitation.accepted")
        return await reception.admit(call.request, arrival, entered)

    return [
        Endpoint(
            "POST", "/invitations", make, Nothing, InvitationMade, "Invite somebody to this server.", 201,
            ("forbidden", "conflict"),
        ),
        Endpoint(
            "GET", "/invitations", list_, Nothing, InvitationList, "Your open invitations.", errors=("forbidden",)
        ),
        Endpoint(
            "DELETE", "/invitations/{id}", take_back, Nothing, None, "Take an invitation back.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "POST", "/invitations/check", check, InvitationCheck, InvitationGood,
            "Whether an invitation can be used.", door="anyone",
        ),
        Endpoint(
            "POST", "/invitations/accept", accept, InvitationAccept, SignedIn,
            "Become a user by an invitation; answers with the login's cookie.", 201,
            ("unauthenticated", "conflict"), door="anyone",
        ),
    ]  # fmt: skip

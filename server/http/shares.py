"""Share links: an owner makes, lists and withdraws them; whoever has one presents it by POST. A GET burns nothing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from starlette.responses import Response

from crdt_docs.ids import TaskId
from server.domain.access import Role
from server.domain.clock import Clock, iso
from server.domain.language import preferred
from server.domain.share import HIGHEST, LONGEST, MOST_USES, Share, ShareId
from server.doors.authority import Authority, require_browser, require_login, require_steady
from server.doors.proofs import target_of
from server.doors.revocation import Revocation
from server.doors.sharing import Sharing, Wanted
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reception import Person, Reception
from server.http.shapes import RoleName, Uuid, read_role, role_name
from server.store.shares import Shares

Capped = Literal["viewer", "commenter", "editor"]


class ShareNew(Input):
    """As what a link lets in, for how many seconds, and how often. Who came by it is out when it ends.

    ``sign_in``: people of this server only, no guests. ``registered``: devices with a key of their own only.
    """

    role: Capped = "commenter"
    ttl: Annotated[int, Field(ge=60, le=LONGEST, description="Seconds that it lives.")] = 7 * 86400
    uses: Annotated[int, Field(ge=1, le=MOST_USES, description="How many people may come in by it.")] = 10
    sign_in: bool = False
    registered: bool = False


class ShareAnswer(Answer):
    """A link without its secret. ``open``: somebody may still come in by it."""

    id: str
    role: RoleName
    open: bool
    uses: int
    most_uses: int
    sign_in: bool
    registered: bool
    created_at: str
    expires_at: str
    used_at: str | None


class ShareMade(ShareAnswer):
    """A new link. This is the only time that its address is shown."""

    url: str


class ShareList(Answer):
    """Links that were not withdrawn, the latest first."""

    shares: list[ShareAnswer]


class ShareGiven(Input):
    """The two parts of the address after ``/s#``."""

    id: Uuid
    secret: Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ShareJoined(Answer):
    """Where it led. ``fresh`` is false for who was on the task already: nothing changed for them."""

    task: str
    role: RoleName
    fresh: bool
    user: Person


def routes(
    shares: Shares,
    sharing: Sharing,
    reception: Reception,
    authority: Authority,
    revocation: Revocation,
    clock: Clock,
) -> list[Row]:
    """The endpoints of share links."""

    async def make(call: Call, new: ShareNew) -> ShareMade:
        task = await _owned(authority, call)
        require_login(call.principal)
        wanted = Wanted(min(read_role(new.role), HIGHEST), new.ttl, new.uses, new.sign_in, new.registered)
        share, secret = await sharing.issue(call.principal, task, wanted)
        return ShareMade(**_answer(share, clock.now()).model_dump(), url=f"{call.base}/s#{share.id}.{secret}")

    async def list_(call: Call, _: Nothing) -> ShareList:
        found = await shares.of_task(await _owned(authority, call))
        return ShareList(shares=[_answer(share, clock.now()) for share in found])

    async def withdraw(call: Call, _: Nothing) -> None:
        task = await _owned(authority, call)
        await revocation.share(call.principal, task, ShareId(call.ids["share"]))

    async def redeem(call: Call, given: ShareGiven) -> ShareJoined | Response:
        request = call.request
        share = await sharing.find(ShareId(given.id), given.secret)
        login = await reception.authentication.login(request.headers)
        if login is not None and await sharing.knows(login, share):
            who = await reception.authentication.of_request(request.headers, target_of(request))
            require_browser(who)  # a bearer beside the cookie would come before it, with its own bounds
            require_steady(who)
            joined = await sharing.join(who, share)
            return ShareJoined(
                task=share.task,
                role=role_name(joined.role),
                fresh=joined.fresh,
                user=Person(id=who.user, name=who.name),
            )
        arrival = await reception.receive(request)
        require_steady(arrival)
        language = preferred(request.headers.get("accept-language"))
        entered = await sharing.welcome(arrival, share, language)
        user = Person(id=entered.user.id, name=entered.user.name)
        answer = ShareJoined(task=share.task, role=role_name(share.role), fresh=True, user=user)
        response = Response(answer.model_dump_json(), media_type="application/json")
        return await reception.give(response, request, arrival, entered)

    return [
        Endpoint(
            "POST",
            "/tasks/{id}/shares",
            make,
            ShareNew,
            ShareMade,
            "Make a link that lets others in to the task.",
            201,
            ("forbidden", "not_found", "conflict"),
        ),
        Endpoint(
            "GET",
            "/tasks/{id}/shares",
            list_,
            Nothing,
            ShareList,
            "The task's links.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "DELETE",
            "/tasks/{id}/shares/{share}",
            withdraw,
            Nothing,
            None,
            "Withdraw a link: whoever came by it is off the task, at once.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "POST",
            "/shares/redeem",
            redeem,
            ShareGiven,
            ShareJoined,
            "Come in by a link; who is not signed in becomes a guest, and is given a cookie.",
            errors=("unauthenticated", "forbidden", "not_found"),
            door="anyone",
        ),
    ]


async def _owned(authority: Authority, call: Call) -> TaskId:
    task = TaskId(call.ids["id"])
    await authority.require(call.principal, task, Role.OWNER)
    return task


def _answer(share: Share, now: float) -> ShareAnswer:
    return ShareAnswer(
        id=share.id,
        role=role_name(share.role),
        open=share.is_open(now),
        uses=share.uses,
        most_uses=share.most_uses,
        sign_in=share.sign_in,
        registered=share.keyed,
        created_at=iso(share.created_at),
        expires_at=iso(share.expires_at),
        used_at=iso(share.used_at) if share.used_at is not None else None,
    )

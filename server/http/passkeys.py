"""Passkeys: make one, come in by one, show that it is you, list, rename, forget. Bodies are WebAuthn's own JSON."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from server.domain.clock import iso
from server.domain.errors import Code, NotFound, Unauthenticated
from server.domain.login import Login
from server.domain.passkey import Passkey, PasskeyId
from server.doors.authority import require_login
from server.doors.passkeys import PasskeyDoor, Place
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reception import Reception, SignedIn, guess_device
from server.http.shapes import Name
from server.store.passkeys import Passkeys


class OptionsAnswer(Answer):
    """What ``navigator.credentials`` takes, as its ``parse…OptionsFromJSON`` reads it."""

    options: dict[str, Any]


class PasskeyNew(Input):
    """What ``navigator.credentials.create`` gave, as its ``toJSON`` writes it, and what to call it."""

    credential: dict[str, Any]
    name: Name | None = None


class PasskeyShown(Input):
    """What ``navigator.credentials.get`` gave, as its ``toJSON`` writes it; ``device`` is what to call this one."""

    credential: dict[str, Any]
    device: Name | None = None


class PasskeyProof(Input):
    """What ``navigator.credentials.get`` gave, as its ``toJSON`` writes it."""

    credential: dict[str, Any]


class PasskeyChange(Input):
    """What to call it."""

    name: Name


class PasskeyAnswer(Answer):
    """A passkey of yours. ``synced`` says that it is kept on your other devices, too."""

    id: str
    name: str
    synced: bool
    created_at: str
    used_at: str | None


class PasskeyList(Answer):
    """Your passkeys, the first first."""

    passkeys: list[PasskeyAnswer]


class Proven(Answer):
    """When you last showed that it is you."""

    proven_at: str


def routes(door: PasskeyDoor, passkeys: Passkeys, reception: Reception) -> list[Row]:
    """The endpoints of passkeys."""

    async def own_login(call: Call) -> Login:
        require_login(call.principal)
        login = await reception.authentication.login(call.request.headers)
        if login is None:
            raise Unauthenticated
        return login

    async def begin_adding(call: Call, _: Nothing) -> OptionsAnswer:
        return OptionsAnswer(options=await door.begin_registration(await own_login(call), place_of(call.request)))

    async def add(call: Call, new: PasskeyNew) -> Response:
        login, request = await own_login(call), call.request
        name = new.name or guess_device(request.headers.get("user-agent", ""))[0]
        passkey = await door.register(login, place_of(request), new.credential, name)
        response = Response(_answer(passkey).model_dump_json(), 201, media_type="application/json")
        await reception.renew(response, request, login)
        return response

    async def begin_sign_in(call: Call, _: Nothing) -> OptionsAnswer:
        return OptionsAnswer(options=await door.begin_sign_in(place_of(call.request)))

    async def sign_in(call: Call, shown: PasskeyShown) -> Response:
        arrival = await reception.receive(call.request, shown.device)
        entered = await door.sign_in(place_of(call.request), shown.credential, arrival)
        return await reception.admit(call.request, arrival, entered)

    async def begin_proof(call: Call, _: Nothing) -> OptionsAnswer:
        return OptionsAnswer(options=await door.begin_proof(await own_login(call), place_of(call.request)))

    async def prove(call: Call, shown: PasskeyProof) -> Proven:
        at = await door.prove(await own_login(call), place_of(call.request), shown.credential)
        return Proven(proven_at=iso(at))

    async def list_(call: Call, _: Nothing) -> PasskeyList:
        require_login(call.principal)
        return PasskeyList(passkeys=[_answer(one) for one in await passkeys.of_user(call.principal.user)])

    async def rename(call: Call, change: PasskeyChange) -> PasskeyAnswer:
        require_login(call.principal)
        renamed = await passkeys.rename(call.principal.user, PasskeyId(call.ids["id"]), change.name)
        if renamed is None:
            raise NotFound
        return _answer(renamed)

    async def remove(call: Call, _: Nothing) -> None:
        login, passkey = await own_login(call), PasskeyId(call.ids["id"])
        if all(one.id != passkey for one in await passkeys.of_user(login.user)):
            raise NotFound
        await door.remove(login, passkey)

    here: tuple[Code, ...] = ("forbidden", "not_found")
    return [
        Endpoint("GET", "/passkeys", list_, Nothing, PasskeyList, "Your passkeys.", errors=("forbidden",)),
        Endpoint(
            "POST", "/passkeys/options", begin_adding, Nothing, OptionsAnswer, "Begin to add a passkey.",
            errors=("forbidden",),
        ),
        Endpoint(
            "POST", "/passkeys", add, PasskeyNew, PasskeyAnswer,
            "Add the passkey that was made; answers with a new cookie.", 201, ("forbidden", "conflict"),
        ),
        Endpoint("PATCH", "/passkeys/{id}", rename, PasskeyChange, PasskeyAnswer, "Rename a passkey.", errors=here),
        Endpoint("DELETE", "/passkeys/{id}", remove, Nothing, None, "Forget a passkey.", errors=here),
        Endpoint(
            "POST", "/passkeys/proof/options", begin_proof, Nothing, OptionsAnswer,
            "Begin to show that it is you.", errors=("forbidden",),
        ),
        Endpoint(
            "POST", "/passkeys/proof", prove, PasskeyProof, Proven, "Show that it is you.", errors=("forbidden",)
        ),
        Endpoint(
            "POST", "/signin/passkey/options", begin_sign_in, Nothing, OptionsAnswer,
            "Begin to sign in by a passkey.", door="anyone",
        ),
        Endpoint(
            "POST", "/signin/passkey", sign_in, PasskeyShown, SignedIn,
            "Sign in by a passkey; answers with the login's cookie.", 201, ("unauthenticated",), door="anyone",
        ),
    ]  # fmt: skip


def place_of(request: Request) -> Place:
    """Where the page is that asks, by the name that it was opened by, which is on the allow-list. Raises Invalid."""
    return Place.of("https" if request.scope.get("scheme") == "https" else "http", request.headers["host"])


def _answer(passkey: Passkey) -> PasskeyAnswer:
    return PasskeyAnswer(
        id=passkey.id,
        name=passkey.name,
        synced=passkey.synced,
        created_at=iso(passkey.created_at),
        used_at=iso(passkey.used_at) if passkey.used_at is not None else None,
    )

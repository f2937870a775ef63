"""Eve, and all that she tries on what is Ana's: one row for each route of the API. Owns the tables, and no assertion.

A new route needs a row here, or ``server/test_foreign_ids.py`` fails. Where its path or body names a new kind of thing,
let ``MAKERS`` make one of Ana's; the kinds that rows use are the keys of ``World.ids``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kit.app_under_test import Answered, AppUnderTest, Browser

from crdt_docs.ids import new_id

Route = tuple[str, str]
Body = Mapping[str, Any] | None


@dataclass
class World:
    """What is Ana's, by kind, and Eve, who has a task of her own and is on none of Ana's."""

    app: AppUnderTest
    ana: Browser
    eve: Browser
    eves_task: str
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """Ana's task."""
        return self.ids["task"]

    @property
    def session(self) -> str:
        """A session of hers."""
        return self.ids["session"]

    @property
    def token(self) -> str:
        """A bearer of hers, for the task."""
        return self.ids["token"]

    @property
    def device(self) -> str:
        """A device of hers."""
        return self.ids["device"]

    async def state(self) -> list[Any]:
        """All that Ana can see, to tell whether anything changed."""
        paths = [path.format_map(self.ids) for path in WATCHED]
        return [(await self.ana.get(path)).json for path in paths]


async def _session(world: World) -> str:
    return str((await world.ana.post("/sessions", {"device": "phone"})).json["id"])


async def _device(world: World) -> str:
    return str((await world.ana.get(f"/sessions/{world.ids['session']}")).json["device"])


async def _token(world: World) -> str:
    return str((await world.ana.post("/tokens", {"task": world.ids["task"]})).json["id"])


async def _share(world: World) -> str:
    return str((await world.ana.post(f"/tasks/{world.ids['task']}/shares", {})).json["id"])


async def _turn(world: World) -> str:
    said = await world.ana.post(f"/tasks/{world.ids['task']}/messages", {"text": "Who buys whom?"})
    assert said.status == 201, said.body
    return str((await world.ana.get(f"/tasks/{world.ids['task']}/turns")).json["turns"][0]["id"])


async def _handoff(world: World) -> str:
    return str((await world.ana.post("/handoffs", {"task": world.ids["task"]})).json["id"])


async def _passkey(world: World) -> str:
    stored = world.app.nouns.passkeys
    login = (await world.app.nouns.logins.of_user(world.ana.user))[0]
    made = await stored.add(login, b"ana's", b"key", 0, "Ana's laptop", False, world.app.clock.now())
    await world.app.nouns.logins.prove(world.ana.user, login.id, world.app.clock.now())
    return made.id


async def _invitation(world: World) -> str:
    return str((await world.ana.post("/invitations")).json["id"])


async def _task(world: World) -> str:
    return await world.ana.new_task("Secret merger")


async def _user(world: World) -> str:
    return world.ana.user


MAKERS: Final[dict[str, Callable[[World], Awaitable[str]]]] = {
    "task": _task,
    "user": _user,
    "session": _session,
    "device": _device,
    "token": _token,
    "turn": _turn,
    "share": _share,
    "handoff": _handoff,
    "passkey": _passkey,
    "invitation": _invitation,
}
"""How each kind comes to be Ana's, in order."""

WATCHED: Final[list[str]] = [
    "/tasks/{task}",
    "/tasks/{task}/members",
    "/tasks/{task}/policy",
    "/tasks/{task}/shares",
    "/sessions/{session}",
    "/tokens",
    "/devices",
    "/tasks/{task}/turns",
]


@dataclass(frozen=True)
class Attempt:
    """How a route is used on what is somebody else's.

    ``kind`` is what ``{id}`` in the path is; other names in the path are kinds themselves. ``body`` goes along, its
    values ``"{kind}"`` filled in; ``query`` too. ``owner`` are the statuses that Ana may get, who is not refused.
    """

    kind: str
    body: Body = None
    query: str = ""
    owner: tuple[int, ...] = (200, 201, 204)

    def path(self, template: str, ids: Mapping[str, str]) -> str:
        """The path with these ids in it."""
        return template.format_map({**ids, "id": ids[self.kind]}) + self.query

    async def by(self, who: Browser, route: Route, ids: Mapping[str, str]) -> Answered:
        """Let somebody try it with these ids."""
        return await who.ask(route[0], self.path(route[1], ids), fill(self.body, ids))


@dataclass(frozen=True)
class Naming:
    """A foreign id in a body: of ``method path`` with ``{own}`` for Eve's task, ``{kind}`` for what is Ana's."""

    method: str
    path: str
    body: Mapping[str, Any]


FOREIGN: Final[dict[Route, Attempt]] = {
    ("GET", "/sessions/{id}"): Attempt("session"),
    ("PATCH", "/sessions/{id}"): Attempt("session", {"task_id": None}),
    ("POST", "/sessions/{id}/end"): Attempt("session"),
    ("GET", "/tasks/{id}"): Attempt("task"),
    ("PATCH", "/tasks/{id}"): Attempt("task", {"name": "mine"}),
    ("DELETE", "/tasks/{id}"): Attempt("task"),
    ("GET", "/tasks/{id}/members"): Attempt("task"),
    ("POST", "/tasks/{id}/members"): Attempt("task", {"user": "eve", "role": "editor"}),
    ("PATCH", "/tasks/{id}/members/{user}"): Attempt("task", {"role": "viewer"}, owner=(409,)),  # the last owner
    ("DELETE", "/tasks/{id}/members/{user}"): Attempt("task", owner=(409,)),
    ("GET", "/tasks/{id}/policy"): Attempt("task"),
    ("PUT", "/tasks/{id}/policy"): Attempt("task", {"resume": "owner", "device": "any", "confirm": "none"}),
    ("POST", "/tasks/{id}/shares"): Attempt("task", {"role": "editor"}),
    ("GET", "/tasks/{id}/shares"): Attempt("task"),
    ("DELETE", "/tasks/{id}/shares/{share}"): Attempt("task"),
    ("POST", "/tasks/{id}/messages"): Attempt("task", {"text": "boo"}),
    ("POST", "/tasks/{id}/updates"): Attempt("task", {"update": "AAA=", "generation": 1}),
    ("GET", "/tasks/{id}/working-set"): Attempt("task"),
    ("GET", "/tasks/{id}/resume"): Attempt("task"),
    ("GET", "/tasks/{id}/address"): Attempt("task"),
    ("GET", "/tasks/{id}/authors"): Attempt("task"),
    ("GET", "/tasks/{id}/agents"): Attempt("task"),
    ("POST", "/tasks/{id}/agents/stop"): Attempt("task", {}),
    ("POST", "/tasks/{id}/agents/allow"): Attempt("task", {}),
    ("GET", "/tasks/{id}/export"): Attempt("task", query="?format=yjs"),
    ("POST", "/tasks/{id}/tickets"): Attempt("task", {}),
    ("GET", "/tasks/{id}/turns"): Attempt("task"),
    ("POST", "/turns/{id}/stop"): Attempt("turn", {}),
    ("DELETE", "/tokens/{id}"): Attempt("token"),
    ("PATCH", "/devices/{id}"): Attempt("device", {"name": "mine"}),
    ("DELETE", "/devices/{id}"): Attempt("device"),
    ("POST", "/devices/{id}/keep"): Attempt("device"),
    ("GET", "/handoffs/{id}"): Attempt("handoff"),
    ("POST", "/handoffs/{id}/approve"): Attempt("handoff", {"number": 42}, owner=(409,)),  # nobody is there
    ("POST", "/handoffs/{id}/decline"): Attempt("handoff"),
    ("PATCH", "/passkeys/{id}"): Attempt("passkey", {"name": "mine"}),
    ("DELETE", "/passkeys/{id}"): Attempt("passkey"),
    ("DELETE", "/invitations/{id}"): Attempt("invitation"),
}
"""Every route with an id in its path, but for those of agents and their hosts, which ``test_turns_access`` holds."""

NAMED: Final[dict[str, Naming]] = {
    "a session in a message": Naming("POST", "/tasks/{own}/messages", {"text": "x", "session": "{session}"}),
    "a session in a ticket": Naming("POST", "/tasks/{own}/tickets", {"session": "{session}"}),
    "a device in a session": Naming("POST", "/sessions", {"device": "{device}"}),
    "a task in a token": Naming("POST", "/tokens", {"task": "{task}"}),
    "a task in a handoff": Naming("POST", "/handoffs", {"task": "{task}"}),
    "a session in a handoff": Naming("POST", "/handoffs", {"task": "{own}", "session": "{session}"}),
}
"""Ids of Ana's in bodies."""

WITHOUT_IDS: Final[set[Route]] = {
    ("GET", "/passkeys"), ("POST", "/passkeys"), ("POST", "/passkeys/options"), ("POST", "/passkeys/proof"),
    ("POST", "/passkeys/proof/options"), ("GET", "/invitations"), ("POST", "/invitations"), ("GET", "/me/account"),
    ("PATCH", "/me/account"), ("POST", "/device/look"), ("POST", "/device/decide"),
    ("POST", "/sessions"), ("GET", "/sessions"), ("POST", "/tasks"), ("GET", "/tasks"), ("POST", "/tokens"),
    ("GET", "/tokens"), ("GET", "/devices"), ("POST", "/signout"), ("POST", "/links"), ("GET", "/me"),
    ("POST", "/me/export"), ("GET", "/me/export"), ("POST", "/me/erase"),
    ("POST", "/handoffs"), ("POST", "/handoffs/pause"), ("DELETE", "/handoffs/pause"),
}  # fmt: skip
"""Routes for who is signed in that have no id in their path; what ids their bodies may name stands in ``NAMED``."""

OPEN: Final[dict[Route, Body]] = {
    ("GET", "/signin/ways"): None,
    ("POST", "/signin/passkey/options"): {},
    ("POST", "/signin/passkey"): {"credential": {}},
    ("POST", "/invitations/check"): {"secret": "A" * 43},
    ("POST", "/invitations/accept"): {"secret": "A" * 43, "name": "eve's friend"},
    ("POST", "/device/authorize"): {},
    ("POST", "/device/token"): {},
    ("POST", "/shares/redeem"): {"id": "00000000-0000-4000-8000-000000000000", "secret": "A" * 43},
    ("POST", "/signin"): {"key": "A" * 43, "device": "laptop"},
    ("POST", "/handoffs/redeem"): {"code": "BCDF-GHJK"},
    ("POST", "/handoffs/collect"): {"id": "00000000-0000-4000-8000-000000000000", "claim": "A" * 43},
    ("GET", "/openapi.json"): None,
}
"""Routes for anyone, with a body that is as the contract says and opens nothing."""


def fill(body: Body, ids: Mapping[str, str]) -> dict[str, Any] | None:
    """The body with the ids in it."""
    if body is None:
        return None
    return {key: value.format_map(ids) if isinstance(value, str) else value for key, value in body.items()}


async def new_world(app: AppUnderTest) -> World:
    """Ana with one of everything, and Eve."""
    ana, eve = await app.sign_in("ana"), await app.sign_in("eve")
    world = World(app, ana, eve, await eve.new_task("Eve's own"))
    for kind, make in MAKERS.items():
        world.ids[kind] = await make(world)
    return world


def nobodys(ids: Mapping[str, str]) -> dict[str, str]:
    """An id of each kind that is nobody's."""
    return {kind: new_id() for kind in ids}

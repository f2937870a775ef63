"""Who wrote which span; and that nobody's honest words are stranded, whatever became of the credential they came by."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import HOST, AppUnderTest, app_under_test
from kit.rooms import Peer
from starlette.datastructures import Headers

from crdt_docs.ids import DocName, TaskId
from crdt_docs.messages.ywebsocket import step2_frame
from server.control.backing_up import BackingUp
from server.domain.access import Principal, Role
from server.domain.turn import HEAD_START
from server.store.restore import restore


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as made:
        yield made


class Person:
    """A replica that outlives every credential, as a browser profile's database does."""

    def __init__(self, app: AppUnderTest, task: TaskId, client: int) -> None:
        self.app, self.task = app, task
        self.peer = Peer(client)
        self.typed = 0

    async def join(self, who: Principal) -> None:
        """Connect anew, and bring what was written meanwhile."""
        role = await self.app.doors.authority.role(who, self.task)
        self.peer.closed = None
        self.peer.connection = await self.app.rooms.join(DocName(self.task), who, role, self.peer)
        await self.peer.greet()
        assert self.peer.closed is None, self.peer.closed

    async def type(self) -> None:
        """A word, on line."""
        await self.peer.type(f"<{self.peer.doc.client_id}.{self.typed}>")
        self.typed += 1

    def type_offline(self) -> None:
        """A word that nobody hears yet."""
        self.peer.text += f"<{self.peer.doc.client_id}.{self.typed}>"
        self.typed += 1

    async def answer(self) -> bool:
        """Answer what the server asks for, as every client does; whether it asked."""
        await self.app.rooms.writer.drain()
        asked = any(frame[:2] == b"\0\0" for frame in self.peer.frames)
        self.peer.frames.clear()
        if asked:
            await self.peer.say(step2_frame(self.peer.doc.get_update()))
            await self.app.rooms.writer.drain()
        return asked

    def leave(self) -> None:
        self.peer.connection.leave()

    @property
    def words(self) -> list[str]:
        return [f"<{self.peer.doc.client_id}.{number}>" for number in range(self.typed)]


async def of(app: AppUnderTest, **headers: str) -> Principal:
    return await app.doors.authentication.of_request(Headers({"host": HOST, **headers}))


async def spans(app: AppUnderTest, who: Any, task: TaskId, query: str = "") -> list[dict[str, Any]]:
    answer = await who.get(f"/tasks/{task}/authors{query}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json["spans"]
    return found


async def test_a_span_names_person_device_session_and_for_an_agent_its_grant(app: AppUnderTest) -> None:
    ana = await app.sign_in("ana", "Ana's laptop")
    bob = await app.sign_in("bob", "Bob's phone")
    task = await ana.new_task()
    await ana.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    session = (await ana.post("/sessions", {"device": "laptop"})).json["id"]
    said = await ana.post(f"/tasks/{task}/messages", {"text": "Who buys whom?", "session": session})
    assert said.status == 201
    writer = Person(app, task, 77)
    await writer.join(Principal(bob.user, "bob", device=bob.device, authenticated_at=app.clock.monotonic()))  # type: ignore[arg-type]
    await writer.type()
    await app.rooms.writer.drain()
    agent = await app.nouns.agents.ensure(ana.user, "Ada", app.clock.now())
    host = app.holding(
        (await app.nouns.tokens.issue(ana.user, role=Role.EDITOR, at=0, expires_at=9e12, agent=agent.id))[1]
    )
    app.clock.advance(HEAD_START)
    await app.desk.file()
    turn = (await ana.get(f"/tasks/{task}/turns")).json["turns"][0]["id"]
    lease = (await host.post(f"/turns/{turn}/lease", {})).json
    by_agent = app.holding(lease["grant"]["token"])
    assert (await by_agent.post(f"/tasks/{task}/messages", {"text": "Acme does."})).status == 201

    found = await spans(app, ana, task)
    [bobs] = [span for span in found if span["client"] == 77]
    assert (bobs["first"], bobs["end"], bobs["via"]) == (0, len("<77.0>"), "socket")
    assert bobs["user"] == {"id": bob.user, "name": "bob"} and bobs["device"]["name"] == "Bob's phone"
    [agents] = [span for span in found if span["agent"]]
    assert agents["agent"] == {"id": agent.id, "name": "Ada"} and agents["user"]["id"] == ana.user
    assert agents["grant"] is not None and agents["via"] == "http"
    [mine] = [span for span in found if span["session"] == session]
    assert mine["user"]["id"] == ana.user and mine["device"] == {"id": ana.device, "name": "Ana's laptop"}

    theirs = [span for span in await spans(app, bob, task) if span["user"]["id"] == ana.user]
    assert theirs and all(span["session"] is None and span["grant"] is None for span in theirs)
    first = (await ana.get(f"/tasks/{task}/authors?limit=1")).json
    rest = (await ana.get(f"/tasks/{task}/authors?after={first['next']}")).json
    assert [*first["spans"], *rest["spans"]] == found and rest["next"] is None
    assert (await ana.get(f"/tasks/{task}/authors?document=margin")).json["spans"] == []


async def test_no_honest_edit_is_stranded_by_what_became_of_a_credential(tmp_path: Path) -> None:
    """I4: a client id belongs to a person for ever. Re-login, rotated tokens, a re-paired device, a shared profile, and
    a server that was restored from before some of it was said."""
    data, backup = tmp_path / "data", tmp_path / "backup"
    data.mkdir()
    async with app_under_test(data) as app:
        ana, bob = await app.sign_in("ana"), await app.sign_in("bob")
        task = await ana.new_task()
        await ana.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
        replica, shared = Person(app, task, 101), Person(app, task, 202)

        await replica.join(await of(app, cookie=ana.headers["cookie"]))
        await replica.type()
        await ana.post("/signout")  # re-login: the old cookie is dead, its replica goes on
        replica.leave()
        replica.type_offline()
        again = await app.sign_in("ana")
        await replica.join(await of(app, cookie=again.headers["cookie"]))
        await replica.type()
        replica.leave()

        for _ in range(2):  # rotated tokens: each revoked before the words it brought were all sent
            script, token = await app.with_bearer(again, Role.EDITOR)
            await replica.join(await of(app, authorization=script.headers["authorization"]))
            await replica.type()
            await again.delete(f"/tokens/{token}")
            replica.type_offline()

        await again.delete(f"/devices/{again.device}")  # re-paired: the device is revoked and comes back as another
        replica.type_offline()
        paired = await app.sign_in("ana", "laptop, paired again")
        await replica.join(await of(app, cookie=paired.headers["cookie"]))
        await replica.type()

        await shared.join(await of(app, cookie=bob.headers["cookie"]))  # two people share one browser profile:
        await shared.type()
        shared.type_offline()  # what Bob has not sent is in the profile's database, and Ana's tab carries it
        replica.peer.doc.apply_update(shared.peer.doc.get_update())
        await replica.peer.say(step2_frame(replica.peer.doc.get_update()))
        await replica.type()
        assert await replica.answer(), "it stands on what Bob has not sent"
        await shared.join(await of(app, cookie=bob.headers["cookie"]))
        await shared.type()
        assert await replica.answer(), "and is asked for when that has come"
        assert replica.peer.closed is None and shared.peer.closed is None

        assert len(replica.words) + len(shared.words) == 13
        stranded = await _missing(app, task, [*replica.words, *shared.words])
        assert stranded == [], f"{len(stranded)} honest edits are stranded: {stranded}"
        found = await spans(app, paired, task)
        assert {span["user"]["name"] for span in found if span["client"] == 101} == {"ana"}
        assert {span["user"]["name"] for span in found if span["client"] == 202} == {"bob"}
        assert len({span["device"]["id"] for span in found if span["client"] == 101 and span["device"]}) >= 2
        await BackingUp(data, app.nouns.database, app.clock).make(backup)
        await replica.type()  # which the backup has not
        replica.leave()
        replica.type_offline()

    await restore(backup, tmp_path / "restored", 1.9e9, keep_logins=True)
    async with app_under_test(tmp_path / "restored") as app:
        for person, browser in ((replica, paired), (shared, bob)):
            person.app = app
            await person.join(await of(app, cookie=browser.headers["cookie"]))
            await person.type()
        await app.rooms.writer.drain()
        assert replica.peer.closed is None and shared.peer.closed is None
        stranded = await _missing(app, task, [*replica.words, *shared.words])
        assert stranded == [], f"{len(stranded)} honest edits are stranded by a restore: {stranded}"


async def _missing(app: AppUnderTest, task: TaskId, words: list[str]) -> list[str]:
    text = Peer(1)
    text.doc.apply_update((await app.rooms.read(DocName(task))).update)
    return [word for word in words if word not in str(text.text)]

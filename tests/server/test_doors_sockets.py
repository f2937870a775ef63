"""The doors over a real loopback server: hijacked sockets, replayed tickets, rebinding, dawdlers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test, on_the_wire
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from crdt_docs.ids import TaskId
from server.domain.access import Role
from server.http import body, protocol


@dataclass
class Wire:
    """A served application, its owner, a task of theirs."""

    app: AppUnderTest
    port: int
    owner: Browser
    task: TaskId

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ticket(self, task: str | None = None, who: Browser | None = None, session: str | None = None) -> str:
        answer = await (who or self.owner).post(f"/tasks/{task or self.task}/tickets", {"session": session})
        assert answer.status == 201
        return f"ticket.{answer.json['ticket']}"

    async def open(
        self,
        *credentials: str,
        origin: str | None = None,
        task: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> ClientConnection:
        offered = [Subprotocol("clew.v1"), *map(Subprotocol, credentials)]
        url = f"ws://127.0.0.1:{self.port}/sync/{task or self.task}"
        given = Origin(origin) if origin is not None else None
        return await connect(url, origin=given, subprotocols=offered, additional_headers=headers, proxy=None)

    async def outcome(self, *credentials: str, origin: str | None = None, task: str | None = None) -> int:
        """How an attempt ends: 101 if it lives, the HTTP status if it is not upgraded, else the close code."""
        try:
            socket = await self.open(*credentials, origin=origin, task=task)
        except InvalidStatus as refused:
            return refused.response.status_code
        async with socket:
            assert socket.subprotocol == "clew.v1"
            try:
                await socket.send(b"\x00\x00\x01\x00")
                with anyio.fail_after(10):
                    await socket.recv()
            except ConnectionClosed as closed:
                assert closed.rcvd is not None
                return closed.rcvd.code
            return 101

    async def raw(self, request: bytes, patience: float = 10) -> bytes:
        """What a connection answers to these bytes until it is closed, or for so long."""
        stream = await anyio.connect_tcp("127.0.0.1", self.port)
        heard = b""
        async with stream:
            await stream.send(request)
            with anyio.move_on_after(patience):
                try:
                    while True:
                        heard += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return heard + b"[closed]"
        return heard


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with app_under_test(tmp_path) as app, on_the_wire(app.app) as port:
        owner = await app.sign_in()
        yield Wire(app, port, owner, await owner.new_task())


async def test_attack_25_a_ticket_of_our_page_opens_one_socket(wire: Wire) -> None:
    ticket = await wire.ticket()
    assert await wire.outcome(ticket, origin=wire.origin) == 101
    assert await wire.outcome(ticket, origin=wire.origin) == 4401


async def test_fifty_sockets_by_one_ticket_are_one(wire: Wire) -> None:
    ticket, outcomes = await wire.ticket(), list[int]()

    async def attempt() -> None:
        outcomes.append(await wire.outcome(ticket, origin=wire.origin))

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(attempt)
    assert sorted(outcomes) == [101] + [4401] * 49


async def test_a_bearer_in_the_address_opens_no_socket(wire: Wire) -> None:
    token = (await wire.owner.post("/tokens", {})).json["token"]
    assert await wire.outcome(f"token.{token}") == 101
    assert await wire.outcome(task=f"{wire.task}?token={token}") == 4401


async def test_attack_25_a_ticket_opens_no_other_task(wire: Wire) -> None:
    other = await wire.owner.new_task("Other")
    ticket = await wire.ticket()
    assert await wire.outcome(ticket, origin=wire.origin, task=other) == 4401
    assert await wire.outcome(ticket, origin=wire.origin) == 101


async def test_attack_25_a_ticket_lives_thirty_seconds(wire: Wire) -> None:
    early, late = await wire.ticket(), await wire.ticket()
    wire.app.clock.advance(29)
    assert await wire.outcome(early, origin=wire.origin) == 101
    wire.app.clock.advance(2)
    assert await wire.outcome(late, origin=wire.origin) == 4401


async def test_attack_25_what_was_revoked_since_makes_its_ticket_worthless(wire: Wire) -> None:
    script, token = await wire.app.with_bearer(wire.owner)
    by_token = await wire.ticket(who=script)
    tablet = await wire.app.sign_in("owner", "tablet")
    by_device, by_login = await wire.ticket(who=tablet), await wire.ticket()
    session = (await wire.owner.post("/sessions", {})).json["id"]
    by_session = await wire.ticket(session=session)
    bob = await wire.app.sign_in("bob")
    await wire.owner.post(f"/tasks/{wire.task}/members", {"user": "bob", "role": "editor"})
    by_member = await wire.ticket(who=bob)
    await wire.owner.delete(f"/tokens/{token}")
    await wire.owner.delete(f"/devices/{tablet.device}")
    await wire.owner.post(f"/sessions/{session}/end")
    await wire.owner.delete(f"/tasks/{wire.task}/members/{bob.user}")
    await wire.owner.post("/signout")
    for ticket in (by_token, by_device, by_session, by_member, by_login):
        assert await wire.outcome(ticket, origin=wire.origin) == 4401


async def test_a_bearer_opens_as_often_as_it_likes_while_it_lives(wire: Wire) -> None:
    made = await wire.owner.post("/tokens", {"task": wire.task, "role": "editor", "ttl": 60})
    bearer = f"token.{made.json['token']}"
    assert await wire.outcome(bearer) == 101
    assert await wire.outcome(bearer, origin=wire.origin) == 101
    other = await wire.owner.new_task("Other")
    assert await wire.outcome(bearer, task=other) == 4404
    wire.app.clock.advance(61)
    assert await wire.outcome(bearer) == 4401


@pytest.mark.parametrize(
    "credentials", [(), ("ticket.",), ("token.",), ("token.x", "ticket.y"), ("token." + "A" * 43,)]
)
async def test_no_credential_or_a_bad_one_is_told_4401_after_the_upgrade(
    wire: Wire, credentials: tuple[str, ...]
) -> None:
    with_origin = await wire.outcome(*(c.rstrip(".") + ".z" * c.endswith(".") for c in credentials), origin=wire.origin)
    assert with_origin == 4401


async def test_a_cookie_opens_no_socket(wire: Wire) -> None:
    headers = {"cookie": wire.owner.headers["cookie"].replace("clew-8484", f"clew-{wire.port}")}
    socket = await wire.open(origin=wire.origin, headers=headers)
    with pytest.raises(ConnectionClosed) as closed:
        await socket.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401


FOREIGN = ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1", "http://localhost.evil.example"]


@pytest.mark.parametrize("origin", FOREIGN)
async def test_attack_23_a_foreign_page_is_refused_before_the_upgrade_and_its_ticket_not_burned(
    wire: Wire, origin: str
) -> None:
    ticket = await wire.ticket()
    assert await wire.outcome(ticket, origin=origin) == 403
    assert await wire.outcome(ticket, origin=wire.origin) == 101


async def test_a_ticket_without_a_page_is_refused(wire: Wire) -> None:
    assert await wire.outcome(await wire.ticket()) == 403


async def test_attack_24_another_host_name_is_refused_before_the_upgrade(wire: Wire) -> None:
    url = f"ws://evil.example:{wire.port}/sync/{wire.task}"
    with pytest.raises(InvalidStatus) as refused:
        await connect(
            url, host="127.0.0.1", port=wire.port, origin=Origin(f"http://evil.example:{wire.port}"), proxy=None
        )
    assert refused.value.response.status_code == 400


async def test_a_revoked_token_closes_its_open_socket(wire: Wire) -> None:
    made = await wire.owner.post("/tokens", {"role": "editor", "ttl": 600})
    socket = await wire.open(f"token.{made.json['token']}")
    await socket.send(b"\x00\x00\x01\x00")
    await socket.recv()
    assert (await wire.owner.delete(f"/tokens/{made.json['id']}")).status == 204
    with pytest.raises(ConnectionClosed) as closed, anyio.fail_after(20):
        while True:
            await socket.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4403


async def test_a_deleted_task_closes_its_sockets_and_leaves_no_document(wire: Wire) -> None:
    socket = await wire.open(await wire.ticket(), origin=wire.origin)
    await socket.send(b"\x00\x00\x01\x00")
    await socket.recv()
    assert (await wire.owner.delete(f"/tasks/{wire.task}")).status == 204
    with pytest.raises(ConnectionClosed) as closed, anyio.fail_after(20):
        while True:
            await socket.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4404
    script, _ = await wire.app.with_bearer(wire.owner)
    assert (await script.get(f"/tasks/{wire.task}/working-set")).status == 404


async def test_a_lease_is_renewed_by_a_ticket_of_the_same_session_alone(wire: Wire) -> None:
    authentication, clock = wire.app.doors.authentication, wire.app.clock
    session = (await wire.owner.post("/sessions", {})).json["id"]

    async def enter(ticket: str) -> float:
        held = await authentication.of_secret(ticket, wire.task)
        assert held.expires_at is not None and held.session is not None
        clock.advance(100)
        renewed = await authentication.renew((await wire.ticket(session=session)).removeprefix("ticket."), held)
        assert renewed.session == held.session and renewed.expires_at is not None
        return renewed.expires_at - held.expires_at

    assert await enter(await wire.ticket(session=session)) == 100
    held = await authentication.of_secret(await wire.ticket(session=session), wire.task)
    another = (await wire.owner.post("/sessions", {})).json["id"]
    tablet = await wire.app.sign_in("owner", "tablet")
    other = await wire.owner.new_task("Other")
    for ticket in (
        await wire.ticket(session=another), await wire.ticket(who=tablet), await wire.ticket(task=other), "x", "",
    ):  # fmt: skip
        with pytest.raises(Exception, match="Sign in first"):
            await authentication.renew(ticket, held)


async def test_a_tickets_bounds_are_those_of_the_bearer_that_asked(wire: Wire) -> None:
    script, token = await wire.app.with_bearer(wire.owner, Role.VIEWER, life=100)
    who = await wire.app.doors.authentication.of_secret(await wire.ticket(who=script), wire.task)
    assert who.token == token and who.cap == Role.VIEWER and who.expires_at == wire.app.clock.now() + 100


HEAD = b"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET http://evil.example/api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://127.0.0.1/api/v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET //evil.example/x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        HEAD + b"Host: evil.example\r\n\r\n",
        HEAD + b"Host: 127.0.0.1\r\n\r\n",
        b"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1.\r\n\r\n",
        b"GET /api/v1/me HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n",
        b"GET /api/v1/me HTTP/1.1\r\n\r\n",
        b"GET /api/v1/me HTTP/1.0\r\n\r\n",
    ],
)
async def test_attack_24_a_request_that_names_another_host_or_two_is_a_bad_request(wire: Wire, request_: bytes) -> None:
    answer = await wire.raw(request_)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"[closed]"), answer[:200]


async def test_an_honest_request_keeps_its_connection(wire: Wire) -> None:
    answer = await wire.raw((HEAD + b"\r\n") * 2, patience=1)
    assert answer.count(b"HTTP/1.1 401 ") == 2 and not answer.endswith(b"[closed]")


async def test_a_head_has_a_deadline(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_DEADLINE", 0.3)
    for begun in (b"GE", HEAD, HEAD + b"X: y\r\n"):
        assert await wire.raw(begun) == b"[closed]"
    again = await wire.raw(HEAD + b"\r\n" + HEAD)
    assert again.startswith(b"HTTP/1.1 401 ") and again.endswith(b"[closed]")


async def test_attack_42_a_head_has_a_size(wire: Wire) -> None:
    answer = await wire.raw(HEAD + b"X: " + b"y" * protocol.HEAD_LIMIT)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"[closed]")


async def test_a_body_has_a_deadline(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "BODY_DEADLINE", 0.3)
    request = b"POST /api/v1/signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
    answer = await wire.raw(request, patience=3)
    assert answer.startswith(b"HTTP/1.1 422 ") and b"did not arrive" in answer


async def test_a_body_that_was_cut_is_nobodys_error(wire: Wire) -> None:
    stream = await anyio.connect_tcp("127.0.0.1", wire.port)
    await stream.send(b"POST /api/v1/signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
    await stream.aclose()
    assert (await wire.raw(HEAD + b"\r\n", patience=1)).startswith(b"HTTP/1.1 401 ")


async def test_a_kept_connection_has_a_deadline_whatever_trickles_in(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack 38: an empty line, or the rest of a body that nobody reads, is no request."""
    monkeypatch.setattr(protocol, "REST_DEADLINE", 0.3)
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    for rest, trickle in ((b"\r\n", b"\r\n"), (b"Content-Length: 1000\r\n\r\n", b"x"), (chunked, b"1\r\nx\r\n")):
        await until_cut(wire, HEAD + rest, trickle, 0.05)
    for body_ in (b"Content-Length: 1000", b"Transfer-Encoding: chunked"):
        begun = HEAD + b"Connection: upgrade\r\nUpgrade: websocket\r\n" + body_ + b"\r\n\r\n"
        assert (await wire.raw(begun)).startswith(b"HTTP/1.1 400 ")


async def test_what_ends_a_chunked_body_is_not_kept_and_not_read_at_length(wire: Wire) -> None:
    """Attack 42: in a head it would be too long as well."""
    asked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    for trailers in (b"a: b\r\n" * 2_000, b"a: " + b"b" * 10_000):
        await until_cut(wire, asked, trailers, 0)


async def until_cut(wire: Wire, request: bytes, more: bytes, pause: float) -> None:
    """Ask, and go on sending; the server hangs up soon."""
    stream = await anyio.connect_tcp("127.0.0.1", wire.port)
    async with stream:
        await stream.send(request)
        with anyio.fail_after(15), suppress(anyio.BrokenResourceError):
            for _ in range(1_000):
                await stream.send(more)
                await anyio.sleep(pause)
            raise AssertionError("all of it was read")


async def test_attack_42_very_many_headers_or_requests_in_one_go_are_refused(wire: Wire) -> None:
    assert (await wire.raw(HEAD + b"a: b\r\n" * (protocol.MOST_HEADERS - 1) + b"\r\n", 0.5)).startswith(
        b"HTTP/1.1 401 "
    )
    assert (await wire.raw(HEAD + b"a: b\r\n" * protocol.MOST_HEADERS + b"\r\n")).startswith(b"HTTP/1.1 400 ")
    assert (await wire.raw((HEAD + b"\r\n") * protocol.MOST_WAITING, 0.5)).count(b" 401 ") == protocol.MOST_WAITING
    assert (await wire.raw((HEAD + b"\r\n") * 10 * protocol.MOST_WAITING)).endswith(b"[closed]")

"""The door, knocked on from inside: what it makes of a server that is away, slow to mend, or speaks nonsense."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from agent.door import Door, Offer, StopTurn, delay, open_door
from agent.errors import Declined, Unreachable, Unwelcome

Answer = Callable[[httpx2.Request], httpx2.Response]
LEASE = {
    "turn": "t", "task": "k", "attempt": 2, "lease_until": "", "grant": {"token": "g", "expires_at": ""},
    "user": {"id": "u", "name": "ana"}, "agent": {"id": "a", "name": "Helper"}, "messages": ["m"], "answer": "x",
    "named": False, "language": "zh",
}  # fmt: skip


@asynccontextmanager
async def door(answer: Answer) -> AsyncIterator[Door]:
    async with httpx2.AsyncClient(base_url="http://here/api/v1/", transport=httpx2.MockTransport(answer)) as client:
        yield Door(client)


async def test_a_lease_is_read_into_what_a_worker_needs() -> None:
    async with door(lambda request: httpx2.Response(200, json=LEASE)) as knocking:
        begin = await knocking.lease("t")
    assert (begin.attempt, begin.messages, begin.grant, begin.agent, begin.language) == (2, ("m",), "g", "Helper", "zh")


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b'{"turn": "t"}', json.dumps({**LEASE, "grant": None}).encode()]
)
async def test_an_answer_that_cant_be_read_is_as_good_as_none(body: bytes) -> None:
    async with door(lambda request: httpx2.Response(200, content=body)) as knocking:
        with pytest.raises(Unreachable):
            await knocking.lease("t")


@pytest.mark.parametrize(("status", "kind"), [(401, Unwelcome), (403, Unwelcome), (404, Declined), (409, Declined)])
async def test_a_no_is_told_with_its_reason_and_asked_once(status: int, kind: type[Declined]) -> None:
    asked = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(status, json={"code": "conflict", "detail": "Somebody has it."})

    async with door(answer) as knocking:
        with pytest.raises(kind) as declined:
            await knocking.lease("t")
    assert (declined.value.status, declined.value.code, len(asked)) == (status, "conflict", 1)
    assert "Somebody has it." in str(declined.value)


async def test_a_server_that_is_away_for_a_moment_is_asked_again() -> None:
    answers: list[Any] = [httpx2.ConnectError("away"), httpx2.Response(503), httpx2.Response(204)]

    def answer(request: httpx2.Request) -> httpx2.Response:
        now = answers.pop(0)
        if isinstance(now, Exception):
            raise now
        response: httpx2.Response = now
        return response

    async with door(answer) as knocking:
        await knocking.end("t", "done", ("m",), None)
    assert answers == []


async def test_a_server_that_stays_away_is_given_up() -> None:
    async with door(lambda request: httpx2.Response(503)) as knocking:
        with pytest.raises(Unreachable):
            await knocking.renew("t", within=0.3)


async def test_offers_and_stops_are_heard_and_what_else_comes_is_passed_over() -> None:
    stream = (
        b': hello\n\nevent: offer\ndata: {"turn": "t", "task": "k", "attempt": 1}\n\n'
        b'event: weather\ndata: rain\n\nevent: stop\ndata: {"turn": "t"}\n\n'
    )
    headers = {"Content-Type": "text/event-stream"}
    async with door(lambda request: httpx2.Response(200, headers=headers, content=stream)) as knocking:
        async with knocking.offers() as offers:
            assert [news async for news in offers] == [Offer("t", "k"), StopTurn("t")]


async def test_a_stream_that_is_refused_or_breaks_says_so() -> None:
    async with door(lambda request: httpx2.Response(401, json={"code": "unauthenticated"})) as knocking:
        with pytest.raises(Unwelcome):
            async with knocking.offers():
                pass
    headers = {"Content-Type": "text/event-stream"}
    nonsense = b"event: offer\ndata: {}\n\n"
    async with door(lambda request: httpx2.Response(200, headers=headers, content=nonsense)) as knocking:
        with pytest.raises(Unreachable):
            async with knocking.offers() as offers:
                [news async for news in offers]


async def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with open_door("http://127.0.0.1:8484", "secret") as knocking:
        assert not knocking._client._mounts
    async with open_door("http://clew.example", "secret") as knocking:
        assert knocking._client._mounts


def test_waits_grow_and_have_a_bound() -> None:
    assert all(delay(attempt) <= 5 for attempt in range(1, 2000, 37))
    assert max(delay(1) for _ in range(50)) < 0.3

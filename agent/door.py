"""The server's door, as the agent's host knocks on it: offers, leases, renewals, ends.

Owns HTTP: the bearer, time-outs, and how often a request is repeated. Must never put a credential where it could be
read, send it anywhere but to the one server, nor go through a proxy to this machine.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import anyio
import httpx2

from agent.errors import Declined, Unreachable, Unwelcome
from agent.pipe import Begin, Language

LOOPBACK: Final = frozenset(("127.0.0.1", "::1", "localhost"))
ANSWERS_WITHIN: Final = 10.0
SPEAKS_WITHIN: Final = 45.0
"""Seconds without even a comment after which a stream of offers is taken for dead; the server comments every 15."""
FIRST_DELAY: Final = 0.1
LONGEST_DELAY: Final = 5.0
TRIES_FOR: Final = 5.0
"""Seconds for which a request is repeated that meets no server, or one that can't now."""
ENDS_FOR: Final = 60.0
"""The same for the word that a turn is over: the server may be starting anew, and would have it answered again."""
PASSING: Final = frozenset((429, 500, 502, 503, 504))


@dataclass(frozen=True, slots=True)
class Offer:
    """A turn that waits for an agent."""

    turn: str
    task: str


@dataclass(frozen=True, slots=True)
class StopTurn:
    """A person stopped a turn."""

    turn: str


News: TypeAlias = Offer | StopTurn
Outcome: TypeAlias = Literal["done", "failed", "released"]


@dataclass(frozen=True, slots=True)
class Renewal:
    """The answer to a renewal. ``grant`` is a new bearer, if it changed; ``messages`` wait for an answer."""

    stop: bool
    messages: tuple[str, ...]
    grant: str | None


class Door:
    """Made by ``open_door``. All methods raise Unreachable, Declined or Unwelcome."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    @asynccontextmanager
    async def offers(self) -> AsyncIterator[AsyncIterator[News]]:
        """One connection's stream of offers: entered once the server has accepted, ends when it ends."""
        timeout = httpx2.Timeout(ANSWERS_WITHIN, read=SPEAKS_WITHIN)
        what = "the server can't be reached"
        try:
            async with self._client.sse("turns/offers", timeout=timeout) as source:
                if source.response.status_code != 200:
                    await source.response.aread()
                    raise _declined(source.response)
                what = "the offers ended"
                yield _news(source)
        except httpx2.HTTPError as error:
            raise Unreachable(f"{what}: {type(error).__name__}") from None

    async def lease(self, turn: str) -> Begin:
        """Take a turn. Declined 409 if it is taken or over."""
        said = await self._ask("POST", f"turns/{turn}/lease", {})
        with _reading("a lease"):
            return Begin(
                turn=str(said["turn"]),
                task=str(said["task"]),
                attempt=int(said["attempt"]),
                messages=_ids(said["messages"]),
                answer=str(said["answer"]),
                grant=str(said["grant"]["token"]),
                agent=str(said["agent"]["name"]),
                user=str(said["user"]["name"]),
                named=bool(said["named"]),
                language=said["language"] if said.get("language") in get_args(Language) else None,
            )

    async def renew(self, turn: str, within: float = TRIES_FOR) -> Renewal:
        """Keep a turn. Declined 409 if it is ours no more."""
        said = await self._ask("POST", f"turns/{turn}/renew", {}, within=within)
        with _reading("a renewal"):
            return Renewal(bool(said["stop"]), _ids(said["messages"]), said["grant"].get("token"))

    async def end(
        self, turn: str, outcome: Outcome, covered: tuple[str, ...], why: str | None, answer: str | None = None
    ) -> None:
        """Give a turn back, answered or not; ``answer`` if it was not written where it was to be."""
        body: dict[str, Any] = {"outcome": outcome, "covered": list(covered)}
        body |= {name: value for name, value in (("why", why), ("answer", answer)) if value}
        await self._ask("POST", f"turns/{turn}/end", body, within=ENDS_FOR)

    async def propose_name(self, task: str, name: str, grant: str) -> None:
        """Propose a name for a task, by the turn's grant. Declined 409 if a person has named it."""
        await self._ask("PUT", f"tasks/{task}/proposed-name", {"name": name}, bearer=grant)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        *,
        bearer: str | None = None,
        within: float = TRIES_FOR,
    ) -> Any:
        """One request, repeated while the server is away; all of ours mean the same when they are repeated."""
        headers = None if bearer is None else {"Authorization": f"Bearer {bearer}"}
        give_up = anyio.current_time() + within
        for attempt in itertools.count(1):
            try:
                answer = await self._client.request(method, path, json=body, headers=headers)
            except httpx2.TransportError as error:
                why = type(error).__name__
            else:
                if answer.is_success:
                    with _reading("an answer"):
                        return json.loads(answer.content or b"null")
                if answer.status_code not in PASSING:
                    raise _declined(answer)
                why = str(answer.status_code)
            pause = delay(attempt)
            if anyio.current_time() + pause > give_up:
                raise Unreachable(f"the server does not answer ({why})")
            await anyio.sleep(pause)


@asynccontextmanager
async def open_door(server: str, bearer: str) -> AsyncIterator[Door]:
    """The door of the server at ``server`` (its URL without ``/api/v1``) for who holds ``bearer``."""
    async with httpx2.AsyncClient(
        base_url=f"{server.rstrip('/')}/api/v1/",
        headers={"Authorization": f"Bearer {bearer}"},
        timeout=ANSWERS_WITHIN,
        trust_env=urlsplit(server).hostname not in LOOPBACK,
        follow_redirects=False,
    ) as client:
        yield Door(client)


def delay(attempt: int) -> float:
    """Seconds before that attempt (1 is the first repetition): drawn, so that many agents don't return as one."""
    return random.uniform(0.5, 1.0) * min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt, 10))


async def _news(source: httpx2.EventSource) -> AsyncIterator[News]:
    async for event in source:
        if event.event == "offer":
            with _reading("an offer"):
                said: Any = json.loads(event.data)
                yield Offer(str(said["turn"]), str(said["task"]))
        elif event.event == "stop":
            with _reading("a stop"):
                said = json.loads(event.data)
                yield StopTurn(str(said["turn"]))


class _reading:
    """What the server says is of the shape that it promised, or it is not our server."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (ValueError, KeyError, TypeError, AttributeError)):
            raise Unreachable(f"the server sends {self._what} that can't be read") from None


def _ids(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value)


def _declined(answer: httpx2.Response) -> Declined:
    try:
        problem = answer.json()
        code, why = str(problem.get("code", "")), str(problem.get("detail") or problem.get("title") or "")
    except (ValueError, AttributeError):
        code = why = ""
    kind = Unwelcome if answer.status_code in (401, 403) else Declined
    return kind(answer.status_code, code, why)

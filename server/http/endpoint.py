"""One route as a row of a table: the same row registers it, validates its input and documents it.

Owns authentication, path ids and validation around every handler, and the answer to whatever a handler raises. Must
never decide who may do what: handlers ask Authority.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from crdt_docs.ids import is_id
from server.domain.access import Principal
from server.domain.errors import ClewError, Code, Invalid, NotFound, Unauthenticated
from server.domain.proof import Target
from server.doors.authority import Door, require_door, require_steady
from server.doors.proofs import target_of
from server.http.body import read_form, read_json, read_query
from server.http.problems import respond

PREFIX: Final = "/api/v1"
Method = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]


class Input(BaseModel):
    """What a request may bring: nothing else is let in, so that no field can be assigned that is not offered."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Input):
    """No input."""


class Answer(BaseModel):
    """What a request gets."""

    model_config = ConfigDict(frozen=True)


class Authenticates(Protocol):
    """What endpoints need of the door: who asks. Raises Unauthenticated."""

    async def of_request(self, headers: Headers, target: Target | None = None) -> Principal:
        """Find out who is asking, and for what."""
        ...

    def nonce(self) -> str:
        """What the next proof has to repeat."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way to a handler. ``ids`` are the path's, already known to be canonical UUIDs."""

    request: Request
    ids: Mapping[str, str]
    asked_by: Principal | None

    @property
    def principal(self) -> Principal:
        """Who asks; raises Unauthenticated on an endpoint that is open to anyone and was asked by nobody known."""
        if self.asked_by is None:
            raise Unauthenticated
        return self.asked_by

    @property
    def base(self) -> str:
        """The address of this server as whoever asks knows it; the gate has judged the host (``doors/origin.py``)."""
        return f"{self.request.url.scheme}://{self.request.headers['host']}"


In = TypeVar("In", bound=Input)


@dataclass(frozen=True)
class Endpoint(Generic[In]):
    """A row. ``path`` stands below PREFIX; ``takes`` is read from the query for GET and DELETE, else from the body.

    ``gives`` is the model of the answer; None for none (204) or, with ``media``, for a file of those types.
    ``errors`` are the codes beyond ``unauthenticated`` and ``invalid`` that it may answer. ``door`` says who is let in:
    an agent comes no further than where a row names it. ``form``: the body is a form's, as OAuth has it.
    ``reads``: whoever has had to step down to reading may do it, whatever its method. A row that is open to anyone asks
    ``require_steady`` itself, unless it is a way in.
    """

    method: Method
    path: str
    handle: Callable[[Call, In], Awaitable[BaseModel | Response | None]]
    takes: type[In]
    gives: type[BaseModel] | None
    summary: str
    status: int = 200
    errors: tuple[Code, ...] = ()
    door: Door = "principal"
    media: tuple[str, ...] = ()
    form: bool = False
    reads: bool = False


Row: TypeAlias = Endpoint[Any]


def mount(rows: Sequence[Row], door: Authenticates) -> list[BaseRoute]:
    """Starlette routes for the rows, one for each path, and a last one that answers for every other path."""
    paths: dict[str, dict[str, Row]] = {}
    for row in rows:
        methods = paths.setdefault(row.path, {})
        if row.method in methods:
            raise ValueError(f"{row.method} {row.path} is there twice")
        methods[row.method] = row
    ordered = sorted(paths, key=lambda path: path.count("{"))  # words before ids, so that no id can hide a word
    routes: list[BaseRoute] = [Route(PREFIX + path, _Path(paths[path], door)) for path in ordered]
    return [*routes, Route(PREFIX + "/{rest:path}", _Path({}, door))]


class _Path:
    """All methods of one path, as an ASGI application."""

    def __init__(self, rows: Mapping[str, Row], door: Authenticates) -> None:
        self._rows = rows
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClewError as error:
            response = respond(error)
        if "dpop" in request.headers:
            response.headers["dpop-nonce"] = self._door.nonce()
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if not self._rows:
            raise NotFound
        row = self._rows.get("GET" if request.method == "HEAD" else request.method)
        if row is None:
            allow = {"Allow": ", ".join(self._rows)}
            return respond(Invalid("This path has no such method."), status=405, headers=allow)
        asked_by = None
        if row.door != "anyone":
            asked_by = await self._door.of_request(request.headers, target_of(request))
            require_door(asked_by, row.door)
            if not row.reads and row.method != "GET":
                require_steady(asked_by)
        ids = {name: str(value) for name, value in request.path_params.items()}
        if not all(map(is_id, ids.values())):
            raise NotFound
        return _respond(row, await row.handle(Call(request, ids, asked_by), await _read(request, row)))


async def _read(request: Request, row: Row) -> Input:
    if row.method in ("GET", "DELETE"):
        asked: Input = read_query(request, row.takes)
        return asked
    given: Input = await (read_form if row.form else read_json)(request, row.takes)
    return given


def _respond(row: Row, answer: BaseModel | Response | None) -> Response:
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status_code=204)
    return Response(answer.model_dump_json(by_alias=True), row.status, media_type="application/json")

"""Errors as responses. Owns how what was raised is answered; must never echo an input or a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from server.domain.errors import ClewError, Invalid, TooOften, Unauthenticated, Unavailable
from server.domain.problem import PROBLEM_TYPE, Fault, problem
from server.doors.proofs import Unproven

_FIELD: Final = re.compile(r"[a-z][a-z0-9_]{0,30}|\d{1,6}")


class Faulty(Invalid):
    """An input that its model refuses; ``faults`` says where and why."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("The request is not what the contract says.")
        self.faults = tuple(faults)


def faulty(error: ValidationError, place: str) -> Faulty:
    """Turn pydantic's findings into faults, without the values that were found."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    faults = [(".".join([place, *map(_named, one["loc"])]), one["msg"]) for one in found[:20]]
    return Faulty([Fault(at=at, why=why.removeprefix("Value error, ")) for at, why in faults])


def _named(part: int | str) -> str:
    """A step on the way to a fault, if it can be a field of ours: an unknown one may be anything, a secret too."""
    return str(part) if _FIELD.fullmatch(str(part)) else "?"


async def crashed(request: Request, error: Exception) -> Response:
    """What an unforeseen error is answered with, as an exception handler of the application; it is logged, not told."""
    told = problem(Unavailable("Something went wrong on the server; its operator's log says more."), status=500)
    return Response(json.dumps(told), 500, media_type=PROBLEM_TYPE)


def respond(error: ClewError, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The problem document of an error. An unknown and a foreign id give the very same bytes."""
    faults = error.faults if isinstance(error, Faulty) else ()
    if isinstance(error, TooOften):
        status = 429
    told = problem(error, status=status, faults=faults)
    response = Response(json.dumps(told, ensure_ascii=False), told["status"], headers, media_type=PROBLEM_TYPE)
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = 'Bearer realm="clew"'
    if isinstance(error, Unproven):
        response.headers["WWW-Authenticate"] = 'DPoP error="use_dpop_nonce", algs="ES256"'
        response.headers["DPoP-Nonce"] = error.nonce
    if isinstance(error, Unavailable):
        response.headers["Retry-After"] = str(ceil(error.wait)) if isinstance(error, TooOften) else "1"
    return response

"""How an error is told over HTTP: problem details (RFC 9457) with a stable ``code``. Must never carry what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NotRequired, TypedDict

from server.domain.errors import STATUS, ClewError, Code

PROBLEM_TYPE: Final = "application/problem+json"


class Fault(TypedDict):
    """One place in an input that is not as the contract says: a path like ``body.name``, and why."""

    at: str
    why: str


class Problem(TypedDict):
    """The members of a problem document. ``code`` is one of seven and is what programs should look at; ``reason`` says
    which rule it was, where there is more than one."""

    type: str
    title: str
    status: int
    code: Code
    detail: str
    reason: NotRequired[str]
    errors: NotRequired[list[Fault]]


def problem(error: ClewError, *, status: int | None = None, faults: Sequence[Fault] = ()) -> Problem:
    """Tell the error; ``status`` overrides the code's own where HTTP has a more exact one (400, 405)."""
    number = STATUS[error.code] if status is None else status
    told = Problem(
        type="about:blank", title=HTTPStatus(number).phrase, status=number, code=error.code, detail=error.why
    )
    if error.reason is not None:
        told["reason"] = error.reason
    if faults:
        told["errors"] = list(faults)
    return told

"""Reading what a request brings. Owns its bounds in bytes and seconds; must never hold more than the bound."""

from __future__ import annotations

from typing import Final, TypeVar
from urllib.parse import parse_qsl

import anyio
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from server.domain.errors import Invalid, TooLarge, Unavailable
from server.http.problems import faulty

JSON_LIMIT: Final = 1 << 20
BODY_DEADLINE: Final = 10.0

Model = TypeVar("Model", bound=BaseModel)


async def read_json(request: Request, model: type[Model]) -> Model:
    """The body as the model; an absent body counts as ``{}``. Raises Invalid or TooLarge."""
    raw = await read_bytes(request, JSON_LIMIT)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if raw and kind != "application/json":
        raise Invalid("The body must be JSON, with Content-Type: application/json.")
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise faulty(error, "body") from None


async def read_form(request: Request, model: type[Model]) -> Model:
    """A form's body as the model. Parameters that it does not know are ignored, as OAuth wants it. Raises the same."""
    raw = await read_bytes(request, JSON_LIMIT)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Invalid("The body must be a form, with Content-Type: application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=100)
        if len({name for name, _ in pairs}) < len(pairs):
            raise Invalid("A form gives each parameter once.")
        return model.model_validate_strings({n: v for n, v in pairs if n in model.model_fields})
    except ValidationError as error:
        raise faulty(error, "body") from None
    except ValueError:
        raise Invalid("The body is no form.") from None


def read_query(request: Request, model: type[Model]) -> Model:
    """The query string as the model. Parameters that it does not know are ignored. Raises Invalid."""
    given = {name: value for name, value in request.query_params.items() if name in model.model_fields}
    try:
        return model.model_validate_strings(given)
    except ValidationError as error:
        raise faulty(error, "query") from None


async def read_bytes(request: Request, limit: int) -> bytes:
    """The body, up to ``limit`` bytes within BODY_DEADLINE seconds. Raises TooLarge, Invalid, or Unavailable if cut."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"The body may have at most {limit} bytes.")
    raw = bytearray()
    try:
        with anyio.fail_after(BODY_DEADLINE):
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > limit:
                    raise TooLarge(f"The body may have at most {limit} bytes.")
    except TimeoutError:
        raise Invalid(f"The body did not arrive within {BODY_DEADLINE:.0f} seconds.") from None
    except ClientDisconnect:
        raise Unavailable("The connection ended before the body did.") from None
    return bytes(raw)

"""The OpenAPI 3.1 document, made from the rows that serve. Must never describe what no row does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, get_args

from anyio import to_thread
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from server.domain.errors import STATUS, Code
from server.domain.problem import PROBLEM_TYPE
from server.http.endpoint import PREFIX, Answer, Call, Endpoint, Nothing, Row

Document = dict[str, Any]
Refs = Mapping[Any, Document]
_REF: Final = "#/components/schemas/{model}"
_COOKIE: Final = (
    "A browser's login. Where its device has a key, each request also needs a proof by that key in `DPoP` (RFC 9449)."
)


class ProblemFault(Answer):
    """Where an input is not as the contract says, and why."""

    at: str
    why: str


class ProblemAnswer(Answer):
    """RFC 9457 problem details; ``code`` is what programs should look at, ``reason`` says which rule it was."""

    type: str
    title: str
    status: int
    code: Code
    detail: str
    reason: str | None = None
    errors: list[ProblemFault] | None = None


def routes(rows: Sequence[Row], version: str) -> list[Row]:
    """The endpoint that serves the document of the given rows and of itself; it is made when first asked for."""

    @cache
    def document() -> bytes:
        return json.dumps(describe([*rows, own], version)).encode()

    async def show(call: Call, _: Nothing) -> Response:
        return Response(await to_thread.run_sync(document), media_type="application/json")

    own = Endpoint(
        "GET", "/openapi.json", show, Nothing, None, "This document.", door="anyone", media=("application/json",)
    )
    return [own]


def describe(rows: Sequence[Row], version: str) -> Document:
    """The whole document."""
    taken = {row.takes for row in rows if row.method not in ("GET", "DELETE") and row.takes is not Nothing}
    given = {row.gives for row in rows if row.gives is not None}
    models = sorted(taken, key=lambda model: model.__name__), sorted(given | {ProblemAnswer}, key=lambda m: m.__name__)
    names, schema = models_json_schema(
        [*((model, "validation") for model in models[0]), *((model, "serialization") for model in models[1])],
        ref_template=_REF,
    )
    refs = {model: ref for (model, _), ref in names.items()}
    paths: dict[str, Document] = {}
    for row in rows:
        paths.setdefault(PREFIX + row.path, {})[row.method.lower()] = _operation(row, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Clew",
            "version": version,
            "summary": "Tasks, the sessions that work on them, and what those share.",
        },
        "paths": paths,
        "components": {
            "schemas": schema.get("$defs", {}),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A token made by `clew token create`."},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "clew-8484", "description": _COOKIE},
            },
        },
        "security": [{"bearer": []}, {"cookie": []}],
    }


def _operation(row: Row, refs: Refs) -> Document:
    told: Document = {"summary": row.summary, "operationId": _name(row), "tags": [row.path.split("/")[1]]}
    if row.door == "anyone":
        told["security"] = []
    told["parameters"] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
        for name in re.findall(r"{(\w+)}", row.path)
    ]
    if row.method in ("GET", "DELETE"):
        told["parameters"] += _query(row)
    elif row.takes is not Nothing:
        needed = any(field.is_required() for field in row.takes.model_fields.values())
        kind = "application/x-www-form-urlencoded" if row.form else "application/json"
        told["requestBody"] = {"required": needed, "content": {kind: {"schema": refs[row.takes]}}}
    told["responses"] = _responses(row, refs)
    return told


def _query(row: Row) -> list[Document]:
    schema = row.takes.model_json_schema(mode="validation")
    needed = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": part}
        for name, part in schema.get("properties", {}).items()
    ]


def _responses(row: Row, refs: Refs) -> Document:
    if row.gives is not None:
        good: Document = {"description": "As asked.", "content": {"application/json": {"schema": refs[row.gives]}}}
        told = {str(row.status): good}
    elif row.media:
        what = "The stream." if row.media == ("text/event-stream",) else "The file."
        told = {"200": {"description": what, "content": {kind: {} for kind in row.media}}}
    else:
        told = {"204": {"description": "Done."}}
    codes: set[Code] = {"invalid", *row.errors, *(("unauthenticated", "forbidden") if row.door != "anyone" else ())}
    problem = {PROBLEM_TYPE: {"schema": refs[ProblemAnswer]}}
    for code in sorted(codes, key=get_args(Code).index):
        told[str(STATUS[code])] = {"description": code, "content": problem}
    return told


def _name(row: Row) -> str:
    words = re.sub(r"{(\w+)}", r"by_\1", row.path).replace("/", "_").replace("-", "_").replace(".", "_")
    return f"{row.method.lower()}{words}"

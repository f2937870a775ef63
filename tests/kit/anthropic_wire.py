"""Anthropic's messages, streamed, on 127.0.0.1, by a script.

Owns the wire as its reference documents it: what a request may hold, and the events of an answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from kit.model_script import KEY, Answer, Call, Error, Form, Json, Refused, Step, Wire, header, listening, pieces
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.types import Scope

VERSION = "2026-10-21"
"""The version of the wire; it takes no sampling parameters any more."""
Emit = Callable[[bytes], Awaitable[None]]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Cache(Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class Text(Strict):
    type: Literal["text"]
    text: Annotated[str, Field(pattern=r"\S")]
    cache_control: Cache | None = None


class ToolUse(Strict):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: str
    input: dict[str, Any]
    cache_control: Cache | None = None


class ToolResult(Strict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str | list[Text]
    is_error: bool | None = None
    cache_control: Cache | None = None


Block = Annotated[Text | ToolUse | ToolResult, Field(discriminator="type")]


class Message(Strict):
    role: Literal["user", "assistant"]
    content: Annotated[str, Field(pattern=r"\S")] | Annotated[list[Block], Field(min_length=1)]


class ToolOffer(Strict):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None
    type: Literal["custom"] | None = None
    cache_control: Cache | None = None


class Choice(Strict):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Format(Strict):
    type: Literal["json_schema"]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class OutputConfig(Strict):
    format: Format | None = None
    effort: str | None = None


class Request(Strict):
    model: str
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: Literal[True]
    system: str | list[Text] | None = None
    tools: Annotated[list[ToolOffer], Field(min_length=1)] | None = None
    tool_choice: Choice | None = None
    output_config: OutputConfig | None = None


_REQUEST = TypeAdapter(Request)
_UNSUPPORTED = ("maxLength", "minLength", "maximum", "minimum", "pattern", "maxItems")


def check(scope: Scope, body: Json) -> None:
    """Raise what the service would answer with an error."""
    if KEY != header(scope, "x-api-key") and f"Bearer {KEY}" != header(scope, "authorization"):
        raise Refused(401, "the key")
    if header(scope, "anthropic-version") != VERSION:
        raise Refused(400, "anthropic-version: header is required")
    request = _REQUEST.validate_python(body)
    if request.messages[0].role != "user":
        raise Refused(400, "messages: first message must use the user role")
    if request.tool_choice and not request.tools:
        raise Refused(400, "tool_choice may only be specified while providing tools")
    _check_calls(request)
    if json.dumps(body).count('"cache_control": {') > 4:
        raise Refused(400, "a maximum of 4 blocks with cache_control may be provided")
    if request.output_config and request.output_config.format:
        _check_schema(request.output_config.format.schema_)


def _check_calls(request: Request) -> None:
    """Each tool_use has its tool_result at the beginning of the next message."""
    owed: set[str] = set()
    for message in request.messages:
        blocks = message.content if isinstance(message.content, list) else []
        given = {block.tool_use_id for block in blocks if isinstance(block, ToolResult)}
        if given != owed:
            raise Refused(400, "tool_use ids were found without tool_result blocks immediately after, or the reverse")
        owed = {block.id for block in blocks if isinstance(block, ToolUse)}
        if (given and message.role != "user") or (owed and message.role != "assistant"):
            raise Refused(400, "a block of the other role")
    if owed:
        raise Refused(400, "tool_use ids were found without tool_result blocks immediately after")


def _check_schema(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            raise Refused(400, "output_format.schema: For 'object' type, 'additionalProperties' must be false")
        if "type" in schema and (strange := [name for name in _UNSUPPORTED if name in schema]):
            raise Refused(400, f"output_format.schema: {strange} not supported")
        for value in schema.values():
            _check_schema(value)
    elif isinstance(schema, list):
        for value in schema:
            _check_schema(value)


def error(status: int, says: str) -> Json:
    """An error's body."""
    kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error"}
    return {
        "type": "error",
        "error": {"type": kinds.get(status, "invalid_request_error"), "message": says},
        "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
    }


async def play(step: Step, request: Json, emit: Emit) -> None:
    """One answer, event by event."""
    match step:
        case Answer():
            await _say(step, request, emit)
        case Form() if "output_config" in request:
            await _say(Answer((step.text[:9], step.text[9:]), tokens=step.tokens), request, emit)
        case Form():
            (tool,) = request["tools"]
            await _call(Call(((tool["name"], step.text),), tokens=step.tokens), request, emit)
        case Call():
            await _call(step, request, emit)
        case Error():
            raise AssertionError("an error is no stream")


async def _say(step: Answer, request: Json, emit: Emit) -> None:
    first = True

    async def piece(text: str) -> None:
        nonlocal first
        if first:
            await _begin(step.tokens, request, emit)
            await emit(_event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
            await emit(_event("ping"))
            first = False
        await emit(_event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}))

    overloaded = {"type": "overloaded_error", "message": f"Overloaded, {KEY}"}
    await pieces(
        step,
        piece,
        garble=lambda: emit(b'event: content_block_delta\ndata: {"type":"content_blo\n\n'),
        fail=lambda: emit(_event("error", error=overloaded)),
    )
    if first:
        await _begin(step.tokens, request, emit)
    else:
        await emit(_event("content_block_stop", index=0))
    reasons = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}
    await _end(reasons[step.ends], step.tokens, emit)


async def _call(step: Call, request: Json, emit: Emit) -> None:
    await _begin(step.tokens, request, emit)
    if step.text:
        await emit(_event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        await emit(_event("content_block_delta", index=0, delta={"type": "text_delta", "text": step.text}))
        await emit(_event("content_block_stop", index=0))
    for index, (name, arguments) in enumerate(step.calls, bool(step.text)):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        await emit(_event("content_block_start", index=index, content_block=block))
        for part in ("", text[:7], text[7:]):
            delta = {"type": "input_json_delta", "partial_json": part}
            await emit(_event("content_block_delta", index=index, delta=delta))
        await emit(_event("content_block_stop", index=index))
    await _end("tool_use", step.tokens, emit)


async def _begin(tokens: tuple[int, int], request: Json, emit: Emit) -> None:
    usage = {"input_tokens": tokens[0], "output_tokens": 1}
    await emit(
        _event(
            "message_start",
            message={
                "id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": request["model"],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": usage,
            },
        )
    )


async def _end(reason: str, tokens: tuple[int, int], emit: Emit) -> None:
    delta = {"stop_reason": reason, "stop_sequence": None}
    await emit(_event("message_delta", delta=delta, usage={"output_tokens": tokens[1]}))
    await emit(_event("message_stop"))


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


@asynccontextmanager
async def anthropic_wire() -> AsyncIterator[Wire]:
    """The wire, listening; its ``url`` is what goes into CLEW_MODEL_URL."""
    wire = Wire(check, play, error, "/v1/messages")
    async with listening(wire) as address:
        wire.url = address
        yield wire

"""OpenAI's chat completions, streamed, on 127.0.0.1, by a script.

Owns the wire as its reference documents it: what a request may hold, and the chunks of an answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from kit.model_script import KEY, Answer, Call, Error, Form, Json, Refused, Step, Wire, header, listening, pieces
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.types import Scope

Emit = Callable[[bytes], Awaitable[None]]
_ID = "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TextPart(Strict):
    type: Literal["text"]
    text: Annotated[str, Field(min_length=1)]


class System(Strict):
    role: Literal["system", "developer"]
    content: str


class User(Strict):
    role: Literal["user"]
    content: str | Annotated[list[TextPart], Field(min_length=1)]


class Function(Strict):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    arguments: str


class ToolCall(Strict):
    id: str
    type: Literal["function"]
    function: Function


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | None = None
    tool_calls: Annotated[list[ToolCall], Field(min_length=1)] | None = None


class Tool(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


class Described(Strict):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any]
    strict: bool | None = None


class ToolOffer(Strict):
    type: Literal["function"]
    function: Described


class JsonSchema(Strict):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
    description: str | None = None
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Strict):
    type: Literal["json_schema"]
    json_schema: JsonSchema


class StreamOptions(Strict):
    include_usage: bool = False


class Request(Strict):
    model: str
    messages: Annotated[
        list[Annotated[System | User | Assistant | Tool, Field(discriminator="role")]], Field(min_length=1)
    ]
    stream: Literal[True]
    stream_options: StreamOptions | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    tools: Annotated[list[ToolOffer], Field(min_length=1, max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None


_REQUEST = TypeAdapter(Request)


def check(scope: Scope, body: Json) -> None:
    """Raise what the service would answer with an error."""
    if header(scope, "authorization") != f"Bearer {KEY}":
        raise Refused(401, "the key")
    request = _REQUEST.validate_python(body)
    if request.max_tokens and request.max_completion_tokens:
        raise Refused(400, "max_tokens and max_completion_tokens")
    if request.tool_choice and not request.tools:
        raise Refused(400, "tool_choice is only allowed when tools are specified")
    _check_calls(request)
    for schema in _strict_schemas(request):
        _check_strict(schema)


def _check_calls(request: Request) -> None:
    """Each call is answered right after it, and nothing else is."""
    owed: set[str] = set()
    for message in request.messages:
        if isinstance(message, Tool):
            if message.tool_call_id not in owed:
                raise Refused(400, "a tool message without its call")
            owed.discard(message.tool_call_id)
        elif owed:
            raise Refused(400, "tool_calls must be followed by tool messages")
        elif isinstance(message, Assistant):
            if message.content is None and not message.tool_calls:
                raise Refused(400, "an assistant's message needs content or tool_calls")
            owed = {call.id for call in message.tool_calls or ()}
    if owed:
        raise Refused(400, "tool_calls must be followed by tool messages")


def _strict_schemas(request: Request) -> list[Json]:
    found = [tool.function.parameters for tool in request.tools or () if tool.function.strict]
    if request.response_format and request.response_format.json_schema.strict:
        found.append(request.response_format.json_schema.schema_)
    return found


def _check_strict(schema: Any) -> None:
    """Structured outputs: every object closed, every property required."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            if schema.get("additionalProperties") is not False:
                raise Refused(400, "'additionalProperties' is required to be supplied and to be false")
            if set(schema.get("required", ())) != set(schema.get("properties", ())):
                raise Refused(400, "'required' must include every key in properties")
        for value in schema.values():
            _check_strict(value)
    elif isinstance(schema, list):
        for value in schema:
            _check_strict(value)


def error(status: int, says: str) -> Json:
    """An error's body."""
    kinds = {401: "invalid_request_error", 429: "rate_limit_exceeded", 500: "server_error"}
    codes = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
    kind = kinds.get(status, "invalid_request_error")
    return {"error": {"message": says, "type": kind, "param": None, "code": codes.get(status)}}


async def play(step: Step, request: Json, emit: Emit) -> None:
    """One answer, chunk by chunk."""
    match step:
        case Answer():
            await _say(step, request, emit)
        case Form():
            if "response_format" not in request:
                raise AssertionError("no form was asked for")
            await _say(Answer((step.text[:9], step.text[9:]), tokens=step.tokens), request, emit)
        case Call():
            await _call(step, request, emit)
        case Error():
            raise AssertionError("an error is no stream")


async def _say(step: Answer, request: Json, emit: Emit) -> None:
    first = True

    async def piece(text: str) -> None:
        nonlocal first
        if first:
            await emit(_chunk(request, {"role": "assistant", "content": "", "refusal": None}))
            first = False
        await emit(_chunk(request, {"refusal" if step.ends == "refusal" else "content": text}))

    await pieces(
        step,
        piece,
        garble=lambda: emit(b'data: {"id":"chatcmpl-\n\n'),
        fail=lambda: emit(_data(error(500, f"The server had an error, {KEY}"))),
    )
    await emit(_chunk(request, {}, "length" if step.ends == "length" else "stop"))
    await _end(step.tokens, request, emit)


async def _call(step: Call, request: Json, emit: Emit) -> None:
    await emit(_chunk(request, {"role": "assistant", "content": step.text or None, "refusal": None}))
    for index, (name, arguments) in enumerate(step.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        await emit(_chunk(request, {"tool_calls": [head]}))
        for part in (text[:7], text[7:]):
            await emit(_chunk(request, {"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
    await emit(_chunk(request, {}, "tool_calls"))
    await _end(step.tokens, request, emit)


async def _end(tokens: tuple[int, int], request: Json, emit: Emit) -> None:
    if (request.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        await emit(_data({**_head(request), "choices": [], "usage": usage}))
    await emit(b"data: [DONE]\n\n")


def _head(request: Json) -> Json:
    return {"id": _ID, "object": "chat.completion.chunk", "created": 1_741_569_952, "model": request["model"]}


def _chunk(request: Json, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _data({**_head(request), "choices": [choice], "usage": None})


def _data(value: Json) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@asynccontextmanager
async def openai_wire() -> AsyncIterator[Wire]:
    """The wire, listening; its ``url`` is what goes into CLEW_MODEL_URL."""
    wire = Wire(check, play, error, "/v1/chat/completions")
    async with listening(wire) as address:
        wire.url = f"{address}/v1"
        yield wire

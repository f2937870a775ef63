"""The requests of one turn to one model.

Owns time-outs, retries, the going on after a cut, and the account. Must never ask again once something was said, except
to go on from there once; and must let a cancellation through at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, replace
from typing import Final

import anyio
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings

from agent.models.errors import Failed, Remedy
from agent.models.failures import failure
from agent.models.joint import Joint, tail
from agent.models.limits import Account, Limits
from agent.models.material import estimate
from agent.models.prompt import gone_on

_FIRST_WAIT: Final = 0.5
_DECLINED: Final = "The model declined to answer."
_TOO_LONG: Final = "The model's answer was longer than it may be."
_CUT: Final = "The model's answer broke off."
_SLOW: Final = "The model did not answer in time."
_OVER: Final = "The model took longer than a turn may take."


@dataclass(frozen=True, slots=True)
class Asked:
    """What one request says; ``tokens`` is about how much that is."""

    messages: Sequence[ModelMessage]
    parameters: ModelRequestParameters
    tokens: int


class Exchange:
    """``asked`` and ``response`` are of the last request that came to its end."""

    def __init__(self, model: Model, limits: Limits, settings: ModelSettings) -> None:
        self._model = model
        self._limits = limits
        self._settings = settings
        self._account = Account(limits)
        self._deadline = anyio.current_time() + limits.turn
        self.asked = Asked((), ModelRequestParameters(), 0)
        self.response = ModelResponse(parts=[])

    async def say(self, asked: Asked, begun: str = "") -> AsyncGenerator[str]:
        """The text of an answer as it comes, going on from ``begun``, and once from where the stream is cut."""
        said = begun
        for last in (False, True):
            joint = Joint(said)
            try:
                async with aclosing(self._tries(_going_on(asked, said))) as texts:
                    async for text in texts:
                        if new := joint.feed(text):
                            said += new
                            yield new
                if new := joint.end():
                    yield new
                return
            except Failed as failed:
                if last or failed.remedy != "go on":
                    raise

    async def complete(self, asked: Asked) -> ModelResponse:
        """A whole response of which no part is shown before it is there."""
        for last in (False, True):
            try:
                async with aclosing(self._tries(asked)) as texts:
                    async for _ in texts:
                        pass
                break
            except Failed as failed:
                if last or failed.remedy != "go on":
                    raise
        return self.response

    async def _tries(self, asked: Asked) -> AsyncGenerator[str]:
        """One response's text. A request that failed before its first word is made again, some times."""
        for left in range(self._limits.retries, -1, -1):
            some = False
            try:
                async with aclosing(self._request(asked)) as texts:
                    async for text in texts:
                        some = True
                        yield text
                return
            except Failed as failed:
                if some and failed.remedy == "again":
                    raise Failed(failed.why, "go on") from None
                if some or failed.remedy == "none" or not left:
                    raise
                await self._wait(failed, self._limits.retries - left)

    async def _wait(self, failed: Failed, times: int) -> None:
        seconds = _FIRST_WAIT * 2**times if failed.after is None else failed.after
        if seconds > self._limits.longest_wait or anyio.current_time() + seconds > self._deadline:
            raise Failed(failed.why) from None
        await anyio.sleep(seconds)

    async def _request(self, asked: Asked) -> AsyncGenerator[str]:
        """One request: its text as it comes, then ``response``. Raises nothing but Failed."""
        settings = ModelSettings(**self._settings, max_tokens=self._account.open(asked.tokens))
        received = 0
        stream: StreamedResponse | None = None
        try:
            async with AsyncExitStack() as stack:
                with self._within(self._limits.first_token, "none"):
                    opened = model_request_stream(
                        self._model,
                        asked.messages,
                        model_settings=settings,
                        model_request_parameters=asked.parameters,
                        instrument=False,
                    )
                    stream = await stack.enter_async_context(opened)
                    events = aiter(stream)
                    event = await anext(events, None)
                while event is not None:
                    if text := _text(event):
                        received += estimate(text)
                        yield text
                    with self._within(self._limits.between_tokens, "again"):
                        event = await anext(events, None)
                self.asked, self.response = asked, _whole(stream.get())
        except Exception as error:
            raise failure(error) from None
        finally:
            usage = stream.usage if stream else None
            sent = usage.input_tokens if usage and usage.input_tokens else asked.tokens
            self._account.close(sent, max(received, usage.output_tokens if usage else 0))

    @contextmanager
    def _within(self, seconds: float, remedy: Remedy) -> Iterator[None]:
        """Wait so long and no longer than the turn. Never held across a ``yield``."""
        end = min(anyio.current_time() + seconds, self._deadline)
        with anyio.CancelScope(deadline=end) as scope:
            yield
        if scope.cancelled_caught:
            raise Failed(_OVER, "none") if end == self._deadline else Failed(_SLOW, remedy)


def _going_on(asked: Asked, said: str) -> Asked:
    if not said.strip():
        return asked
    more = (
        ModelResponse(parts=[TextPart(said)]),
        ModelRequest(parts=[UserPromptPart(gone_on(tail(said)))]),
    )
    return replace(asked, messages=[*asked.messages, *more], tokens=asked.tokens + estimate(said))


def _text(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def _whole(response: ModelResponse) -> ModelResponse:
    """The response, if the service says that it ended as it should."""
    match response.finish_reason:
        case "stop" | "tool_call":
            return response
        case "length":
            raise Failed(_TOO_LONG)
        case "content_filter":
            raise Failed(_DECLINED)
        case _:
            raise Failed(_CUT, "again")

"""One turn with a model: its answer, then its notes.

Owns what is sent and what is read of what comes back. Must never yield what was not checked: text is text, and notes go
through ``notes.believed``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from anyio import to_thread
from pydantic_ai.messages import (
    CachePoint,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from agent.mind import Brief, Proposal
from agent.models import notes
from agent.models.engine import Engine
from agent.models.errors import Failed
from agent.models.exchange import Asked, Exchange
from agent.models.ledger import rows
from agent.models.limits import Limits
from agent.models.material import estimate
from agent.models.prompt import Prompt, assemble
from agent.models.tools import AgentTool

_FORM: Final = "notes"
_FORM_IS: Final = "The form to fill in."
_MOST_CALLS: Final = 4
_PARAGRAPH: Final = "\n\n"
_LOOKED_AT: Final = 400
_LONGEST_LOOP: Final = 60


class Turn:
    """Ask for ``answer`` first; both share one account and one deadline."""

    def __init__(self, engine: Engine, brief: Brief, limits: Limits, tools: Sequence[AgentTool]) -> None:
        self._engine = engine
        self._brief = brief
        self._limits = limits.within(engine.window)
        self._tools: Mapping[str, AgentTool] = {} if engine.small else {tool.name: tool for tool in tools}
        self._exchange = Exchange(engine.model, self._limits, engine.settings)

    async def answer(self) -> AsyncGenerator[str]:
        """The answer's text as it comes. Raises Failed, or TooLittleRoom before anything is asked."""
        prompt = await to_thread.run_sync(assemble, self._brief, self._limits.context_tokens, abandon_on_cancel=True)
        messages: list[ModelMessage] = [self._read(prompt)]
        told = parameters(prompt.rules, function_tools=[_definition(tool) for tool in self._tools.values()])
        begun, tokens, said = self._brief.begun, prompt.tokens, ""
        while True:
            before = _PARAGRAPH if said else ""
            async with aclosing(self._exchange.say(Asked(messages, told, tokens), begun)) as texts:
                async for text in texts:
                    yield before + text
                    said = (said + before + text)[-_LOOKED_AT:]
                    before = ""
                    if astray(said):
                        raise Failed("The model lost its thread.")
            response = self._exchange.response
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                break
            results = [await self._called(call, place) for place, call in enumerate(calls)]
            tokens += sum(estimate(str(result.content)) for result in results) + response.usage.output_tokens
            messages = [*self._exchange.asked.messages, response, ModelRequest(parts=results)]
            begun = ""
        if not said and not begun:
            raise Failed("The model answered nothing.")

    async def notes(self, filed: Sequence[Proposal]) -> notes.Notes:
        """What the model notes down. Raises Failed."""
        rules = notes.rules(self._brief)
        text = notes.material(self._brief, rows(self._brief.contents), filed, self._limits.context_tokens // 2)
        asked = Asked([asking([text])], self._form(rules), estimate(rules) + estimate(text))
        for last in (False, True):
            response = await self._exchange.complete(asked)
            try:
                return notes.read(_filled_in(response))
            except Failed:
                if last:
                    raise
        raise AssertionError("unreachable")

    def _read(self, prompt: Prompt) -> ModelRequest:
        ledger, documents, *rest = prompt.parts
        if self._engine.caches:
            return asking([ledger, CachePoint(), documents, CachePoint(), *rest])
        return asking([_PARAGRAPH.join(prompt.parts)])

    def _form(self, rules: str) -> ModelRequestParameters:
        schema = notes.form(self._brief, small=self._engine.small)
        if self._engine.native_forms:
            form = OutputObjectDefinition(schema, name=_FORM, description=_FORM_IS)
            return parameters(rules, output_mode="native", output_object=form)
        tool = ToolDefinition(name=_FORM, parameters_json_schema=schema, description=_FORM_IS, kind="output")
        return parameters(rules, output_mode="tool", output_tools=[tool], allow_text_output=False)

    async def _called(self, call: ToolCallPart, place: int) -> ToolReturnPart:
        tool = self._tools.get(call.tool_name)
        if tool is None:
            content = "There is no such tool."
        elif place >= _MOST_CALLS:
            content = f"At most {_MOST_CALLS} calls at once."
        else:
            try:
                arguments = call.args_as_dict(raise_if_invalid=True)
            except (ValueError, AssertionError):
                content = "The arguments are not a JSON object."
            else:
                content = await tool.call(self._brief, arguments)
        return ToolReturnPart(tool_name=call.tool_name, content=content, tool_call_id=call.tool_call_id)


def asking(content: list[UserContent]) -> ModelRequest:
    """One message of ours; a single text goes as such, which every server understands."""
    only = content[0] if len(content) == 1 else None
    return ModelRequest(parts=[UserPromptPart(only if isinstance(only, str) else content)])


def parameters(rules: str, **more: object) -> ModelRequestParameters:
    """What goes with a request besides its messages: the rules, and what ``more`` names."""
    return ModelRequestParameters(instruction_parts=[InstructionPart(rules)], **more)  # type: ignore[arg-type]


def _definition(tool: AgentTool) -> ToolDefinition:
    return ToolDefinition(name=tool.name, parameters_json_schema=dict(tool.parameters), description=tool.description)


def _filled_in(response: ModelResponse) -> str:
    """The form's JSON: the arguments of the tool call that it is, or the text."""
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name == _FORM:
            return part.args_as_json_str()
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def astray(said: str) -> bool:
    """Whether the end of an answer repeats itself and nothing else, or the prompt's tags; small models come to that."""
    loops = any(said[size:] == said[:-size] for size in range(2, _LONGEST_LOOP))
    return "<clew:" in said or (loops and len(said) >= _LOOKED_AT and len(set(said)) > 1)

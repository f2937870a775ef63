"""A model as the agent's mind.

Owns the order of a turn: the clerk files first, then the model answers, then it notes down what may be added, names the
task and tells where it stands. Must never lose what the clerk filed, and never fail in silence: ``FellBack`` says why,
and the clerk's thoughts follow.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from anyio import to_thread

from agent.mind import Brief, FellBack, Filed, Mind, Named, Narrated, Said, Thought, Unfiled
from agent.models.engine import Start
from agent.models.errors import Failed, TooLittleRoom
from agent.models.joint import Joint
from agent.models.limits import Limits
from agent.models.narrative import faithful
from agent.models.notes import believed, task_name
from agent.models.tools import AgentTool
from agent.models.turn import Turn


class ModelMind:
    """``name`` is shown to people; ``start`` gives the model for each turn."""

    def __init__(self, name: str, start: Start, clerk: Mind, limits: Limits, tools: Sequence[AgentTool]) -> None:
        self._name = name
        self._start = start
        self._clerk = clerk
        self._limits = limits
        self._tools = tools

    def __repr__(self) -> str:
        return f"ModelMind({self._name!r})"

    @property
    def name(self) -> str:
        """The spec, of a path only the file."""
        return self._name

    async def think(self, brief: Brief) -> AsyncGenerator[Thought]:
        """What the clerk files, what the model answers, what it adds; or why not, and the rest of the clerk's."""
        floor = [thought async for thought in self._clerk.think(replace(brief, begun=""))]
        for thought in floor:
            if isinstance(thought, Filed | Unfiled):
                yield thought
        said = False
        try:
            turn = Turn(await self._start(), brief, self._limits, self._tools)
            async with aclosing(turn.answer()) as texts:
                async for text in texts:
                    said = True
                    yield Said(text)
        except (Failed, TooLittleRoom) as failed:
            yield FellBack(str(failed))
            for thought in _remaining(floor, brief.begun, said=said):
                yield thought
            return
        async with aclosing(self._noted(turn, brief, floor)) as thoughts:
            async for thought in thoughts:
                yield thought

    async def _noted(self, turn: Turn, brief: Brief, floor: Sequence[Thought]) -> AsyncGenerator[Thought]:
        """What the model adds to the ledger, its name for the task and its paragraph; the clerk's where it has none."""
        named: list[Thought] = [thought for thought in floor if isinstance(thought, Named)]
        narrated: list[Thought] = [thought for thought in floor if isinstance(thought, Narrated)]
        filed = [proposal for thought in floor if isinstance(thought, Filed) for proposal in thought.proposals]
        try:
            notes = await turn.notes(filed)
        except Failed as failed:
            yield FellBack(str(failed))
        else:
            proposals, unfiled = believed(notes, brief, floor)
            if proposals:
                yield Filed(proposals)
            for words in unfiled:
                yield words
            if brief.needs_name and (name := task_name(notes, brief)):
                named = [Named(name)]
            ledger = [*filed, *proposals]
            if await to_thread.run_sync(faithful, notes.narrative, brief, ledger, abandon_on_cancel=True):
                narrated = [Narrated(notes.narrative)]
        for thought in (*named, *narrated):
            yield thought


def _remaining(floor: Sequence[Thought], begun: str, *, said: bool) -> Iterator[Thought]:
    """The clerk's thoughts that were not yielded yet. Its answer is a paragraph of its own after what a model said, and
    goes on where an attempt before this one broke off in it."""
    answer = "".join(thought.text for thought in floor if isinstance(thought, Said))
    joint = Joint("" if said else begun)
    rest = (joint.feed(answer) + joint.end()).lstrip("\n")
    apart = said or (begun and len(rest) >= len(answer))
    if rest:
        yield Said(f"\n\n{answer}" if apart else rest)
    for thought in floor:
        if not isinstance(thought, Filed | Unfiled | Said):
            yield thought

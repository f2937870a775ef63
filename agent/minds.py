"""Who thinks: a model where one is named, else the clerk. Owns the choice; loads nobody before they are chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from agent.mind import Brief, FellBack, Mind, Thought


def load(model: str | None) -> None:
    """Import beforehand what ``open_mind`` will need; what is missing is missed there."""
    import agent.clerk

    if model:
        with suppress(ImportError):
            import agent.models.mind
            import agent.models.services  # noqa: F401


@asynccontextmanager
async def open_mind(model: str | None) -> AsyncIterator[Mind]:
    """The mind for ``model`` (``provider:name``), or the clerk for None. A model that can't be had is the clerk, too,
    who then begins each answer by saying why.
    """
    from agent.clerk import Clerk

    clerk = Clerk()
    if not model:
        yield clerk
        return
    from agent import models

    try:
        opening = models.open_mind(model, clerk)
    except models.ModelsError as error:
        yield Substitute(clerk, str(error))
        return
    async with opening as mind:
        yield mind


class Substitute:
    """The clerk in place of a mind that can't be had; ``why`` is a sentence for people."""

    def __init__(self, clerk: Mind, why: str) -> None:
        self.name = clerk.name
        self.why = why
        self._clerk = clerk

    async def think(self, brief: Brief) -> AsyncIterator[Thought]:
        """Why, and then what the clerk thinks."""
        yield FellBack(self.why)
        async for thought in self._clerk.think(brief):
            yield thought

"""Who thinks: a model where one is named, else the clerk. Owns the choice; imports nobody before they are chosen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.mind import Mind


@asynccontextmanager
async def open_mind(model: str | None) -> AsyncIterator[Mind]:
    """The mind for ``model`` (``provider:name``), or the clerk for None."""
    from agent.clerk import Clerk

    clerk = Clerk()
    if not model:
        yield clerk
        return
    from agent import models

    async with models.open_mind(model, clerk) as mind:
        yield mind

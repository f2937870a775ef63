"""A data folder with a task in it, made by a server's own parts without its network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crdt_docs.ids import DocName, TaskId, new_id
from crdt_docs.schema import seed
from crdt_docs.updates.compose import Composer
from server.config import Config
from server.domain.access import Principal
from server.services import open_services


async def fill(folder: Path, edits: int = 12, compact_after: int | None = 6) -> TaskId:
    """One task of the owner's, with that many further updates; compacted after some of them, if it says so."""
    async with open_services(Config(data=folder, durability="process")) as services:
        now = services.clock.now()
        owner = await services.nouns.users.ensure("owner", now)
        task = await services.nouns.tasks.create(owner.id, "Acme contract", now)
        who, name = Principal(owner.id, owner.name), DocName(task.id)
        document = new_id()
        await services.rooms.compose(
            name, who, lambda c: seed(c, name=task.name, goal="Sign by May", document=document), fresh=True
        )
        for number in range(edits):
            await services.rooms.compose(name, who, _note(number))
            if number + 1 == compact_after:
                await services.rooms.compact(name)
        return task.id


def _note(number: int) -> Callable[[Composer], None]:
    def build(composer: Composer) -> None:
        composer.set("notes", f"n{number}", f"note number {number}")

    return build

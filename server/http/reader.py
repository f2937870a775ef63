"""Reading documents by the engine. Owns what happens when one can't be read: it is set aside, and its syncing goes on.

Must never hand a quarantined document to the engine again; ``clew repair`` is what lifts a quarantine.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal, Protocol

from crdt_docs.ids import DocName
from server.domain.errors import Unavailable
from server.engine.failures import EngineFailed
from server.http.documents import Documents, ReadDocument

FileKind = Literal["md", "docx"]


class Projections(Protocol):
    """What is asked of the engine. Raises EngineFailed."""

    async def project(self, update: bytes, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        """The working set in the update; kept for that document and seq."""
        ...

    async def export(self, update: bytes, kind: FileKind, title: str) -> bytes:
        """The working set in the update as a file."""
        ...


class Reader:
    """Documents as data and as files."""

    def __init__(self, documents: Documents, projections: Projections) -> None:
        self._documents = documents
        self._projections = projections

    async def raw(self, name: DocName) -> bytes:
        """One v1 update that rebuilds the document; works for a quarantined one, too."""
        return (await self._documents.read(name)).update

    async def project(self, name: DocName) -> dict[str, Any]:
        """The working set, with its ``seq``. Raises Unavailable."""
        found = await self._readable(name)
        try:
            read = await self._projections.project(found.update, (name, found.generation), found.seq)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            raise
        return {"seq": found.seq, **read}

    async def export(self, name: DocName, kind: FileKind, title: str) -> bytes:
        """The working set as a file headed by the title. Raises Unavailable."""
        found = await self._readable(name)
        try:
            return await self._projections.export(found.update, kind, title)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            raise

    async def _readable(self, name: DocName) -> ReadDocument:
        found = await self._documents.read(name)
        if found.quarantined is not None:
            raise Unavailable("This task's document can't be read at the moment; it can still be edited and exported.")
        return found

    async def _set_aside(self, name: DocName, failed: EngineFailed) -> None:
        if failed.verdict.quarantine:
            await self._documents.quarantine(name, failed.verdict.value)

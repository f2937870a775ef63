"""Reading documents by the engine. Owns what happens when one can't be read: it is set aside, and its syncing goes on.

Must never hand a quarantined document to the engine again; ``clew repair`` is what lifts a quarantine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Literal, Protocol

from crdt_docs.ids import DocName
from server.domain.errors import Unavailable
from server.engine.failures import EngineFailed
from server.http.documents import Documents, ReadDocument

FileKind = Literal["md", "docx"]
WORDS_KEPT: Final = 20_000
"""Characters of a document that are kept for comparing; candidates look at no more."""
DOCUMENTS_KEPT: Final = 200
NAMES_KEPT: Final = 10_000


class Projections(Protocol):
    """What is asked of the engine. Raises EngineFailed."""

    async def project(self, update: bytes, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        """The working set in the update; kept for that document and seq."""
        ...

    async def export(self, update: bytes, kind: FileKind, title: str) -> bytes:
        """The working set in the update as a file."""
        ...

    async def search_text(self, update: bytes) -> str:
        """All words of the working set in the update."""
        ...

    def forget(self, document: Hashable) -> None:
        """Drop what is kept of a document."""
        ...


class Reader:
    """Documents as data and as files."""

    def __init__(self, documents: Documents, projections: Projections) -> None:
        self._documents = documents
        self._projections = projections
        self._projected: OrderedDict[DocName, set[int]] = OrderedDict()
        self._words: OrderedDict[DocName, tuple[tuple[int, int], str]] = OrderedDict()

    async def raw(self, name: DocName) -> bytes:
        """One v1 update that rebuilds the document; works for a quarantined one, too."""
        return (await self._documents.read(name)).update

    async def project(self, name: DocName) -> dict[str, Any]:
        """The working set, with its ``seq``. Raises Unavailable."""
        found = await self._readable(name)
        self._note(name, found.generation)
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

    def forget(self, name: DocName) -> None:
        """Drop what is kept of a document that was deleted."""
        self._words.pop(name, None)
        for generation in self._projected.pop(name, ()):
            self._projections.forget((name, generation))

    async def words(self, name: DocName) -> str:
        """All words of the document, for telling what a message is like; none where it can't be read just now."""
        found = await self._documents.read(name)
        at = (found.generation, found.seq)
        held = self._words.get(name)
        if held is not None and held[0] == at:
            return held[1]
        if found.quarantined is not None:
            return ""
        try:
            words = await self._projections.search_text(found.update)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            return ""
        self._words.pop(name, None)
        self._words[name] = at, words[:WORDS_KEPT]
        if len(self._words) > DOCUMENTS_KEPT:
            self._words.popitem(last=False)
        return words[:WORDS_KEPT]

    def _note(self, name: DocName, generation: int) -> None:
        """Remember under which keys the engine keeps the document's projections."""
        self._projected.setdefault(name, set()).add(generation)
        self._projected.move_to_end(name)
        if len(self._projected) > NAMES_KEPT:
            gone, generations = self._projected.popitem(last=False)
            for old in generations:
                self._projections.forget((gone, old))

    async def _readable(self, name: DocName) -> ReadDocument:
        found = await self._documents.read(name)
        if found.quarantined is not None:
            raise Unavailable("This task's document can't be read at the moment; it can still be edited and exported.")
        return found

    async def _set_aside(self, name: DocName, failed: EngineFailed) -> None:
        if failed.verdict.quarantine:
            await self._documents.quarantine(name, failed.verdict.value)

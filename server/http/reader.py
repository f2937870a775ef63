"""Reading documents by the engine. Owns what happens when one can't be read: it is set aside, and its syncing goes on.

Must never hand a quarantined document to the engine again; ``clew repair`` is what lifts a quarantine.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Protocol, Self

from crdt_docs.ids import DocName
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Id
from crdt_docs.updates.vectors import StateVector, encode_state_vector
from server.domain.errors import Unavailable
from server.domain.likeness import EMPTY, Profile
from server.engine.failures import EngineFailed
from server.engine.pool import Changed
from server.http.documents import Documents, ReadDocument
from server.http.words import Words

FileKind = Literal["md", "docx"]
NAMES_KEPT: Final = 10_000


class Projections(Protocol):
    """What is asked of the engine. Raises EngineFailed."""

    async def project(self, update: bytes | Rope, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        """The working set in the update; kept for that document and seq."""
        ...

    async def export(self, update: bytes | Rope, kind: FileKind, title: str) -> bytes:
        """The working set in the update as a file."""
        ...

    async def profile(self, update: bytes | Rope) -> Profile:
        """What messages are compared with to tell whether they are about the working set in the update."""
        ...

    async def changes(self, update: bytes | Rope, since: bytes, cuts: Sequence[Id]) -> Changed:
        """What the update has that the state vector has not, and where the cuts are."""
        ...

    async def judge(self, summary: str, ledger: Sequence[Mapping[str, Any]], source: str) -> bool:
        """Whether the summary may be shown."""
        ...

    def forget(self, document: Hashable) -> None:
        """Drop what is kept of a document."""
        ...


class Reader:
    """Documents as data and as files. ``async with Reader(...)``, for ``words`` reads on behind who asked."""

    def __init__(self, documents: Documents, projections: Projections) -> None:
        self._documents = documents
        self._projections = projections
        self._projected: OrderedDict[DocName, set[int]] = OrderedDict()
        self.words = Words(self._profile)

    async def __aenter__(self) -> Self:
        await self.words.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.words.__aexit__(kind, error, trace)

    async def raw(self, name: DocName) -> Rope:
        """One v1 update that rebuilds the document; works for a quarantined one, too."""
        return (await self._documents.read(name)).rope

    async def project(self, name: DocName) -> dict[str, Any]:
        """The working set, with its ``seq``. Raises Unavailable."""
        found = await self._readable(name)
        self._note(name, found.generation)
        try:
            read = await self._projections.project(found.rope, (name, found.generation), found.seq)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            raise
        return {"seq": found.seq, **read}

    async def project_copy(self, update: bytes) -> dict[str, Any]:
        """The working set in an update that is nobody's document, without a seq. Raises Unavailable."""
        return await self._projections.project(update)

    async def export(self, name: DocName, kind: FileKind, title: str) -> bytes:
        """The working set as a file headed by the title. Raises Unavailable."""
        found = await self._readable(name)
        try:
            return await self._projections.export(found.rope, kind, title)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            raise

    async def changed(self, name: DocName, since: StateVector, cuts: Sequence[Id]) -> Changed:
        """What a document has that is not in the state vector, and where things were deleted. Raises Unavailable."""
        found = await self._readable(name)
        return await self._projections.changes(found.rope, encode_state_vector(since), cuts)

    async def judge(self, summary: str, ledger: Sequence[Mapping[str, Any]], source: str) -> bool:
        """Whether a summary is true to the ledger. Raises Unavailable."""
        return await self._projections.judge(summary, ledger, source)

    def forget(self, name: DocName) -> None:
        """Drop what is kept of a document that was deleted."""
        self.words.forget(name)
        for generation in self._projected.pop(name, ()):
            self._projections.forget((name, generation))

    async def _profile(self, name: DocName) -> Profile:
        """What messages are compared with; of a document that is set aside, nothing. Raises Unavailable."""
        found = await self._documents.read(name)
        if found.quarantined is not None:
            return EMPTY
        try:
            return await self._projections.profile(found.rope)
        except EngineFailed as failed:
            await self._set_aside(name, failed)
            if failed.verdict.quarantine:
                return EMPTY
            raise

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

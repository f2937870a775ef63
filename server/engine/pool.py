"""The engine: everything that takes long or may crash, behind one door.

Owns the lanes of worker processes and the cache of projections. Must never run a job in the serving process, nor let
one kind of job wait behind another: large frames of live rooms, compactions and projections have workers of their
own.
"""

from __future__ import annotations

import asyncio
import json
import marshal
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, NamedTuple, Self

from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Id, Parsed, Section, Struct
from crdt_docs.updates.touched import Span
from server.domain.garbage import Heap
from server.domain.likeness import Profile, load
from server.engine.cache import At, ProjectionCache
from server.engine.compaction import LENGTHS, lengths_of
from server.engine.failures import EngineFailed, Verdict
from server.engine.lanes import Lane, Limits
from server.engine.process import PART
from server.engine.records import Parts, records

ExportKind = Literal["md", "docx", "json"]
LaneName = Literal["read", "parse", "compact"]

JOBS: Final[dict[LaneName, dict[str, str]]] = {
    "read": {
        "project": "server.engine.projections:project",
        "export": "server.engine.projections:export",
        "profile": "server.engine.projections:profile",
        "changes": "server.engine.changes:changes",
        "judge": "server.engine.judging:judge",
    },
    "parse": {"parse": "server.engine.compaction:parse_frame"},
    "compact": {
        "compact": "server.engine.compaction:compact_joined",
        "fold": "server.engine.compaction:fold_joined",
    },
}
"""Which functions each lane's workers know. Only ``read`` loads native code."""
WORKERS: Final[dict[LaneName, int]] = {"read": 2, "parse": 1, "compact": 1}
CACHE_BYTES: Final = 32 << 20
EXPORT_TOIL: Final = 4
"""A Word file takes so much longer than a projection; that must not look like a hang."""
_new = tuple.__new__  # a NamedTuple's own ways are slower
MAX_FAILED: Final = 1_000
"""Documents whose last failure is remembered."""


class Compacted(NamedTuple):
    """A snapshot in the making: the caller knows its seq."""

    state: bytes
    splice_index: bytes
    pieces: list[bytes]

    @property
    def update(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


class Changed(NamedTuple):
    """New places as (path, made, spans), see ``touched.Touch``; and the path of each cut, None where it is unknown."""

    new: list[tuple[tuple[str | None, ...], bool, list[Span]]]
    lost: list[tuple[str | None, ...] | None]


class Engine:
    """``async with Engine() as engine``. Every method raises EngineFailed, whose verdict says whether to quarantine.

    ``finish`` names the function (``module:function``, Parsed → bytes) that makes the gate's state at compaction.
    ``jobs`` adds functions to lanes, or replaces them: (plain data) → bytes.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        workers: Mapping[LaneName, int] | None = None,
        finish: str | None = None,
        jobs: Mapping[LaneName, Mapping[str, str]] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._limits = limits or Limits()
        self._finish = finish
        self._lanes: dict[LaneName, Lane] = {}
        for name, known in JOBS.items():
            functions = {**known, **(jobs or {}).get(name, {})}
            self._lanes[name] = Lane(functions, self._limits, (workers or {}).get(name, WORKERS[name]))
        self._cache = ProjectionCache(cache_bytes)
        self._underway: dict[At, asyncio.Future[bytes]] = {}
        self._failed: dict[Hashable, tuple[int, EngineFailed]] = {}
        self._group = asyncio.TaskGroup()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._group)
        for name, lane in self._lanes.items():
            for number in range(lane.workers):
                # The lanes that people wait for have one worker ready; all others start with their first job.
                servant = self._group.create_task(
                    lane.serve(early=number == 0 and name != "compact"), name=f"engine-{name}"
                )
                self._stack.callback(servant.cancel)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for lane in self._lanes.values():
            lane.close()
        await self._stack.aclose()

    @property
    def replaced(self) -> int:
        """How many workers were ended before their time, for metrics."""
        return sum(lane.replaced for lane in self._lanes.values())

    async def run(self, lane: LaneName, job: str, *arguments: Any) -> bytes:
        """Run a registered job on plain data (what marshal takes)."""
        return b"".join(await self._lanes[lane].run(job, arguments))

    def cached(self, document: Hashable, seq: int) -> dict[str, Any] | None:
        """The projection of that document (name and generation) at exactly that seq, if it was made before."""
        held = self._cache.get(At(document, seq))
        return None if held is None else _loads(held)

    async def project(self, update: bytes | Rope, document: Hashable = None, seq: int = 0) -> dict[str, Any]:
        """The working set of a whole document as data, see ``crdt_docs.working_set.read``.

        With ``document`` (its name and generation) and ``seq`` the result is kept, and whoever asks for the same
        meanwhile waits for the same job. So is a failure, while the seq stands: a document that hangs costs one job,
        not one per request.
        """
        if document is None:
            return _loads(await self.run("read", "project", update))
        at = At(document, seq)
        failed = self._failed.get(document)
        if failed is not None and failed[0] == seq:
            raise failed[1]
        held = self._cache.get(at)
        return _loads(held if held is not None else await self._project_once(at, update))

    async def _project_once(self, at: At, update: bytes | Rope) -> bytes:
        promise = self._underway.get(at)
        if promise is None:
            promise = self._underway[at] = asyncio.get_running_loop().create_future()
            # Not the caller's own work: whoever asked first may go away while others wait.
            self._group.create_task(self._make(at, update, promise), name="engine-projection")
        return await asyncio.shield(promise)

    async def _make(self, at: At, update: bytes | Rope, promise: asyncio.Future[bytes]) -> None:
        try:
            made = await self.run("read", "project", update)
        except EngineFailed as failed:
            self._note_failure(at, failed)
            promise.set_exception(failed)
            promise.exception()  # seen, though everybody who asked may be gone
        except asyncio.CancelledError:
            promise.cancel()
            raise
        else:
            self._failed.pop(at.document, None)
            self._cache.put(at, made)
            promise.set_result(made)
        finally:
            del self._underway[at]

    def _note_failure(self, at: At, failed: EngineFailed) -> None:
        if failed.verdict.quarantine:
            if len(self._failed) >= MAX_FAILED:
                self._failed.pop(next(iter(self._failed)))
            self._failed[at.document] = (at.seq, failed)

    async def export(self, update: bytes | Rope, kind: ExportKind, title: str) -> bytes:
        """A whole document as a file, headed by the task's name."""
        return b"".join(await self._lanes["read"].run("export", (update, kind, title), toil=EXPORT_TOIL))

    async def read_all(self, update: bytes) -> None:
        """Have a whole document read in every way there is, only to see that it can be."""
        await self.run("read", "project", update)
        await self.run("read", "profile", update)
        await self.export(update, "md", "")
        await self.export(update, "docx", "")

    async def profile(self, update: bytes | Rope) -> Profile:
        """What messages are compared with to tell whether they are about this document."""
        try:
            return load(await self.run("read", "profile", update))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise EngineFailed(Verdict.CRASHED, "what came back is no profile") from error

    async def changes(self, update: bytes | Rope, since: bytes, cuts: Sequence[Id]) -> Changed:
        """What a whole document has that the state vector ``since`` has not, and where the ``cuts`` are."""
        return Changed(*marshal.loads(await self.run("read", "changes", update, since, list(cuts))))

    async def judge(self, summary: str, ledger: Sequence[Mapping[str, str]], source: str) -> bool:
        """Whether a summary may be shown: true to the ledger (fields of ``fidelity.LedgerItem``) and the source."""
        return bool(await self.run("read", "judge", summary, [dict(item) for item in ledger], source))

    async def parse(self, update: bytes) -> Parsed:
        """``crdt_docs.updates.parse.parse``, elsewhere. Raises Malformed and TooLarge as that does."""
        said = records(Parts(await self._lanes["parse"].run("parse", (update,))))
        sections: list[Section] = []
        for record in said:
            if record is None:
                break
            if isinstance(record, tuple):
                client, clock, end = record
                sections.append(Section(client, clock, Heap(), end))
            else:
                sections[-1].structs.extend([_new(Struct, struct) for struct in record])
                await asyncio.sleep(0)
        deletes: list[tuple[int, list[tuple[int, int]]]] = []
        for record in said:
            if isinstance(record, int):
                deletes.append((record, []))
            else:
                deletes[-1][1].extend(record)
                await asyncio.sleep(0)
        return Parsed(update, sections, deletes)

    async def compact(
        self,
        snapshot: bytes | Rope,
        tail: Sequence[bytes],
        index: bytes = b"",
        finish: str | None = None,
        *,
        trim: bool = True,
    ) -> Compacted:
        """Snapshot and tail as one trimmed, verified update. ``index`` is the snapshot's, and only saves time.

        Without ``trim`` it is all as it was. ``finish`` is another function than the engine's own, for documents of
        another kind. What is long is neither handed over nor taken back in one go, so that others can run meanwhile.
        """
        lengths = lengths_of(tail)
        await asyncio.sleep(0)
        arguments = (_rope(snapshot), index, lengths, Rope(tail), finish or self._finish)
        made = Parts(await self._lanes["compact"].run("compact" if trim else "fold", arguments))
        try:
            state, index_size = LENGTHS.unpack(made.take(LENGTHS.size))
            gate, index, pieces = await made.take_long(state), await made.take_long(index_size), made.rest()
        except IndexError as error:
            raise EngineFailed(Verdict.CRASHED, "what came back is no snapshot") from error
        if sum(map(len, pieces)) <= PART:  # a short one that lay across two parts
            pieces = [b"".join(pieces)]
        return Compacted(gate, index, pieces)

    def forget(self, document: Hashable) -> None:
        """Drop what is kept of a document, as when it is erased."""
        self._cache.forget(document)
        self._failed.pop(document, None)


def _rope(update: bytes | Rope) -> Rope:
    return update if isinstance(update, Rope) else Rope((update,))


def _loads(projection: bytes) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(projection)
    return data

"""The audit trail: a chain of events in ids. Owns its order, its hashes and its ends; must never be given content.

Where the chain ends is sealed by a key that no backup holds. An event is chained to the *sealed* end, not to whatever
row stands last: rows that somebody cut off leave a gap in the numbers that no later event can hide, and once a seal was
found wrong, none is ever right again. The newest end is known beside the key, too: an earlier one, whose seal was good
then, is not taken for it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from anyio import CancelScope, to_thread

from crdt_docs.ids import TaskId
from server.domain.audit import GENESIS, RETENTION_DAYS, AuditEvent, Deed, digest, link, numbers, ranges
from server.store.database import Database, Row, Transaction
from server.store.keys import Keys

_SHOWN: Final = "event, at, user, agent, device, session, token, task, subjects"
_COLUMNS: Final = f"{_SHOWN}, id, hash, salt_by, salt_subjects, digest_by, digest_subjects, cut"
CUT: Final = "audit.cut"
PRUNED: Final = "audit.pruned"
BROKEN: Final = b"broken"
AT_ONCE: Final = 1000
_BY: Final = "by:"
_SUBJECTS: Final = "subjects:"
"""Which side of the events a cut names; the cuts of before there were sides name both."""


class Ends(NamedTuple):
    """The chain's ends: the first event that is kept and the hash before it, the last one and its hash."""

    first: int
    base: bytes
    last: int
    head: bytes
    seal: bytes | None
    """None: there are only events of before there were seals."""

    @property
    def text(self) -> bytes:
        """What is sealed."""
        return json.dumps([self.first, self.base.hex(), self.last, self.head.hex()]).encode()


class Audit:
    """What was done on this server, in the order in which it was noted."""

    def __init__(self, database: Database, keys: Keys) -> None:
        self._database = database
        self._keys = keys

    async def append(
        self, event: str, at: float, *, by: Deed, task: TaskId | None = None, subjects: Sequence[str] = ()
    ) -> None:
        """Note an event such as ``device.revoked``. ``subjects`` are ids of what it was done to."""
        noted = AuditEvent(event, float(at), by, task, tuple(subjects))
        async with self._extending() as tx:
            await self._append(tx, noted)

    async def latest(self, limit: int = 100, task: TaskId | None = None) -> list[AuditEvent]:
        """The last events, of one task if it is named, the latest first."""
        rows = await self._database.all(
            f"SELECT {_SHOWN} FROM audit WHERE ?1 IS NULL OR task = ?1 ORDER BY id DESC LIMIT ?2", task, limit
        )
        return [_event(row) for row in rows]

    async def listed(
        self, limit: int = 100, *, event: str = "", user: str = "", since: float = 0.0
    ) -> list[tuple[int, AuditEvent, bytes]]:
        """The last events with their numbers and hashes, the latest first; of a kind, a person, a time if asked for."""
        rows = await self._database.all(
            f"SELECT {_COLUMNS} FROM audit WHERE (?1 = '' OR event = ?1 OR event LIKE ?1 || '.%') AND at >= ?2"
            " AND (?3 = '' OR user = ?3 OR instr(subjects, ?3) > 0) ORDER BY id DESC LIMIT ?4",
            event,
            since,
            user,
            limit,
        )
        return [(row[9], _event(row), row[10]) for row in rows]

    async def head(self) -> tuple[int, bytes]:
        """The last event's number and hash: noted elsewhere, they prove later that nothing before was changed."""
        ends = await _ends(self._database)
        return ends.last, ends.head

    async def broken_at(self) -> int | None:
        """The number of the first event that does not follow from those before; None if the chain holds to its end."""
        found = await self.findings()
        return found[0][0] if found else None

    async def findings(self, number: int | None = None, known: bytes | None = None) -> list[tuple[int, str]]:
        """What is wrong, as (number of an event, sentence); nothing if the trail is whole.

        ``number`` and ``known`` are an event's number and hash as somebody noted them earlier.
        """
        newest = await self._newest()  # before the ends are read, which go on meanwhile
        ends = await _ends(self._database)
        found: list[tuple[int, str]] = []
        if not self._is_sealed(ends):
            found.append((ends.last, "the end of the trail is not sealed by this folder's key"))
        elif not await _leads_to(self._database, ends, newest):
            found.append((ends.last, "the trail was put back to an earlier end"))
        before, last, cut, named = ends.base, ends.first - 1, set[str](), set[str]()
        while rows := await self._database.all(
            f"SELECT {_COLUMNS} FROM audit WHERE id > ? ORDER BY id LIMIT ?", last, AT_ONCE
        ):
            for row in rows:
                if row[9] != last + 1:
                    found.append((last + 1, f"events {last + 1} to {row[9] - 1} are missing"))
                if why := _wrong(row, before):
                    found.append((row[9], why))
                if number == row[9] and known != row[10]:
                    found.append((row[9], "its hash is not the one that was noted"))
                cut |= _cut_sides(row)
                if row[0] == CUT:
                    named |= _named_sides(json.loads(row[8]))
                before, last = row[10], row[9]
        if last < ends.last:
            found.append((last + 1, f"events {last + 1} to {ends.last} are missing"))
        elif before != ends.head:
            found.append((last, "the last event is not the one that the trail ends with"))
        if number is not None and not ends.first <= number <= last:
            found.append((number, "this event is not there any more"))
        unsaid = sorted({int(one.rpartition(":")[2]) for one in cut - named})
        found += [(one, "who is named was cut, and nothing says so") for one in unsaid]
        return sorted(found)

    async def cut(self, ids: Collection[str], at: float) -> int:
        """Take these ids out of the trail for good, and note that; how many events named them. The chain holds."""
        wanted = set(ids)
        by, subjects = set[int](), set[int]()
        async with self._extending() as tx:
            rows = await tx.all(f"SELECT {_COLUMNS} FROM audit ORDER BY id")
            for row in rows:
                event, legacy = _event(row), row[13] is None
                if any(one in wanted for one in event.by.ids) or (legacy and wanted.intersection(event.subjects)):
                    by.add(row[9])
                    await tx.all(
                        "UPDATE audit SET user = NULL, agent = NULL, device = NULL, session = NULL, token = NULL,"
                        " salt_by = NULL, cut = 1 WHERE id = ?",
                        row[9],
                    )
                if wanted.intersection(event.subjects):
                    subjects.add(row[9])
                    await tx.all("UPDATE audit SET subjects = '[]', salt_subjects = NULL, cut = 1 WHERE id = ?", row[9])
            if by or subjects:
                told = *(_BY + one for one in ranges(by)), *(_SUBJECTS + one for one in ranges(subjects))
                await self._append(tx, AuditEvent(CUT, float(at), Deed(), None, told))
        return len(by | subjects)

    async def prune(self, before: float, at: float) -> int:
        """Let go of the events from before that time, and note which; how many those were. The chain holds."""
        async with self._extending() as tx:
            ends = await _ends(tx)
            row = await tx.one("SELECT min(id) FROM audit WHERE at >= ?", before)
            upto = (row[0] - 1 if row and row[0] is not None else ends.last) if ends.last else 0
            base = await tx.one("SELECT hash FROM audit WHERE id = ?", upto)
            if upto < ends.first or base is None:
                return 0
            await tx.all("DELETE FROM audit WHERE id <= ?", upto)
            await self._put(tx, ends._replace(first=upto + 1, base=base[0]), await self._is_sound(tx, ends))
            gone = ranges(range(ends.first, upto + 1))
            await self._append(tx, AuditEvent(PRUNED, float(at), Deed(), None, gone))
        await self._database.erase()
        return upto + 1 - ends.first

    async def tidy(self, now: float) -> None:
        """Let go of what was kept for long enough. Call it now and then."""
        await self.prune(now - RETENTION_DAYS * 86400, now)

    async def restore(self, at: float, *, sealed: bool) -> None:
        """Go on from the end that a backup has, which is rightly an earlier one, and note that.

        Not ``sealed``: the folder was restored without its own key, and the trail is taken as it is.
        """
        async with self._extending() as tx:
            ends = await _ends(tx)
            if not sealed and ends.last and ends.seal != BROKEN:
                await self._put(tx, ends, True)
            await to_thread.run_sync(self._keys.forget_end)
            await self._append(tx, AuditEvent("folder.restored", float(at), Deed(), None, ()))

    @asynccontextmanager
    async def _extending(self) -> AsyncIterator[Transaction]:
        """A transaction after which its end of the trail is the newest.

        That is noted once it is on the disk: a crash in between leaves an end that is known too early, never one that
        is known and not there.
        """
        async with self._database.transaction() as tx:
            yield tx
            ends = await _ends(tx)
        if ends.seal is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._keys.note_end, ends.last, ends.head)

    async def _append(self, tx: Transaction, noted: AuditEvent) -> None:
        ends = await _ends(tx)
        sound = await self._is_sound(tx, ends)
        salts = secrets.token_bytes(32), secrets.token_bytes(32)
        by, subjects = digest(salts[0], noted.by.ids), digest(salts[1], noted.subjects)
        hash_ = link(ends.head, noted.event, noted.at, noted.task, by, subjects)
        await tx.all(
            f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            noted.event,
            noted.at,
            *noted.by.ids,
            noted.task,
            json.dumps(noted.subjects),
            ends.last + 1,
            hash_,
            *salts,
            by,
            subjects,
        )
        await self._put(tx, ends._replace(last=ends.last + 1, head=hash_), sound)

    async def _put(self, tx: Transaction, ends: Ends, sound: bool) -> None:
        """Seal the new ends, if those before were sound."""
        seal = self._keys.mac("audit", ends.text) if sound else BROKEN
        await tx.all("INSERT OR REPLACE INTO audit_ends VALUES (1, ?, ?, ?, ?, ?)", *ends[:4], seal)

    async def _is_sound(self, tx: Transaction, ends: Ends) -> bool:
        return self._is_sealed(ends) and await _leads_to(tx, ends, await self._newest())

    def _is_sealed(self, ends: Ends) -> bool:
        return ends.seal is None or ends.seal == self._keys.mac("audit", ends.text)

    async def _newest(self) -> tuple[int, bytes] | None:
        return await to_thread.run_sync(self._keys.newest_end)


async def _ends(database: Database | Transaction) -> Ends:
    row = await database.one("SELECT first, base, last, head, seal FROM audit_ends")
    if row is not None:
        return Ends(*row)
    last = await database.one("SELECT id, hash, digest_by FROM audit ORDER BY id DESC LIMIT 1")
    if last is None:
        return Ends(1, GENESIS, 0, GENESIS, None)
    return Ends(1, GENESIS, last[0], last[1], None if last[2] is None else BROKEN)


async def _leads_to(database: Database | Transaction, ends: Ends, known: tuple[int, bytes] | None) -> bool:
    """Whether the newest end that is known is on this trail, which may have gone on since, and been pruned."""
    if known is None or known[0] < ends.first - 1:
        return True
    number, hash_ = known
    if number == ends.last or number == ends.first - 1:
        return hash_ == (ends.head if number == ends.last else ends.base)
    row = await database.one("SELECT hash FROM audit WHERE id = ?", number)
    return number < ends.last and row is not None and bool(row[0] == hash_)


def _wrong(row: Row, before: bytes) -> str:
    """Why the event does not follow from the hash before it; empty if it does."""
    event, salts, digests, cut = _event(row), row[11:13], row[13:15], row[15]
    if digests[0] is None:  # of before there were digests: what was cut of it can only be taken at its word
        return "" if cut or event.chained(before) == row[10] else "it was changed"
    for salt, told, ids in ((salts[0], digests[0], event.by.ids), (salts[1], digests[1], event.subjects)):
        if salt is None and (not cut or any(ids)):
            return "who is named was changed"
        if salt is not None and digest(salt, ids) != told:
            return "who is named was changed"
    return "" if link(before, row[0], row[1], row[7], *digests) == row[10] else "it was changed"


def _cut_sides(row: Row) -> set[str]:
    """The sides of the event that are cut; of one of before there were digests, both."""
    if not row[15]:
        return set()
    sides = [side for side, salt in ((_BY, row[11]), (_SUBJECTS, row[12])) if salt is None]
    return {f"{side}{row[9]}" for side in (sides if row[13] is not None else [_BY])}


def _named_sides(told: Sequence[str]) -> set[str]:
    """The sides of events that a cut names."""
    found = set()
    for one in told:
        sides = [side for side in (_BY, _SUBJECTS) if one.startswith(side)] or [_BY, _SUBJECTS]
        found |= {f"{side}{n}" for side in sides for n in numbers([one.rpartition(":")[2]])}
    return found


def _event(row: Row) -> AuditEvent:
    by = Deed(row[2], row[3], row[4], row[5], row[6])
    return AuditEvent(row[0], row[1], by, row[7], tuple(json.loads(row[8])))

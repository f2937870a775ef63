"""Erasing a person. Owns its order: first the ledger, so that a crash in between is finished at the next start; then
nobody comes in as them; then their connections end; then their tasks go, and in others' tasks they become nobody.

What they wrote in a task that stays, stays: it is others' work, too. It goes with ``texts``. Must never hold a word of
it: what is told of an erasure is counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from crdt_docs.ids import DocName, TaskId, UserId, new_id
from server.domain.audit import Deed
from server.domain.clock import Clock
from server.domain.erasure import Belongings, Erased, Place, Wish
from server.domain.errors import CLOSE, Conflict, NotFound
from server.domain.log import DocKey
from server.doors.authority import Authority
from server.doors.revocation import Live, Matches
from server.rooms import lanes
from server.rooms.authors import Authors
from server.rooms.registry import Rooms
from server.rooms.scrubbing import scrub
from server.store.audit import Audit
from server.store.database import Database
from server.store.erasure import Erasures
from server.store.keys import Keys
from server.store.unsigning import Signatures

GONE: Final = "this account was erased"
AGAIN: Final = "the server forgot somebody"


class Log(Protocol):
    """What erasing needs of the log, beside what rooms do with it."""

    def names(self) -> list[tuple[DocName, DocKey, int]]:
        """Every document."""
        ...

    def delete(self, name: DocName, *more: DocName) -> None:
        """Remove documents, and leave no bytes of them."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a person is stored."""

    database: Database
    audit: Audit
    keys: Keys
    log: Log
    signatures: Signatures
    write: lanes.Lane


@dataclass(frozen=True, slots=True)
class Present:
    """Where a person is while the server runs. ``forget`` drops what is kept of a document in memory."""

    rooms: Rooms
    authors: Authors
    authority: Authority
    live: Live
    forget: Callable[[DocName], None]


class Erasure:
    """Erases people."""

    def __init__(self, stores: Stores, present: Present, clock: Clock) -> None:
        self._of = stores
        self._in = present
        self._clock = clock
        self._erasures = Erasures(stores.database)

    async def plan(self, user: UserId, wish: Wish) -> tuple[Belongings, list[Place]]:
        """All that would be touched; changes nothing."""
        what = await self._gather(user)
        return what, _places(what, wish, self._documents({*what.private, *what.shared}), self._of.keys.copies())

    async def erase(self, user: UserId, wish: Wish, by: Deed | None = None) -> Erased:
        """Erase the person. Raises Conflict if that would leave a task without an owner and ``wish`` says to refuse."""
        what, now = await self._gather(user), self._clock.now()
        if wish.owned == "refuse" and what.heirs:
            raise Conflict(f"{len(what.heirs)} tasks that others are on would have no owner: hand them on first.")
        await self._note(what, wish, now)
        await self._shut_out(what)
        late = _joined(what, await self._gather(user))  # what was under way until now
        if late != what:
            what = late
            await self._note(what, wish, now)
            await self._shut_out(what)
        await self._delete(what.private)
        stubs = {task: new_id() for task in what.shared}
        documents = await self._unsign(what, stubs, wish)
        await self._erasures.remove(what, stubs)
        await self._finish_deletions()
        events = await self._of.audit.cut(what.ids, now)
        await self._of.audit.append("user.erased", now, by=by or Deed())
        left = await lanes.run(self._of.write, lambda: self._finish(what.private))
        if not await self._of.database.erase():
            left += ("a backup is being made: clew.db is rewritten when it is done",)
        return Erased(len(what.private), len(what.shared), events, documents, left)

    async def finish_deletions(self) -> None:
        """Remove the documents of tasks that were deleted when a crash came, or when somebody was still writing.

        For the start. A document whose task's row was not deleted here stays, whatever else is missing: an older
        ``clew.db`` beside a newer log costs nothing.
        """
        await self._finish_deletions()
        await self._erasures.forget_deleted()

    async def replay(self) -> int:
        """Erase once more whoever and whatever the ledger names and an older copy of the folder has brought back."""
        keys = self._of.keys
        if not keys.count_erased():
            return 0
        users, tasks = await self._erasures.everything()
        logged = {name.task for name, _, _ in self._of.log.names()}
        back = [TaskId(task) for task in sorted(keys.erased("task", {*tasks, *logged}))]
        await self._delete(back)
        await self._erasures.delete_tasks(back)
        people = sorted(keys.erased("user", users))
        for user in people:
            await self.erase(UserId(user), Wish(texts=bool(keys.erased("texts", [user]))))
        if back:
            await self._of.database.erase()
        return len(back) + len(people)

    async def _finish_deletions(self) -> None:
        logged = {name.task for name, _, _ in self._of.log.names()}
        await self._delete([task for task in await self._erasures.half_deleted() if task in logged])

    async def _shut_out(self, what: Belongings) -> None:
        await self._erasures.close_doors(what)
        for task in (*what.private, *what.shared):
            self._in.authority.forget(task)
        await self._in.live.revoke(lambda who, _: who.user == what.user, CLOSE["not_found"], GONE)

    async def _gather(self, user: UserId) -> Belongings:
        what = await self._erasures.gather(user, self._clock.now())
        if "users" not in what.rows and not await self._of.database.one("SELECT 1 FROM users WHERE id = ?", user):
            raise NotFound
        wrote = await lanes.run(self._of.write, lambda: self._of.signatures.tasks(user, what.agents))
        known = {*what.private, *what.shared}
        return Belongings(
            what.user,
            what.ids,
            what.agents,
            what.private,
            (*what.shared, *sorted(task for task in wrote if task not in known)),
            what.heirs,
            what.rows,
        )

    async def _note(self, what: Belongings, wish: Wish, now: float) -> None:
        keys = self._of.keys

        def note() -> None:
            if wish.texts:
                keys.note_erased("texts", [what.user], now)
            keys.note_erased("task", what.private, now)
            keys.note_erased("user", [what.user], now)

        await lanes.run(self._of.write, note)

    async def _delete(self, tasks: Sequence[TaskId]) -> None:
        """End the tasks' rooms and remove their documents, all at once: each time the whole file is rewritten."""
        for task in tasks:
            self._in.authority.forget(task)
            await self._in.live.revoke(_of_task(task), CLOSE["not_found"], GONE)
            await self._in.rooms.close(task, CLOSE["not_found"], GONE)
        gone = self._documents(set(tasks))
        if gone:
            await lanes.run(self._of.write, lambda: self._of.log.delete(*gone))
        for name in gone:
            self._in.forget(name)

    async def _unsign(self, what: Belongings, stubs: Mapping[TaskId, str], wish: Wish) -> int:
        for name in self._documents(set(stubs)):
            stub = UserId(stubs[name.task])
            await scrub(self._in.rooms, self._in.authors, name, what.user, stub, texts=wish.texts)
            self._in.forget(name)

        cut, who, agents = self._of.signatures.cut, what.user, what.agents
        documents = await lanes.run(self._of.write, lambda: cut(who, agents, stubs, asides=wish.texts))
        for task in stubs:  # rooms still know whose a client id was
            await self._in.rooms.close(task, CLOSE["unavailable"], AGAIN)
        return documents

    def _finish(self, tasks: Iterable[TaskId]) -> tuple[str, ...]:
        missed = self._of.keys.shred(tasks)
        return tuple(f"{path} can't be reached: replace it by the keys that the next backup writes" for path in missed)

    def _documents(self, tasks: set[TaskId]) -> list[DocName]:
        return sorted(name for name, _, _ in self._of.log.names() if name.task in tasks)


def _joined(before: Belongings, now: Belongings) -> Belongings:
    """What is theirs now, and all that names them by ids that are gone meanwhile."""
    private, rows = dict.fromkeys((*before.private, *now.private)), before.rows
    shared = tuple(task for task in dict.fromkeys((*before.shared, *now.shared)) if task not in private)
    ids, agents = before.ids | now.ids, before.agents | now.agents
    return Belongings(before.user, ids, agents, tuple(private), shared, {**before.heirs, **now.heirs}, rows)


def _of_task(task: TaskId) -> Matches:
    return lambda _, name: name.task == task


def _places(what: Belongings, wish: Wish, documents: Sequence[DocName], copies: Sequence[str]) -> list[Place]:
    private = {name for name in documents if name.task in what.private}
    words = "their words are deleted for everyone" if wish.texts else "their words stay"
    found = [
        Place("keys.db", "the ledger of what was erased", "a keyed hash of the person and each private task is added"),
        *(Place("clew.db", f"{count} rows of {table}", "deleted") for table, count in what.rows.items()),
        Place("clew.db", f"{len(what.private)} private tasks", "deleted with all that hangs on them"),
        *(Place("clew.db", f"task {task}", f"handed on to user {heir}") for task, heir in what.heirs.items()),
        Place("clew.db", "audit events that name them", "who is named is cut; the chain holds"),
        Place("clew.db-wal, clew.db-shm", "what is in them", "rewritten and cut to nothing"),
        *(
            Place("log.db", f"document {name}", "deleted: updates, snapshots, generations set aside")
            for name in private
        ),
        *(
            Place("log.db", f"document {name}", f"attributed to a stub of this task alone; {words}; compacted")
            for name in documents
            if name not in private
        ),
        Place("log.db-wal, log.db-shm", "what is in them", "rewritten and cut to nothing"),
        Place(
            "keys.db", f"keys of {len(what.private)} private tasks", "shredded: no backup can be read for them any more"
        ),
        *(Place(path, "a copy of the keys", "written anew") for path in copies),
        Place("memory", "projections, search profiles, resumptions, rooms, caches of actors and roles", "dropped"),
        Place("connections", "sockets and streams of theirs", "closed 4404; pages are told to drop what they stored"),
        Place("standard error, /metrics", "nothing: no log of Clew's holds content, names or secrets", "left"),
        Place("backups", "private tasks in them", "unreadable without their keys; a restored one erases them again"),
        Place("devices that are offline", "replicas", "can't be reached: they are refused when they come back"),
    ]
    return found

"""Turns and the grants that agents get for them. SQL decides (I6): what the document shows of a turn is display.

Owns that a task has at most one running turn, that a turn is about one person's messages and a message in one turn, and
that a grant ends in the very transaction in which its attempt does. ``domain.turn`` says what may become of a turn;
every method reads, asks it and writes within one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from crdt_docs.ids import MessageId, TaskId, TokenId, TurnId, UserId, new_id
from server.domain import turn as states
from server.domain.access import Role
from server.domain.errors import Conflict, NotFound
from server.domain.turn import Host, Leased, Outcome, Refusal, Renewed, Said, Turn
from server.store import grants
from server.store.database import Database, Transaction
from server.store.turn_rows import READ, insert, read, turn_of, update

_HAS_IT: Final = (
    "(m.until IS NULL OR m.until > ?2) AND (m.role = 4"
    " OR NOT EXISTS (SELECT 1 FROM policies p WHERE p.task = m.task AND p.resume = 'owner'))"
)
"""That a place ``m`` on a task is not over at ``?2``, and that the task is not for its owners alone."""


class Turns:
    """The turns of all tasks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what people said

    async def file(self, task: TaskId, said: Sequence[Said], seq: int, now: float) -> list[Turn]:
        """Put messages into the queued turns of who said them, or queue more; what is in a turn already is left there.

        ``seq`` is how far the document was searched for messages. The turns that they are in now.
        """
        filed: list[Turn] = []
        async with self._database.transaction() as tx:
            found = await tx.one(
                "UPDATE tasks SET heard = max(coalesce(heard, 0), ?) WHERE id = ? RETURNING agents", seq, task
            )
            if found is None or found[0] != "allowed":
                return []
            for user, messages in _by_user(said).items():
                if news := await _news(tx, task, user, messages):
                    filed += await _queue(tx, task, user, news, now)
        return filed

    async def heard(self, marks: Mapping[TaskId, int]) -> None:
        """Note how far documents were searched for messages, and that there were none."""
        async with self._database.transaction() as tx:
            for task, seq in marks.items():
                await tx.all("UPDATE tasks SET heard = max(coalesce(heard, 0), ?) WHERE id = ?", seq, task)

    async def searched(self) -> dict[TaskId, int]:
        """How far each task's document was searched; not the tasks that are older than turns and were never heard."""
        rows = await self._database.all("SELECT id, heard FROM tasks WHERE heard IS NOT NULL")
        return {TaskId(row[0]): row[1] for row in rows}

    # -- looking them up

    async def get(self, turn: TurnId) -> Turn | None:
        """The turn, whoever asks: it is the caller who checks that its task is theirs."""
        return await read(self._database, "id = ?", turn)

    async def of_task(self, task: TaskId, limit: int = 200) -> list[Turn]:
        """The task's turns, the newest first."""
        rows = await self._database.all(
            f"SELECT {READ} FROM turns WHERE task = ? ORDER BY created_at DESC, rowid DESC LIMIT ?", task, limit
        )
        marks = ", ".join("?" * len(rows))
        said = await self._database.all(
            f"SELECT turn, message FROM turn_messages WHERE turn IN ({marks}) ORDER BY id", *(row[0] for row in rows)
        )
        return [turn_of(row, [message for turn, message in said if turn == row[0]]) for row in rows]

    async def queued(self, now: float) -> list[Turn]:
        """The turns that can be leased now, the oldest first: each person's first in a task where none is running."""
        rows = await self._database.all(
            f"SELECT {READ} FROM turns WHERE status = 'queued' AND due_at <= ? AND NOT EXISTS"
            " (SELECT 1 FROM turns r WHERE r.task = turns.task AND r.status = 'running') AND NOT EXISTS"
            " (SELECT 1 FROM turns e WHERE e.task = turns.task AND e.user = turns.user AND e.status = 'queued'"
            " AND e.rowid < turns.rowid) ORDER BY rowid",
            now,
        )
        return [turn_of(row) for row in rows]

    async def unanswered(self, task: TaskId) -> list[MessageId]:
        """The messages that no agent answered or will: their turn failed, or expired. As they were committed."""
        rows = await self._database.all(
            "SELECT m.message FROM turn_messages m JOIN turns t ON t.id = m.turn"
            " WHERE m.task = ? AND t.status IN ('failed', 'expired') ORDER BY m.id",
            task,
        )
        return [MessageId(row[0]) for row in rows]

    async def counts(self) -> dict[str, int]:
        """How many turns are queued and running."""
        rows = await self._database.all(
            "SELECT status, count(*) FROM turns WHERE status IN ('queued', 'running') GROUP BY status"
        )
        return {"queued": 0, "running": 0, **{row[0]: row[1] for row in rows}}

    # -- what hosts do

    async def lease(self, turn: TurnId, host: Host, now: float, *, again: bool = True) -> Leased:
        """Give the turn to the host, with a grant. Of all who try at once, one gets it.

        ``again`` lets a host that has it already have it anew: it did not get our answer. Raises NotFound for what is
        not its business, Conflict if the turn is taken or over. If who asked may not write any more, the turn has
        failed, and that is the Conflict.
        """
        async with self._database.transaction() as tx:
            found = await _mine(tx, turn, host)
            if await tx.one("SELECT 1 FROM tasks WHERE id = ? AND agents = 'stopped'", found.task):
                raise Conflict("Agents are stopped in this task.")
            running = await tx.one("SELECT id FROM turns WHERE task = ? AND status = 'running'", found.task)
            if running is not None and not (again and running[0] == found.id):
                raise Conflict("A turn of this task is running.")
            leased = _done(states.lease(found, host, now))
            role = await _role(tx, leased, now)
            if role is None:
                await _leave(tx, states.fail(found, states.GONE, now), now)
            else:
                given = await grants.give(tx, leased, host, min(role, Role.EDITOR), now)
                leased = replace(leased, grant=given.id)
                await update(tx, leased)
                named = await tx.one("SELECT 1 FROM tasks WHERE id = ? AND named_by = 'user'", leased.task)
                chosen = await tx.one("SELECT language FROM accounts WHERE user = ?", leased.user)
        if role is None:
            raise Conflict(states.GONE)
        return Leased(leased, given, host.name, named is not None, chosen[0] if chosen is not None else None)

    async def renew(self, turn: TurnId, host: Host, now: float) -> Renewed:
        """Lengthen the lease and its grant. Raises as ``lease`` does."""
        async with self._database.transaction() as tx:
            renewed = _done(states.renew(await _mine(tx, turn, host), host, now))
            role = await _role(tx, renewed, now)
            given = None
            if renewed.status == "running" and renewed.grant is not None and role is not None:
                given = await grants.renew(tx, renewed.grant, min(role, Role.EDITOR), now)
            if given is None and renewed.status == "running":
                renewed = states.fail(renewed, states.GONE, now)
            room = states.MOST_MESSAGES - len(renewed.messages)
            messages = (await _waiting(tx, renewed))[: max(0, room)] if given is not None else []
            await update(tx, renewed)
            if given is None:
                await grants.revoke(tx, renewed.grant, now)
        return Renewed(renewed, given, tuple(messages))

    async def end(
        self,
        turn: TurnId,
        host: Host,
        outcome: Outcome,
        covered: Iterable[MessageId],
        why: str | None,
        now: float,
        answer: MessageId | None = None,
    ) -> tuple[Turn, Turn]:
        """Take the turn back from its host: the turn before and after. What it covered of the queued ones is its own.

        ``answer`` is where the answer was written in truth. Raises as ``lease`` does.
        """
        async with self._database.transaction() as tx:
            before = await _mine(tx, turn, host)
            after = _done(states.end(before, host, outcome, why, now))
            if before.status == "running":
                after = replace(after, answer=answer or after.answer)
                await _leave(tx, after, now)
                if after.status == "done":
                    await _cover(tx, after, covered)
        return before, after

    # -- what people and time do

    async def stop(self, turn: TurnId, now: float) -> tuple[Turn, Turn]:
        """Stop it, and its grant with it: the turn before and after. Raises NotFound."""
        async with self._database.transaction() as tx:
            before = await read(tx, "id = ?", turn)
            if before is None:
                raise NotFound
            after = states.stop(before, now)
            if before.status == "running":
                await _leave(tx, after, now)
            elif after != before:
                await update(tx, after)
        return before, after

    async def agents_allowed(self, task: TaskId) -> bool:
        """Whether agents have a way into the task."""
        return await self._database.one("SELECT 1 FROM tasks WHERE id = ? AND agents = 'allowed'", task) is not None

    async def allow_agents(self, task: TaskId) -> None:
        """Let agents in again: what is said from now on makes turns."""
        await self._database.write("UPDATE tasks SET agents = 'allowed' WHERE id = ?", task)

    async def stop_agents(
        self, task: TaskId, now: float
    ) -> tuple[list[tuple[Turn, Turn]], list[tuple[UserId, TokenId]]]:
        """Turn agents off in the task: the turns that this stopped, before and after, and whose grants have ended."""
        await self._database.write("UPDATE tasks SET agents = 'stopped' WHERE id = ?", task)
        which = "task = ? AND status IN ('queued', 'running')"
        changed = await self._change(which, (task,), now, lambda turn: states.stop(turn, now))
        ended = await self._database.write(
            "UPDATE tokens SET revoked_at = coalesce(revoked_at, ?1) WHERE kind = 'grant' AND task = ?2"
            " AND expires_at > ?1 RETURNING user, id",
            now,
            task,
        )
        return changed, [(UserId(row[0]), TokenId(row[1])) for row in ended]

    async def age(self, now: float) -> list[tuple[Turn, Turn]]:
        """Let time do its work on leases and queue: each turn that it changed, before and after."""
        late = "(status = 'running' AND lease_until < ?1) OR (status = 'queued' AND queued_at < ?2)"
        return await self._change(late, (now, now - states.QUEUE_LIFE), now, lambda turn: states.age(turn, now))

    async def dismiss(self, now: float) -> list[tuple[Turn, Turn]]:
        """End the turns of people who may not write to their task any more: each, before and after."""
        which = (
            "status IN ('queued', 'running') AND NOT EXISTS"
            " (SELECT 1 FROM members m WHERE m.task = turns.task AND m.user = turns.user"
            f" AND m.role >= ?1 AND {_HAS_IT})"
        )
        return await self._change(which, (Role.EDITOR, now), now, lambda turn: states.fail(turn, states.GONE, now))

    async def abandon(self, hosts: Collection[TokenId], now: float) -> list[tuple[Turn, Turn]]:
        """Take back what these hosts have, who are gone."""
        if not hosts:
            return []
        marks = ", ".join("?" * len(hosts))
        return await self._change(f"status = 'running' AND host IN ({marks})", tuple(hosts), now, _lost(now))

    async def abandon_strays(self, now: float) -> list[tuple[Turn, Turn]]:
        """Take back what hosts have whose bearer is not known: built-in agents of servers before this one."""
        strays = "status = 'running' AND NOT EXISTS (SELECT 1 FROM tokens k WHERE k.id = turns.host)"
        return await self._change(strays, (), now, _lost(now))

    async def _change(
        self, which: str, values: tuple[object, ...], now: float, become: Callable[[Turn], Turn]
    ) -> list[tuple[Turn, Turn]]:
        changed = []
        async with self._database.transaction() as tx:
            for row in await tx.all(f"SELECT {READ} FROM turns WHERE {which} ORDER BY rowid", *values):
                before = turn_of(row)
                after = become(before)
                await (_leave(tx, after, now) if before.status == "running" else update(tx, after))
                changed.append((before, after))
        return changed

    async def forget_grants(self, before: float) -> None:
        """Remove the rows of grants that ended before that time."""
        await self._database.write("DELETE FROM tokens WHERE kind = 'grant' AND expires_at < ?", before)


async def _leave(tx: Transaction, turn: Turn, now: float) -> None:
    """Write a turn that does not run any more. Its grant rests after an answer, and is dead after anything else."""
    if turn.status == "done":
        await grants.rest(tx, turn.grant, now)
    else:
        await grants.revoke(tx, turn.grant, now)
    await update(tx, turn)


async def _waiting(tx: Transaction, turn: Turn) -> list[MessageId]:
    """What else its person said and no attempt was begun about, as it was committed."""
    rows = await tx.all(
        "SELECT m.message FROM turn_messages m JOIN turns t ON t.id = m.turn"
        " WHERE t.task = ? AND t.user = ? AND t.status = 'queued' AND t.started_at IS NULL ORDER BY m.id",
        turn.task,
        turn.user,
    )
    return [MessageId(row[0]) for row in rows]


async def _cover(tx: Transaction, turn: Turn, covered: Iterable[MessageId]) -> None:
    """Take what the turn answered out of its person's queued ones, of which those go that nothing is left of."""
    answered = set(covered)
    own = [message for message in await _waiting(tx, turn) if message in answered]
    if not own:
        return
    await tx.all(
        "UPDATE turn_messages SET turn = ? WHERE task = ? AND message IN (SELECT value FROM json_each(?))",
        turn.id,
        turn.task,
        json.dumps(own),
    )
    await tx.all(
        "DELETE FROM turns WHERE task = ? AND user = ? AND status = 'queued'"
        " AND NOT EXISTS (SELECT 1 FROM turn_messages m WHERE m.turn = turns.id)",
        turn.task,
        turn.user,
    )


def _by_user(said: Sequence[Said]) -> dict[UserId, list[MessageId]]:
    """What each of them said, in order and once."""
    found: dict[UserId, dict[MessageId, None]] = {}
    for one in said:
        found.setdefault(one.user, {})[one.message] = None
    return {user: list(messages) for user, messages in found.items()}


async def _news(tx: Transaction, task: TaskId, user: UserId, messages: Sequence[MessageId]) -> list[MessageId]:
    """Those that are in no turn yet; none of somebody who is not there any more."""
    rows = await tx.all(
        "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM users WHERE id = ?2)"
        " AND NOT EXISTS (SELECT 1 FROM turn_messages WHERE task = ?3 AND message = value) ORDER BY key",
        json.dumps(messages),
        user,
        task,
    )
    return [MessageId(row[0]) for row in rows]


async def _queue(tx: Transaction, task: TaskId, user: UserId, messages: Sequence[MessageId], now: float) -> list[Turn]:
    """Fill up the last of the person's queued turns, and queue as many more as it takes."""
    last = await read(tx, "task = ? AND user = ? AND status = 'queued' ORDER BY rowid DESC LIMIT 1", task, user)
    filed = []
    if last is not None and (room := states.room_in(last)):
        own, messages = messages[:room], messages[room:]
        filed.append(last := states.add(last, own, now))
        await update(tx, last)
        await _say(tx, last, own)
    for start in range(0, len(messages), states.MOST_MESSAGES):
        own = messages[start : start + states.MOST_MESSAGES]
        before = () if last is None else (last.answer,)
        last = replace(
            states.queue(TurnId(new_id()), task, user, own, now), answer=states.answer_after((*own, *before), now)
        )
        filed.append(last)
        await insert(tx, last)
        await _say(tx, last, own)
    return filed


async def _say(tx: Transaction, turn: Turn, messages: Sequence[MessageId]) -> None:
    await tx.all(
        "INSERT INTO turn_messages (turn, task, message, user) SELECT ?, ?, value, ? FROM json_each(?) ORDER BY key",
        turn.id,
        turn.task,
        turn.user,
        json.dumps(messages),
    )


def _lost(now: float) -> Callable[[Turn], Turn]:
    return lambda turn: states.lose(turn, states.LOST, now)


def _done(state: Turn | Refusal) -> Turn:
    if isinstance(state, Refusal):
        raise Conflict(state.why)
    return state


async def _mine(tx: Transaction, turn: TurnId, host: Host) -> Turn:
    found = await read(tx, "id = ?", turn)
    if found is None or not host.may_take(found):
        raise NotFound
    return found


async def _role(tx: Transaction, turn: Turn, now: float) -> Role | None:
    """The role of who asked, if it lets an agent answer."""
    row = await tx.one(
        f"SELECT role FROM members m WHERE task = ?1 AND user = ?3 AND {_HAS_IT}", turn.task, now, turn.user
    )
    return Role(row[0]) if row is not None and row[0] >= Role.EDITOR else None

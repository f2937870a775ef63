"""Turns and the grants that agents get for them. SQL decides (I6): what the document shows of a turn is display.

Owns that a task has at most one running turn and one queued one, that a message belongs to one turn, and that a grant
ends in the very transaction in which its attempt does. ``domain.turn`` says what may become of a turn; every method
reads, asks it and writes within one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from crdt_docs.ids import AgentId, MessageId, TaskId, TokenId, TurnId, UserId, new_id
from server.domain import turn as states
from server.domain.access import Role
from server.domain.errors import Conflict, NotFound
from server.domain.turn import Host, Leased, Outcome, Refusal, Renewed, Said, Turn
from server.store import grants
from server.store.database import Database, Row, Transaction

_TURN: Final = (
    "id, task, user, answer, status, attempt, created_at, queued_at, agent, host, given, lease_until, why,"
    " started_at, ended_at"
)
_READ: Final = f"{_TURN}, (SELECT name FROM users u WHERE u.id = turns.user)"


class Turns:
    """The turns of all tasks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what people said

    async def file(self, task: TaskId, said: Sequence[Said], seq: int, now: float) -> Turn | None:
        """Put messages into the task's queued turn, or queue one; what is in a turn already is left where it is.

        ``seq`` is how far the document was searched for messages. The queued turn; None if none of them was news.
        """
        async with self._database.transaction() as tx:
            if not await tx.all(
                "UPDATE tasks SET heard = max(coalesce(heard, 0), ?) WHERE id = ? RETURNING 1", seq, task
            ):
                return None
            news = [one for one in said if await _is_news(tx, task, one)][-states.MOST_MESSAGES :]
            if not news:
                return None
            queued = await _read(tx, "task = ? AND status = 'queued'", task)
            if queued is None:
                turn = states.queue(TurnId(new_id()), task, news, now)
                await _insert(tx, turn)
            else:
                turn = states.add(queued, news, now)
                await _update(tx, turn)
            for one in news:
                await tx.all(
                    "INSERT INTO turn_messages (turn, task, message, user) VALUES (?, ?, ?, ?)",
                    turn.id,
                    task,
                    one.message,
                    one.user,
                )
        return turn

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
        return await _read(self._database, "id = ?", turn)

    async def of_task(self, task: TaskId, limit: int = 50) -> list[Turn]:
        """The task's turns, the newest first."""
        rows = await self._database.all(
            f"SELECT {_READ} FROM turns WHERE task = ? ORDER BY created_at DESC, rowid DESC LIMIT ?", task, limit
        )
        marks = ", ".join("?" * len(rows))
        said = await self._database.all(
            f"SELECT turn, message FROM turn_messages WHERE turn IN ({marks}) ORDER BY id", *(row[0] for row in rows)
        )
        return [_turn(row, [message for turn, message in said if turn == row[0]]) for row in rows]

    async def queued(self) -> list[Turn]:
        """The turns that can be leased now, the oldest first: those of tasks in which none is running."""
        rows = await self._database.all(
            f"SELECT {_READ} FROM turns WHERE status = 'queued' AND NOT EXISTS"
            " (SELECT 1 FROM turns r WHERE r.task = turns.task AND r.status = 'running') ORDER BY queued_at, rowid"
        )
        return [_turn(row) for row in rows]

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

    async def lease(self, turn: TurnId, host: Host, now: float) -> Leased:
        """Give the turn to the host, with a grant. Of all who try at once, one gets it.

        Raises NotFound for what is not its business, Conflict if the turn is taken or over. If who asked may not
        write any more, the turn has failed, and that is the Conflict.
        """
        async with self._database.transaction() as tx:
            found = await _mine(tx, turn, host)
            if await tx.one("SELECT 1 FROM turns WHERE task = ? AND status = 'running'", found.task):
                raise Conflict("Another turn of this task is running.")
            leased = _done(states.lease(found, host, now))
            role = await _role(tx, leased)
            if role is None:
                await _update(tx, states.fail(found, states.GONE, now))
            else:
                given = await grants.give(tx, leased, host, min(role, Role.EDITOR), now)
                leased = replace(leased, grant=given.id)
                await _update(tx, leased)
                named = await tx.one("SELECT 1 FROM tasks WHERE id = ? AND named_by = 'user'", leased.task)
        if role is None:
            raise Conflict(states.GONE)
        return Leased(leased, given, host.name, named is not None)

    async def renew(self, turn: TurnId, host: Host, now: float) -> Renewed:
        """Lengthen the lease and its grant. Raises as ``lease`` does."""
        async with self._database.transaction() as tx:
            renewed = _done(states.renew(await _mine(tx, turn, host), host, now))
            role = await _role(tx, renewed)
            given = None
            if renewed.status == "running" and renewed.grant is not None and role is not None:
                given = await grants.renew(tx, renewed.grant, min(role, Role.EDITOR), now)
            if given is None and renewed.status == "running":
                renewed = states.fail(renewed, states.GONE, now)
            queued = await _read(tx, "task = ? AND status = 'queued'", renewed.task)
            await _update(tx, renewed)
            if given is None:
                await grants.revoke(tx, renewed.grant, now)
        messages = queued.messages if queued is not None and host.may_take(queued) else ()
        return Renewed(renewed, given, messages)

    async def end(
        self, turn: TurnId, host: Host, outcome: Outcome, covered: Iterable[MessageId], why: str | None, now: float
    ) -> tuple[Turn, Turn]:
        """Take the turn back from its host: the turn before and after. What it covered of the queued one is its own.

        Raises as ``lease`` does.
        """
        async with self._database.transaction() as tx:
            before = await _mine(tx, turn, host)
            after = _done(states.end(before, host, outcome, why, now))
            if before.status == "running":
                after = await _leave(tx, after, now)
                if after.status == "done":
                    await _cover(tx, after, covered, host)
        return before, after

    # -- what people and time do

    async def stop(self, turn: TurnId, now: float) -> tuple[Turn, Turn]:
        """Stop it, and its grant with it: the turn before and after. Raises NotFound."""
        async with self._database.transaction() as tx:
            before = await _read(tx, "id = ?", turn)
            if before is None:
                raise NotFound
            after = states.stop(before, now)
            if before.status == "running":
                await _leave(tx, after, now)
            elif after != before:
                await _update(tx, after)
        return before, after

    async def age(self, now: float) -> list[tuple[Turn, Turn]]:
        """Let time do its work on leases and queue: each turn that it changed, before and after."""
        late = "(status = 'running' AND lease_until < ?1) OR (status = 'queued' AND queued_at < ?2)"
        return await self._change(late, (now, now - states.QUEUE_LIFE), now)

    async def abandon(self, hosts: Collection[TokenId], now: float) -> list[tuple[Turn, Turn]]:
        """Take back what these hosts have, who are gone."""
        if not hosts:
            return []
        marks = ", ".join("?" * len(hosts))
        return await self._change(f"status = 'running' AND host IN ({marks})", tuple(hosts), now, states.LOST)

    async def abandon_strays(self, now: float) -> list[tuple[Turn, Turn]]:
        """Take back what hosts have whose bearer is not known: built-in agents of servers before this one."""
        strays = "status = 'running' AND NOT EXISTS (SELECT 1 FROM tokens k WHERE k.id = turns.host)"
        return await self._change(strays, (), now, states.LOST)

    async def _change(
        self, which: str, values: tuple[object, ...], now: float, lost: str | None = None
    ) -> list[tuple[Turn, Turn]]:
        changed = []
        async with self._database.transaction() as tx:
            for row in await tx.all(f"SELECT id FROM turns WHERE {which} ORDER BY rowid", *values):
                before = await _read(tx, "id = ?", row[0])
                if before is None:  # merged into one that came before it
                    continue
                after = states.lose(before, lost, now) if lost is not None else states.age(before, now)
                if before.status == "running":
                    after = await _leave(tx, after, now)
                else:
                    await _update(tx, after)
                changed.append((before, after))
        return changed

    async def forget_grants(self, before: float) -> None:
        """Remove the rows of grants that ended before that time."""
        await self._database.write("DELETE FROM tokens WHERE kind = 'grant' AND expires_at < ?", before)


async def _leave(tx: Transaction, turn: Turn, now: float) -> Turn:
    """Write a turn that does not run any more. Its grant rests after an answer, and is dead after anything else.

    Back in the queue it takes in what was queued meanwhile, so that there is one queued turn.
    """
    if turn.status == "done":
        await grants.rest(tx, turn.grant, now)
    else:
        await grants.revoke(tx, turn.grant, now)
    if turn.status == "queued":
        other = await _read(tx, "task = ? AND status = 'queued'", turn.task)
        if other is not None:
            await tx.all("UPDATE turn_messages SET turn = ? WHERE turn = ?", turn.id, other.id)
            await tx.all("DELETE FROM turns WHERE id = ?", other.id)
            turn = replace(turn, messages=(*turn.messages, *other.messages))
    await _update(tx, turn)
    return turn


async def _cover(tx: Transaction, turn: Turn, covered: Iterable[MessageId], host: Host) -> None:
    """Take what the turn answered out of the queued one, which goes if nothing is left of it."""
    queued = await _read(tx, "task = ? AND status = 'queued'", turn.task)
    if queued is None or not host.may_take(queued):
        return
    for message in states.covered_by(queued, covered):
        await tx.all("UPDATE turn_messages SET turn = ? WHERE task = ? AND message = ?", turn.id, turn.task, message)
    first = await tx.one("SELECT user FROM turn_messages WHERE turn = ? ORDER BY id LIMIT 1", queued.id)
    if first is None:
        await tx.all("DELETE FROM turns WHERE id = ?", queued.id)
    else:
        await _update(tx, replace(queued, user=UserId(first[0])))


def _done(state: Turn | Refusal) -> Turn:
    if isinstance(state, Refusal):
        raise Conflict(state.why)
    return state


async def _mine(tx: Transaction, turn: TurnId, host: Host) -> Turn:
    found = await _read(tx, "id = ?", turn)
    if found is None or not host.may_take(found):
        raise NotFound
    return found


async def _role(tx: Transaction, turn: Turn) -> Role | None:
    """The role of who asked, if it lets an agent answer."""
    row = await tx.one("SELECT role FROM members WHERE task = ? AND user = ?", turn.task, turn.user)
    return Role(row[0]) if row is not None and row[0] >= Role.EDITOR else None


async def _is_news(tx: Transaction, task: TaskId, said: Said) -> bool:
    """Whether it is in no turn yet, and of somebody who is still there."""
    row = await tx.one(
        "SELECT 1 FROM users WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turn_messages WHERE task = ? AND message = ?)",
        said.user,
        task,
        said.message,
    )
    return row is not None


async def _read(tx: Transaction | Database, which: str, *values: object) -> Turn | None:
    row = await tx.one(f"SELECT {_READ} FROM turns WHERE {which}", *values)
    if row is None:
        return None
    said = await tx.all("SELECT message FROM turn_messages WHERE turn = ? ORDER BY id", row[0])
    return _turn(row, [one[0] for one in said])


async def _insert(tx: Transaction, turn: Turn) -> None:
    marks = ", ".join("?" * len(_values(turn)))
    await tx.all(f"INSERT INTO turns ({_TURN}) VALUES ({marks})", *_values(turn))


async def _update(tx: Transaction, turn: Turn) -> None:
    marks = ", ".join("?" * len(_values(turn)))
    await tx.all(f"UPDATE turns SET ({_TURN}) = ({marks}) WHERE id = ?", *_values(turn), turn.id)


def _values(turn: Turn) -> tuple[object, ...]:
    return (
        turn.id,
        turn.task,
        turn.user,
        turn.answer,
        turn.status,
        turn.attempt,
        turn.created_at,
        turn.queued_at,
        turn.agent,
        turn.host,
        turn.grant,
        turn.lease_until,
        turn.why,
        turn.started_at,
        turn.ended_at,
    )


def _turn(row: Row, messages: Sequence[str] = ()) -> Turn:
    return Turn(
        TurnId(row[0]),
        TaskId(row[1]),
        UserId(row[2]),
        MessageId(row[3]),
        row[4],
        row[5],
        row[6],
        row[7],
        AgentId(row[8]) if row[8] else None,
        TokenId(row[9]) if row[9] else None,
        TokenId(row[10]) if row[10] else None,
        row[11],
        row[12],
        row[13],
        row[14],
        row[15] or "",
        tuple(MessageId(message) for message in messages),
    )

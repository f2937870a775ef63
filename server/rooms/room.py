"""One live document: a snapshot and a tail, the gate before it, and the peers around it.

Owns the order of one document's updates and who hears of them. Must never apply, merge or diff by a CRDT engine, and
never fan out what is not committed.

There are two states. *Admitted* is what the gate checks against; *released* is what joins, diffs and barriers use, and
it follows when the writer reports the commit. In between an update is pending, then in flight.

Invariants kept here:
    I2  seq is the log's; ``head`` moves only by what the log answered, and release follows the log's order.
    I3  the released document is spliced from the very updates that the log holds; a compaction swaps in a snapshot
        only after the log has stored it, with the tail since then on top.
    I5  ``Connection.end`` takes a peer out of fan-out and admission at once; ``Rooms.revoke`` then drains the writer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from crdt_docs.ids import DocName
from crdt_docs.messages.vocabulary import State
from crdt_docs.messages.ywebsocket import update_frame, update_rope
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced, merge
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.domain.errors import CLOSE, CLOSE_RESTART
from server.domain.log import Actor, Append, Claim, DocKey, LogFailed, Logged
from server.rooms import slices
from server.rooms.around import Around
from server.rooms.attribution import Attribution, Pending
from server.rooms.connection import Connection
from server.rooms.fanning import FEW, Fanned, together, window
from server.rooms.gate import Gate
from server.rooms.hearing import KeySet, keys_set
from server.rooms.parking import Parking
from server.rooms.tail import weight
from server.rooms.underway import Underway
from server.rooms.verdict import Admit, Kind, Verdict
from server.store.claims import settle

_new = tuple.__new__  # a NamedTuple's own __new__ is Python, and twice as slow
_keyed = attrgetter("keyed")


class Room:
    """A document's room. Everything here is synchronous; what must wait is the registry's."""

    __slots__ = (
        "name", "doc", "generation", "gate", "document", "head", "log_head", "limits", "clock", "lock",
        "lacking", "connections", "crowd", "keyed", "snapshot_size", "tail_size", "idle_since",
        "since_compaction", "compact_after", "quarantined", "dead", "_writer", "_host", "_fan", "_spoke",
        "_releasing", "_paused", "_parking", "_attribution", "_underway", "_window", "_opened", "_rebasing",
    )  # fmt: skip

    def __init__(
        self,
        name: DocName,
        doc: DocKey,
        generation: int,
        gate: Gate,
        document: Spliced,
        head: int,
        around: Around[Room],
    ) -> None:
        self.name = name
        self.doc = doc
        self.generation = generation
        self.gate = gate
        self.document = document
        self.head = self.log_head = head
        self.limits = around.limits
        self.clock = around.clock
        self.lock = asyncio.Lock()
        self.lacking: frozenset[Connection] = frozenset()
        self.connections: set[Connection] = set()
        self.crowd = around.crowds.begin(name)
        gate.seat = self.crowd.principal_of  # a method of its own would keep it alive beyond its end
        self.keyed: Counter[str] = Counter()  # how often a key of each root was set here; for composers
        self.snapshot_size = 0
        self.tail_size = 0
        self.idle_since = around.clock.monotonic()
        self.since_compaction: list[Parsed] | None = None
        self.compact_after = 0.0
        self.quarantined: str | None = None
        self.dead = False
        self._writer = around.writer
        self._host = around.host
        self._fan: tuple[Connection, ...] | None = ()
        self._spoke = False
        self._releasing = False
        self._paused: tuple[Connection, ...] = ()
        self._parking: Parking | None = None  # made for the first who is parked
        self._attribution = Attribution()
        self._underway = Underway(head)
        self._window: asyncio.TimerHandle | None = None
        self._opened = float("-inf")
        self._rebasing = False

    # -- admission

    async def parse(self, update: bytes) -> Parsed:
        """Parse a large update away from the event loop."""
        return await self._host.parse(update)

    async def resolve(self, parsed: Parsed, principal: PrincipalKey, kind: Kind) -> Verdict:
        """Admit in slices, for what is large; the caller holds ``lock``."""
        verdict = await slices.run(self.gate.resolve(parsed, principal, kind))
        if isinstance(verdict, Admit):
            await slices.run(self.document.encode_ahead(verdict.parsed))
        return verdict

    async def bring_ahead(self, parsed: Parsed) -> None:
        """Have what was submitted lie ready for its release, which then takes little; the caller holds ``lock``."""
        await slices.run(self.document.bring_ahead(parsed))

    def submit(self, admit: Admit, actor: Actor) -> None:
        """Take an admitted update on its way to the log. Raises LogFailed while the server is read-only."""
        if self._writer.failure is not None:
            self._writer.check()
        entry = self._attribution.admit(self.gate, admit, actor, self.clock.now())
        parsed, _, delta = admit
        keys: tuple[KeySet, ...] = ()
        for _, runs in delta.runs.values():
            if any(map(_keyed, runs)) and (roots := tuple(admit.roots_set())):  # which no keystroke does
                self.keyed.update(roots)
                keys = tuple(keys_set(parsed, actor))
                break
        self._underway.add(_new(Pending, (entry, parsed, keys)), delta.claims)
        self._writer.kick(self)

    def admitted(self) -> bytes:
        """The document with what is still on its way to the log. No waiting: a rebase may need the lock to end that."""
        underway = self._underway.updates()
        return merge((self.document.full(), *underway)) if underway else self.document.full()

    def when_released(self, then: Callable[[], None]) -> None:
        """Call ``then`` once all that was admitted before is released, at once if it is; never if the commit fails."""
        self._underway.when_released(then)

    async def released(self) -> int:
        """Wait until all that was admitted so far is released; the head then. Raises LogFailed if it failed."""
        if self.dead and not self._underway.settled:
            raise LogFailed()  # who waited when it ended was told; nobody tells who comes later
        await self._underway.wait()
        return self.head

    # -- commit, as the writer drives it

    def take(self) -> Append | None:
        """The next flight for the log."""
        return None if self._rebasing or self.dead else self._underway.take(self.doc)

    def moved(self, head: int) -> None:
        """The flight is in the log."""
        self._underway.moved(head)

    def release(self) -> None:
        """Fan out what landed: at once, or when the window since the last time is over."""
        if self._window is not None:
            return
        now = self.clock.monotonic()
        if len(self.connections) < FEW or (wait := self._opened + window(len(self.connections)) - now) <= 0:
            self._open(now)
        else:
            self._window = asyncio.get_running_loop().call_later(wait, self._window_over)

    def _window_over(self) -> None:
        self._window = None
        try:
            self._open()
        except Exception as error:
            self.failed(error)
            raise

    def _open(self, now: float | None = None) -> None:
        """Fan out what landed: the same bytes to everyone, its sender included, in the log's order."""
        if self._window is not None:
            self._window.cancel()
            self._window = None
        landed = self._underway.land()
        if not landed:
            return
        self._opened = self.clock.monotonic() if now is None else now
        self.head = self._underway.committed
        frames: list[bytes | Rope] = []
        keys: list[KeySet] = []
        edited = False
        self._releasing = True
        try:
            for entry, parsed, set_keys in landed:
                frames.append(self._take_in(entry.update, parsed))
                edited = edited or entry.actor.via != "erasure"
                keys += set_keys
            self._fan_out(frames)
        finally:
            self._released_all()
        if self._underway.released(len(landed)):
            self._underway.answer()
        self._after_release(edited, keys)

    def _released_all(self) -> None:
        """All of it has reached everybody; who was to be parked meanwhile is parked now."""
        self._releasing = False
        if self._paused:
            paused, self._paused = self._paused, ()
            for connection in paused:
                self._hold(connection)

    def _take_in(self, update: bytes, parsed: Parsed) -> bytes | Rope:
        """Make it part of the released document; what everybody is to be handed."""
        self.document.add(parsed, whole=True)  # the gate admits nothing past a Skip
        self.tail_size += weight(parsed)
        if self.since_compaction is not None:
            self.since_compaction.append(parsed)
        if parsed.deletes and self._parking is not None:
            self._parking.released(parsed)
        return update_rope(self.document.rope_of(parsed)) if len(update) > self.limits.long else update_frame(update)

    def _fan_out(self, frames: Iterable[bytes | Rope]) -> None:
        fan = self._fan
        if fan is None:
            fan = self._fan = tuple(c for c in self.connections if c.live and c.parked is None)
        for part in together(frames):
            for connection in fan:
                if connection.alive:
                    (connection.fan or connection.take)(part) if isinstance(part, Fanned) else connection.hand(part)
        self._spoke = True

    def _after_release(self, edited: bool, keys: Sequence[KeySet] = ()) -> None:
        for connection in self.lacking:
            connection.provide()
        self._host.heard(self, edited, keys)
        if self.since_compaction is None and self.limits.outgrown(self.tail_size, self.snapshot_size):
            self._host.wants_compaction(self)
        if self.log_head > self.head:
            self.heard_of(self.log_head)

    def heard_of(self, head: int) -> None:
        """Somebody else moved the log's head: catch up, unless what is on its way to the log will find out itself."""
        self.log_head = max(self.log_head, head)
        if self.log_head > self.head and self.settled and not self.dead:
            self._host.wants_rebase(self)

    def failed(self, error: BaseException) -> None:
        """The commit failed: the gate is ahead of the log, so this room ends and the next one starts from the log."""
        self.dissolve(CLOSE["unavailable"], "the server can't store anything at the moment", LogFailed())

    def dissolve(self, code: int, why: str, error: LogFailed | None = None) -> None:
        """End the room: every peer is closed, what was pending is answered with the error, nothing more is admitted."""
        if self.dead:
            return
        try:
            self._open()  # it is committed, whatever else failed
        finally:
            self._end(code, why, error)

    def _end(self, code: int, why: str, error: LogFailed | None) -> None:
        self.dead = True
        self._underway.drop()
        self._writer.forget(self)
        self._host.drop(self)
        self._underway.answer(error or LogFailed(why))
        for connection in tuple(self.connections):
            connection.end(code, why)

    def conflicted(self) -> None:
        """Somebody else appended: what is in flight must be admitted anew against it."""
        self._underway.turn_back()
        self._rebasing = True
        self.log_head = max(self.log_head, self._underway.committed + 1)
        self._host.wants_rebase(self)

    def rebase(self, tail: list[Logged], expected: int) -> None:
        """Take in what others appended, then admit the pending updates anew: what they brought in the meantime is cut.

        ``expected`` is the log's head as far as we had heard when the tail was read. Synchronous, so nothing comes in
        between. The caller holds ``lock``.
        """
        self._open()
        tail = [logged for logged in tail if logged.seq > self.head]
        if self._underway.flying or not (tail or self._rebasing or expected > self.head):
            return  # nothing new, or the flight will find out by itself
        pending, unlogged = self._underway.withdraw()
        claims = {client: claim for client, claim in self.gate.claims.items() if client not in unlogged}
        if not self._catch_up(tail, expected, claims):
            self.dissolve(CLOSE_RESTART, "the document went on elsewhere")
            return
        self.keyed[""] += 1  # no root's name: anything may have been set
        self.gate = Gate(self.gate.shape, claims.values())
        self.gate.seat = self.crowd.principal_of
        self.gate.restore(parse(self.document.full()))
        self._attribution = Attribution()  # others wrote meanwhile
        self._rebasing = False
        for entry, parsed, keys in pending:
            verdict = self.gate.admit(parsed, entry.actor.principal, "step2" if entry.actor.via == "sync" else "update")
            if not isinstance(verdict, Admit) or verdict.lacking:  # then nobody may be told that it is stored (I2)
                self.dissolve(CLOSE_RESTART, "the document went on elsewhere")
                return
            if verdict.update:
                entry = self._attribution.admit(self.gate, verdict, entry.actor, entry.at)
                self._underway.put_back(Pending(entry, verdict.parsed, keys), verdict.claims)
            else:
                self._underway.released(1)
        if self._underway.pending:
            self._writer.kick(self)
        self._underway.answer()
        self._after_release(True)

    def _catch_up(self, tail: list[Logged], expected: int, claims: dict[int, Claim]) -> bool:
        """Release what others appended and note whose client ids it has; False if it was compacted away meanwhile."""
        first = tail[0].seq if tail else expected + 1
        if first != self.head + 1:
            return False
        frames = []
        self._releasing = True
        try:
            for logged in tail:
                parsed = parse(logged.update)
                frames.append(self._take_in(logged.update, parsed))
                self.head = self._underway.committed = logged.seq
                for section in parsed.sections:
                    claim = Claim(section.client, logged.actor.principal, logged.actor.via == "sync")
                    claims[section.client] = settle(claims.get(section.client), claim) or claims[section.client]
            self._fan_out(frames)
        finally:
            self._released_all()
        return True

    # -- peers

    def join(self, connection: Connection) -> None:
        """Let a peer in; it hears nothing before its SyncStep1 is answered."""
        self.connections.add(connection)

    def go_live(self, connection: Connection) -> None:
        """Its Step2 is handed over: from here on it hears every release."""
        connection.live = True
        self._fan = None

    def park(self, connection: Connection) -> None:
        """Stop handing anything to a peer that does not read; it will go on from the state it was handed."""
        if self._releasing:
            self._paused += (connection,)  # the rest of this release still reaches it, so that its state is one
        else:
            self._hold(connection)

    def _hold(self, connection: Connection) -> None:
        if connection.parked is None and connection.alive:
            if self._parking is None:
                self._parking = Parking()
            self._parking.park(connection, self.document.state_vector, self.clock.monotonic())
            self._fan = None

    def unpark(self, connection: Connection) -> DeleteSet | None:
        """It reads again; what was deleted since it was parked, None if that is not known any more."""
        self._fan = None
        return None if self._parking is None else self._parking.leave(connection)

    def leave(self, connection: Connection) -> None:
        """A peer is gone: take it out of everything and tell the others."""
        self.connections.discard(connection)
        self.lacking -= {connection}
        if self._parking is not None:
            self._parking.leave(connection)
        self._fan = None
        if not self.connections:
            self.idle_since = self.clock.monotonic()
        self.crowd.leave(connection, self.connections)

    def hear_awareness(self, connection: Connection, states: tuple[State, ...]) -> None:
        """What a peer says about itself; what it says about others is dropped."""
        self.crowd.hear(connection, states, self.gate.claims, self.connections, self.clock.now())

    def tell_awareness(self, connection: Connection) -> None:
        """Tell one peer who is here."""
        self.crowd.tell(connection)

    @property
    def wrote_at(self) -> float:
        """When something was last released, by the monotonic clock; long ago if nothing was since it was loaded."""
        return self._opened

    @property
    def settled(self) -> bool:
        """Whether nothing is on its way to the log."""
        return self._underway.settled and not self._rebasing

    def took_spoke(self) -> bool:
        """Whether anything was fanned out since the last call."""
        spoke, self._spoke = self._spoke, False
        return spoke

"""One socket's place in a room: what it may do, how it is answered, and where it stands in the sync conversation.

Owns the y-websocket conversation of one peer. Must never block, and never hold more than a bounded amount for a reader
that does not read: it is *parked* at the state it was last handed, and goes on from there when it drains.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import Bytes
from crdt_docs.messages import Awareness, Barrier, Notice, QueryAwareness, Refused, Renew, SyncStep1, SyncStep2, Update
from crdt_docs.messages.ywebsocket import (
    ClientMessage,
    decode,
    decode_long,
    encode,
    keystroke_of,
    step1_frame,
    step2_rope,
    update_frame,
    update_rope,
)
from crdt_docs.rope import Rope
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.vectors import StateVector, decode_in_slices, decode_state_vector, encode_state_vector
from server.domain.access import Principal, Role, may_write
from server.domain.errors import CLOSE, CLOSE_GAP, CLOSE_TOO_FAST, ClewError
from server.domain.log import Actor
from server.rooms import slices
from server.rooms.fanning import Fanned
from server.rooms.place import Place
from server.rooms.quota import WHY, Quota
from server.rooms.transport import Transport as Transport
from server.rooms.verdict import Admit, Kind, Lacking, Refuse, Verdict

EMPTY_AWARENESS = b"\x01\x01\x00"


class Connection:
    """A peer in a room. ``receive`` what it says; ``pause`` and ``resume`` as it reads; ``leave`` when it is gone."""

    __slots__ = (
        "room", "quota", "principal", "role", "transport", "expires_at", "until", "renew", "renewal_asked",
        "feed", "fan", "alive", "live", "quiet", "shown", "parked", "parked_since", "_controls",
        "_resync_wanted", "_asked", "_provoked", "_greeted", "_fruitless", "_lacking", "_barriers", "_typist",
    )  # fmt: skip

    def __init__(self, room: Place[Connection], principal: Principal, role: Role, transport: Transport) -> None:
        self.room = room
        self.quota: Quota | None = None  # set for agents
        self.principal = principal
        self.role = role
        self.transport = transport
        self.expires_at = principal.expires_at
        self.until: float | None = None  # when its party's time on the task is over (Unix seconds)
        self.renew: Callable[[str], Awaitable[None]] | None = None  # set for those whose lease a ticket renews
        self.renewal_asked = False
        self.feed: Callable[[Rope], None] | None = None  # set where a shell can send a frame piece by piece
        self.fan: Callable[[Fanned], None] | None = None  # set where a shell hands many the same bytes
        self.alive = True
        self.live = False  # registered for fan-out: only from its Step2 on, or frames would overtake it
        self.quiet = True
        self.shown = 0  # the last seq that it had been handed when it was last heard of: what its person has seen
        self.parked: StateVector | None = None
        self.parked_since = 0.0
        self._controls: tuple[bytes, ...] = ()
        self._resync_wanted: StateVector | None = None
        self._asked = True  # our SyncStep1 is unanswered; so it counts as asked before it is even sent
        self._provoked = False
        self._greeted = False
        self._fruitless = 0
        self._lacking: tuple[Lacking, ...] = ()
        self._barriers: tuple[bytes, ...] = ()
        self._typist: tuple[Principal, Actor] | None = None  # who is named for keystrokes: made once for many

    def change_role(self, role: Role) -> None:
        """From the next frame on; a page is told. Who may write now is asked for what was refused before."""
        before, self.role = self.role, role
        if role != before:
            self.tell_page({"kind": "role", "task": self.room.name.task, "role": role.name.lower()})
        part = self.room.name.part
        if may_write(role, part) and not may_write(before, part) and not self._asked:
            self.ask()

    def tell_page(self, notice: dict[str, str]) -> None:
        """Tell a person's page something beside the document; whoever came without a cookie is none."""
        if self.principal.login is not None:
            self.send(encode(Notice(json.dumps(notice, separators=(",", ":")))))

    def regrant(self, role: Role, expires_at: float) -> None:
        """Its credential was given another role and life."""
        self.go_on_as(replace(self.principal, cap=role, expires_at=expires_at), role)

    def is_over(self, now: float) -> bool:
        """Whether its time has run out (Unix seconds); then it is closed, and told which time it was."""
        if self.until is not None and now >= self.until:
            self.end(CLOSE["forbidden"], "delegation_over")
        elif self.expires_at is not None and now > self.expires_at:
            self.end(CLOSE["unauthenticated"], "your lease has run out")
        return not self.alive

    def go_on_as(self, principal: Principal, role: Role) -> None:
        """The same party has shown another credential: from here on this one bounds and names it."""
        self.principal = principal
        self.expires_at = principal.expires_at
        self.renewal_asked = False
        self.change_role(role)

    # -- what the peer says

    def receive(self, frame: Bytes) -> Awaitable[None] | None:
        """Take one frame. What it answers, if anything, is to be awaited before the next frame is read.

        A bytearray is given away: a long update is taken out of it where it lies.
        """
        if not self.alive:
            return None
        room = self.room
        if (self.until is not None or self.expires_at is not None) and self.is_over(room.clock.now()):
            return None
        if self.live and self.parked is None:
            self.shown = room.head
        limits = room.limits
        if len(frame) > limits.frame:
            self.end(CLOSE["too_large"], f"frame over {limits.frame} bytes")
            return None
        if len(frame) > limits.inline_frame or room.lock.locked():
            return self._receive_in_turn(frame)
        try:
            frame = bytes(frame)
            if (update := keystroke_of(frame)) is not None and may_write(self.role, room.name.part):
                self._hear_keystroke(update)
                return None
            return self._hear(frame)
        except Malformed as error:
            self._refuse_bytes(error)
            return None
        except ClewError as error:
            self.end(CLOSE[error.code], error.why)
            return None

    def _hear_keystroke(self, update: bytes) -> None:
        """What ``_hear`` and ``_settle`` come to for nearly every frame there is, with little in between."""
        typist = self._typist
        if typist is None or typist[0] is not self.principal:
            typist = self._typist = self.principal, Actor.of(self.principal, "socket")
        actor = typist[1]
        verdict = self.room.gate.admit(parse(update), actor.principal, "update")
        if verdict.__class__ is Admit and verdict.parsed.update and self.quota is None:
            self.room.submit(verdict, actor)
        else:
            self._settle(verdict, "update", update)

    def _hear(self, frame: bytes) -> Awaitable[None] | None:
        message = decode(frame)
        match message:
            case Update(update):
                if self._allows(message):
                    self._settle(self._admit(parse(update), "update"), "update", update)
            case SyncStep2(update):
                if self._allows(message):
                    self._settle(self._admit(parse(update), "step2"), "step2", update)
            case SyncStep1(vector):
                self._answer(decode_state_vector(vector, self.room.limits.entries(self.room.gate.state_vector)))
            case Awareness(states):
                self.room.hear_awareness(self, states)
            case QueryAwareness():
                self.room.tell_awareness(self)
            case Barrier():
                self._barrier(frame)
            case Renew(ticket):
                return self.renew(ticket) if self.renew else None
        return None

    async def _receive_in_turn(self, frame: Bytes) -> None:
        """The slow road, for what is large or finds the room busy: parsed in a worker, admitted in slices."""
        room = self.room
        try:
            message = _decode(frame) if len(frame) > room.limits.inline_frame else None
            parsed = have = None
            if isinstance(message, Update | SyncStep2):
                if not self._allows(message):
                    return
                parsed = await room.parse(message.update)
            elif isinstance(message, SyncStep1):
                most = room.limits.entries(room.gate.state_vector)
                have = await slices.run(decode_in_slices(message.state_vector, most))
            async with room.lock:
                if not self.alive:
                    return
                heard = None
                if have is not None:
                    self._answer(have)
                elif parsed is None or not isinstance(message, Update | SyncStep2):
                    heard = self._hear(bytes(frame))
                else:
                    kind: Kind = "update" if isinstance(message, Update) else "step2"
                    verdict = await room.resolve(parsed, self.principal.key, kind)
                    if self.alive and self._allows(message):  # asked again: the role may have changed meanwhile
                        self._settle(verdict, kind, message.update)
                        if isinstance(verdict, Admit) and self.alive:
                            await room.bring_ahead(verdict.parsed)
            if heard is not None:
                await heard
        except Malformed as error:
            self._refuse_bytes(error)
        except ClewError as error:
            self.end(CLOSE[error.code], error.why)

    def _refuse_bytes(self, error: Malformed) -> None:
        self.end(CLOSE["too_large" if isinstance(error, TooLarge) else "invalid"], str(error))

    def _allows(self, message: Update | SyncStep2) -> bool:
        """Whether the role may write here; says so if not. A Step2 is a write too, and a viewer's is ignored."""
        if may_write(self.role, self.room.name.part):
            return True
        if isinstance(message, Update):
            self.send(encode(Refused(CLOSE["forbidden"], "your role may not write here")))
        else:
            self._answered()  # its barriers need not wait for what can't come
        return False

    def _admit(self, parsed: Parsed, kind: Kind) -> Verdict:
        return self.room.gate.admit(parsed, self.principal.key, kind)

    def _settle(self, verdict: Verdict, kind: Kind, update: bytes) -> None:
        if isinstance(verdict, Refuse):
            self.end(verdict.code, verdict.why)
        elif isinstance(verdict, Admit):
            if verdict.update and self.quota is not None and not self.quota.spend(len(verdict.update)):
                self.end(CLOSE_TOO_FAST, WHY)
            elif verdict.update:
                self.room.submit(verdict, Actor.of(self.principal, "socket" if kind == "update" else "sync"))
            elif kind == "update":
                self.room.when_released(lambda: self.send(update_frame(update)))  # known: a receipt, but no news
            if kind == "step2":
                self._step2_admitted(verdict)
        elif not self._asked:
            self.ask(provoked=True)

    def _step2_admitted(self, verdict: Admit) -> None:
        self._lacking = verdict.lacking[: self.room.limits.lacking]
        if verdict.lacking:
            self.room.lacking |= {self}
        if verdict.lacking and not verdict.update and self._provoked:
            self._fruitless += 1
            if self._fruitless >= self.room.limits.fruitless:
                self.end(CLOSE_GAP, "the gap in what you sent does not close")
                return
        else:
            self._fruitless = 0
        self._answered()

    def _answered(self) -> None:
        self._asked = self._provoked = False
        barriers, self._barriers = self._barriers, ()
        for frame in barriers:
            self._barrier(frame)

    def _barrier(self, frame: bytes) -> None:
        """Answer once all before it is durable. While our SyncStep1 is unanswered we may have dropped some of it."""
        if not self._asked:
            self.room.when_released(lambda: self.send(frame))
        elif len(self._barriers) < self.room.limits.controls:
            self._barriers += (frame,)
        else:
            self.end(CLOSE["unavailable"], "too many barriers before your SyncStep2")

    # -- what it is told

    def ask(self, *, provoked: bool = False) -> None:
        """Send our SyncStep1; at most one is open."""
        self._asked = True
        self._provoked = provoked
        self.send(step1_frame(encode_state_vector(self.room.gate.state_vector)))

    def ask_again(self) -> None:
        """The peer begins its handshake anew: it is asked what it has, unless that is open already."""
        if self._greeted and not self._asked:
            self.ask()

    def wants_renewal(self, now: float, before: float) -> bool:
        """Whether its lease ends soon and it has not been asked for a new ticket yet. Times are Unix seconds."""
        soon = self.expires_at is not None and self.expires_at < now + before
        return soon and self.renew is not None and not self.renewal_asked

    def ask_renewal(self) -> None:
        """Ask for a new ticket."""
        self.renewal_asked = True
        self.send(encode(Renew("")))

    def provide(self) -> None:
        """Something was released: if it is what a Step2 of this connection lacked, ask once more."""
        have = self.room.gate.state_vector
        if not self._asked and any(have.get(client, 0) > clock for client, clock in self._lacking):
            self._lacking = ()
            self.room.lacking -= {self}
            self.ask(provoked=True)

    def _answer(self, have: StateVector) -> None:
        if self.parked is not None:
            self._resync_wanted = have
            return
        self.quiet = False
        self.hand(step2_rope(self.room.document.rope(have)))
        if self._greeted:
            return
        self._greeted = True
        self.room.go_live(self)
        self.ask()
        self.room.tell_awareness(self)

    def send(self, frame: bytes) -> None:
        """Say something to this peer alone; kept, within bounds, while it is parked."""
        if not self.alive:
            return
        self.quiet = False
        if self.parked is None:
            self.transport.send(frame)
        elif len(self._controls) < self.room.limits.controls:
            self._controls += (frame,)
        else:
            self.end(CLOSE["unavailable"], "slow reader")

    def take(self, fanned: Fanned) -> None:
        """Hand over what others are handed too. It must be alive, and not parked."""
        if self.fan is not None:
            self.fan(fanned)
        else:
            for message in fanned.messages:
                self.transport.send(message)

    def hand(self, frame: Rope) -> None:
        """Hand over what may be long. It must be alive, and not parked."""
        if self.feed is not None and len(frame) > self.room.limits.long:
            self.feed(frame)
        else:
            self.transport.send(bytes(frame))

    # -- how it reads

    def progress(self) -> None:
        """It takes what it was handed, be it slowly."""
        self.parked_since = self.room.clock.monotonic()

    def pause(self) -> None:
        """The shell's buffer is over its limit: queue nothing more for this peer."""
        if self.alive and self.parked is None:
            self.room.park(self)

    def resume(self) -> None:
        """The shell's buffer has drained: bring this peer from where it was parked to where the document is."""
        if not self.alive or self.parked is None:
            return
        have, self.parked = self.parked, None
        controls, self._controls = self._controls, ()
        wanted, self._resync_wanted = self._resync_wanted, None
        deleted = self.room.unpark(self)
        if self.live:
            missed = self.room.document.rope(have, deleted)
            if len(missed) > 2:
                self.quiet = False
                self.hand(update_rope(missed))
            self.room.tell_awareness(self)
        for frame in controls:
            self.send(frame)
        if wanted is not None:
            self._answer(wanted)

    def end(self, code: int, why: str) -> None:
        """Close from our side; nothing of this peer is admitted, and nothing handed to it, from here on (I5)."""
        if self.alive:
            self.leave()
            self.transport.close(code, why)

    def bid_farewell(self) -> None:
        """It went on its own accord: what it was handed it has shown."""
        if self.alive and self.live and self.parked is None:
            self.shown = self.room.head

    def leave(self) -> None:
        """The socket is gone, or about to be."""
        if self.alive:
            self.alive = False
            self._controls = self._barriers = ()
            self.room.leave(self)


def _decode(frame: Bytes) -> ClientMessage:
    return decode(frame) if isinstance(frame, bytes) else decode_long(frame)

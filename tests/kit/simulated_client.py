"""A y-websocket client as stock ones are, modelled over pycrdt: it speaks at all the wrong moments, and means well.

What it copies from ``y-websocket.js`` 3.1 and yjs: SyncStep1 and presence on opening; keystrokes at once, also before
it has answered our SyncStep1; nothing queued while offline; what cannot be integrated is held back and carried, behind
a Skip, in its next SyncStep2; tabs of one browser hear each other first; a tab that loses its socket makes its
neighbours forget everybody; all presence that it hears is sent back (``relays``, which many can do without). Texts
stay in the plane where one character is one UTF-16 unit, for the engines part on the others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from kit.ledger import can_integrate
from kit.network import Wire
from kit.y_awareness import YAwareness
from pycrdt import Array, Doc, Map, Text, TransactionEvent, XmlElement, XmlFragment, XmlText, merge_updates

from crdt_docs.messages import (
    Awareness,
    Barrier,
    QueryAwareness,
    Refused,
    SyncStep1,
    SyncStep2,
    Update,
)
from crdt_docs.messages.vocabulary import State
from crdt_docs.messages.ywebsocket import Message, ServerMessage, encode
from crdt_docs.updates.vectors import decode_state_vector
from server.domain.access import Principal

Dial = Callable[["StockClient"], Wire]
LETTERS = "abcdefghijklmnopqrstuvwxyz  ."
WORDS = ("one", "zwei", "三", "\U0001f600 four")


class Browser:
    """A BroadcastChannel: whoever is in it hears what the others publish, a moment later, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop, draw: random.Random) -> None:
        self.tabs: list[StockClient] = []
        self._loop = loop
        self._draw = draw

    def publish(self, sender: StockClient, message: Message) -> None:
        """Tell the other tabs."""
        for tab in self.tabs:
            if tab is not sender:
                self._loop.call_later(0.0005 + 1e-9 * tab.number, tab.overheard, message)


class StockClient:
    """One tab: a document, a provider, and somebody who types."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seed: str,
        number: int,
        principal: Principal,
        dial: Dial,
        browser: Browser | None = None,
        *,
        relays: bool = True,
    ) -> None:
        self.number = number
        self.principal = principal
        self.draw = random.Random(f"{seed}/client/{number}")
        self.wire: Wire | None = None
        self._greeted: Wire | None = None
        self.should_connect = True
        self.ended: int | None = None
        self.refusals: list[Refused] = []
        self.synced = False
        self.made: list[bytes] = []
        self.confirmed: list[bytes] = []
        self.open_barriers: dict[int, int] = {}
        self.browser = browser
        self.relays = relays
        self._loop = loop
        self._dial = dial
        self._attempts = 0
        self._lives = 0
        self._barrier = 0
        self._applying = False
        self._open(None)
        if browser is not None:
            browser.tabs.append(self)

    # -- the document

    def _open(self, stored: bytes | None) -> None:
        self._lives += 1
        self.client = self.draw.getrandbits(31) + 1
        self.doc: Doc[Any] = Doc(client_id=self.client)
        self.text = self.doc.get("t", type=Text)
        self.map = self.doc.get("m", type=Map)
        self.array = self.doc.get("a", type=Array)
        self.xml = self.doc.get("x", type=XmlFragment)
        self.pending: list[bytes] = []
        self.made.clear()
        self.confirmed.clear()
        self.open_barriers.clear()
        if stored is not None:
            self.doc.apply_update(stored)
        self._subscription = self.doc.observe(self._edited)
        self.awareness = YAwareness(self.client)

    def vector(self) -> dict[int, int]:
        """What the document has."""
        return decode_state_vector(self.doc.get_state())

    def view(self) -> dict[str, Any]:
        """What a person sees."""
        return view(self.doc)

    def apply(self, update: bytes) -> None:
        """Take in an update from elsewhere, and whatever had been waiting for it."""
        self.pending.append(update)
        moved = True
        while moved:
            moved = False
            for waiting in list(self.pending):
                if can_integrate(waiting, self.vector()):
                    self._applying = True
                    self.doc.apply_update(waiting)
                    self._applying = False
                    self.pending.remove(waiting)
                    moved = True

    def encode(self, vector: bytes) -> bytes:
        """``encodeStateAsUpdate``, with what is pending."""
        update = self.doc.get_update(vector)
        return merge_updates(update, *self.pending) if self.pending else update

    def _edited(self, event: TransactionEvent) -> None:
        if not self._applying:
            self.made.append(event.update)
            self._broadcast(Update(event.update))

    def edit(self) -> None:
        """Type something, somewhere."""
        with self.doc.transaction():
            for _ in range(self.draw.choice((1, 1, 1, 2, 5))):
                self.draw.choice((self._type, self._type, self._set, self._list, self._write))()

    def _type(self) -> None:
        _scribble(self.text, self.draw)

    def _set(self) -> None:
        key = f"k{self.draw.randrange(4)}"
        nested = sorted(k for k in self.map if isinstance(self.map[k], Map | Text))
        match self.draw.randrange(6):
            case 0 if key in self.map:
                del self.map[key]
            case 1:
                self.map[key] = Map({"n": self.draw.randrange(9)})
            case 2:
                self.map[key] = Text("note")
            case 3 if nested:
                inner = self.map[self.draw.choice(nested)]
                if isinstance(inner, Map):
                    inner[f"i{self.draw.randrange(2)}"] = self.draw.choice(WORDS)
                else:
                    _scribble(inner, self.draw)
            case _:
                self.map[key] = self.draw.choice((self.draw.randrange(99), *WORDS))

    def _list(self) -> None:
        size = len(self.array)
        if size and self.draw.random() < 0.4:
            del self.array[self.draw.randrange(size)]
        else:
            at = self.draw.randint(0, size)
            self.array.insert(at, Map({"x": 1}) if self.draw.random() < 0.2 else self.draw.choice(WORDS))

    def _write(self) -> None:
        nodes = self.xml.children
        match self.draw.randrange(5):
            case 0 if len(nodes):
                del nodes[self.draw.randrange(len(nodes))]
            case 1 | 2 if len(nodes):
                node = nodes[self.draw.randrange(len(nodes))]
                if isinstance(node, XmlElement) and len(node.children):
                    inner = node.children[0]
                    if isinstance(inner, XmlText):
                        _scribble(inner, self.draw)
            case _:
                tag = self.draw.choice(("paragraph", "heading"))
                node = nodes.insert(self.draw.randint(0, len(nodes)), XmlElement(tag))
                node.children.append(XmlText("words"))

    # -- the provider

    def connect(self) -> None:
        """``setupWS``."""
        if self.should_connect and self.wire is None and self.ended is None:
            self.wire = self._dial(self)
            self.synced = False
            self._loop.call_later(self.draw.uniform(0.001, 0.05), self._handshake, self.wire)

    def _handshake(self, wire: Wire) -> None:
        if self.wire is wire and wire.open:
            wire.up(encode(SyncStep1(self.doc.get_state())))
            if self.client in self.awareness.states:
                wire.up(encode(Awareness(self.awareness.encode((self.client,)))))
            self._greeted = wire

    def connect_browser(self) -> None:
        """``connectBc``."""
        if self.browser is not None:
            self.browser.publish(self, SyncStep1(self.doc.get_state()))
            self.browser.publish(self, SyncStep2(self.encode(b"\x00")))
            self.browser.publish(self, QueryAwareness())
            self.browser.publish(self, Awareness(self.awareness.encode((self.client,))))

    def disconnect(self) -> None:
        """``provider.disconnect()``: goodbye at the same clock, then a proper close."""
        self.should_connect = False
        self._broadcast(Awareness(self.awareness.goodbye()))
        if self.wire is not None:
            self.wire.hang_up()

    def reload(self, stored: bool) -> None:
        """The page is loaded anew: another client id, and only what was stored."""
        update = self.doc.get_update() if stored else None
        if self.wire is not None:
            self.wire.cut()
        self._open(update)
        self.should_connect = True
        self.connect_browser()
        self.connect()

    def resync(self) -> None:
        """``resyncInterval``."""
        self._send(SyncStep1(self.doc.get_state()))

    def barrier(self) -> None:
        """Ask whether all so far is durable; what was made before is in ``confirmed`` once it is."""
        if self.usable:
            self._barrier += 1
            self.open_barriers[self._barrier] = len(self.made)
            self._send(Barrier(self._barrier))

    def show(self) -> None:
        """Move the cursor."""
        self._broadcast(Awareness(self.awareness.set({"cursor": self.draw.randrange(99)})))

    def renew(self) -> None:
        """What y-protocols does every 15 s."""
        if self.client in self.awareness.states:
            self._broadcast(Awareness(self.awareness.set(self.awareness.states[self.client])))

    @property
    def usable(self) -> bool:
        """Whether the socket is open, and the handshake said."""
        return self.wire is not None and self._greeted is self.wire and self.wire.open

    def _send(self, message: Message) -> None:
        if self.usable and self.wire is not None:
            self.wire.up(encode(message))

    def _broadcast(self, message: Message) -> None:
        self._send(message)
        if self.browser is not None:
            self.browser.publish(self, message)

    # -- what it hears

    def opened(self, wire: Wire) -> None:
        """Nothing: the handshake goes by its own timer."""

    def heard(self, wire: Wire, message: ServerMessage) -> None:
        """A frame from the server."""
        if wire is not self.wire:
            return
        match message:
            case Barrier(number):
                made = self.open_barriers.pop(number)
                self.confirmed.extend(self.made[:made])
            case Refused():
                self.refusals.append(message)
            case SyncStep2():
                self.synced = True
                self._attempts = 0
        for reply in self._read(message):
            self._send(reply)

    def overheard(self, message: Message) -> None:
        """A message from a tab beside this one."""
        if self.browser is not None:
            for reply in self._read(message):
                self.browser.publish(self, reply)

    def closed(self, wire: Wire, code: int) -> None:
        """The socket is gone."""
        if wire is not self.wire:
            return
        self.wire = None
        self.synced = False
        self.open_barriers.clear()
        gone: tuple[State, ...] = tuple(
            State(client, self.awareness.clocks[client], None)
            for client in self.awareness.states
            if client != self.client
        )
        self.awareness.close()
        if self.browser is not None and gone:
            self.browser.publish(self, Awareness(gone))
        if 4400 <= code <= 4499:
            self.ended = code
            return
        self._attempts += 1
        self._loop.call_later(min(2**self._attempts * 0.1, 2.5), self.connect)

    def _read(self, message: Message) -> list[Message]:
        match message:
            case SyncStep1(vector):
                return [SyncStep2(self.encode(vector))]
            case SyncStep2(update) | Update(update):
                self.apply(update)
            case Awareness(states):
                changed = self.awareness.apply(states)
                if changed and (self.relays or any(state.client == self.client for state in changed)):
                    self._broadcast(Awareness(changed))
            case QueryAwareness():
                return [Awareness(self.awareness.encode(self.awareness.states))]
        return []


def view(doc: Doc[Any]) -> dict[str, Any]:
    """A document's shared types as plain values."""
    return {
        "t": doc.get("t", type=Text).diff(),
        "m": doc.get("m", type=Map).to_py(),
        "a": doc.get("a", type=Array).to_py(),
        "x": str(doc.get("x", type=XmlFragment)),
    }


def _scribble(text: Any, draw: random.Random) -> None:
    size = len(text)
    match draw.randrange(5):
        case 0 if size > 2:
            start = draw.randrange(size - 1)
            del text[start : min(size, start + draw.randint(1, 4))]
        case 1 if size > 2:
            start = draw.randrange(size - 1)
            text.format(start, min(size, start + draw.randint(1, 6)), {"bold": draw.choice((True, None))})
        case _:
            text.insert(draw.randint(0, size), "".join(draw.choices(LETTERS, k=draw.randint(1, 4))))

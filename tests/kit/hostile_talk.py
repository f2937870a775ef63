"""What hostile clients say on either wire: every message type, mutants of real messages, odd updates, and mere bytes.

Owns how messages are drawn; every draw is the caller's. Must never wait for an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from kit.mutated_updates import flip, mutant
from kit.odd_updates import OddAuthor
from kit.recordings import read_recordings

from crdt_docs.lib0 import varbytes, varstring, varuint
from crdt_docs.schema import ROOTS
from server.rooms.verdict import Known

FOUR: Final = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")
EMPTY: Final = 2


def real_talks() -> list[list[bytes]]:
    """What stock clients were heard to write, one list a document, in order.

    Every character of four bytes became two of two bytes, which are as many bytes, and as many units, as it had:
    where a pair is cut, yrs and yjs part.
    """
    talks = []
    for recording in read_recordings():
        said = [event.payload for event in recording.events if event.what in ("step2", "update")]
        said = [FOUR.sub("éé".encode(), one) for one in said if EMPTY < len(one) < 20_000]
        if len(said) > 20:
            talks.append(said)
    return talks


class HostileTalk:
    """Messages about one document.

    ``known`` is what its author knows of it, ``said`` what was honestly said in it; the caller keeps both up to date.
    """

    def __init__(self, r: Random, said: list[bytes], known: Known, address: str, credentials: list[str]) -> None:
        self._r = r
        self._said = said
        self._known = known
        self._wild = r.choice((0.0, 0.1, 0.5))
        self._address = address
        self._credentials = credentials
        self._author = OddAuthor(r, [*ROOTS, *("notes", "free") * 3])
        self._kinds = self._each_kind()

    def plain(self) -> bytes:
        """A message for the y-websocket wire."""
        return self._bent(self._body(False))

    def addressed(self) -> bytes:
        """A message for the Hocuspocus wire."""
        r = self._r
        if r.random() < 0.03:
            return bytes((r.choice((9, 10)),))
        address = self._address
        if r.random() < 0.15:
            address = r.choice((f"{address}/margin", f"{address}\0{r.random()}", "nowhere", "", "x" * 300))
        return self._bent(varstring(address) + self._body(True))

    def auth(self) -> bytes:
        """An Auth message with a credential that is good."""
        return varstring(self._address) + b"\x02\x00" + varstring(self._credentials[0]) + varstring("4.8.0")

    def shreds(self, message: bytes) -> list[bytes]:
        """A message in fragments, some of them empty."""
        cuts = sorted(self._r.randrange(len(message) + 1) for _ in range(self._r.randint(1, 6)))
        return [message[start:end] for start, end in zip([0, *cuts], [*cuts, len(message)], strict=True)]

    def junk(self) -> bytes:
        """Bytes for a socket after its handshake that are mostly no WebSocket frames."""
        r = self._r
        head = bytes((r.randrange(256), r.randrange(256)))
        if r.random() < 0.5:  # a masked frame of any opcode with any reserved bits
            head = bytes((r.choice((0, 0x80)) | r.randrange(128), 0x80 | r.choice((0, 5, 125, 126, 127))))
        return head + r.randbytes(r.randint(0, 200))

    def _bent(self, message: bytes) -> bytes:
        r = self._r
        if r.random() > self._wild or not message:
            return message
        bends: tuple[Callable[[bytes], bytes], ...] = (
            lambda one: flip(r, one),
            lambda one: one[: r.randrange(len(one))],
            lambda one: one + r.randbytes(r.randint(1, 5)),
            lambda one: one + one,
        )
        return r.choice(bends)(message)

    def _body(self, addressed: bool) -> bytes:
        r = self._r
        drawn = r.random() if r.random() < self._wild else 0.5
        if drawn < 0.15:
            return varuint(next(self._kinds)) + r.choice((b"", b"\x00", r.randbytes(r.randint(0, 40))))
        if drawn < 0.75:
            return b"\x00" + r.choice((b"\x01", b"\x02", b"\x02")) + varbytes(self._update())
        if drawn < 0.83:
            return b"\x00\x00" + varbytes(self._vector())
        if drawn < 0.93:
            return b"\x01" + varbytes(self._presence())
        if addressed:
            stateless = json.dumps({"clew": "barrier", "n": r.randrange(100)}) if r.random() < 0.5 else "hi"
            token = varstring(r.choice((*self._credentials, "ticket.x", "nobody")))
            return r.choice((b"\x02\x00" + token, b"\x05" + varstring(stateless), b"\x03", b"\x07", b"\x08\x01"))
        return r.choice((b"\x03", b"\x64" + varuint(r.randrange(2**40)), b"\x66" + varstring("x"), r.randbytes(20)))

    def _update(self) -> bytes:
        r = self._r
        if r.random() < 0.5 or not self._said:
            return self._author.write(self._known.state_vector, list(self._known.types))
        return mutant(r, r.choice(self._said), self._said)

    def _vector(self) -> bytes:
        r = self._r
        if r.random() < 0.3:
            return varuint(r.choice((2**29, 2**40, 5))) + r.randbytes(r.randint(0, 9))
        have = [(client, r.randrange(end + 2)) for client, end in self._known.state_vector.items()]
        return varuint(len(have)) + b"".join(varuint(client) + varuint(clock) for client, clock in have)

    def _presence(self) -> bytes:
        r = self._r
        states = []
        for _ in range(r.choice((0, 1, 1, 3))):
            state = r.choice(("null", "{}", '{"cursor": 1}', "{oops", "[1]", '{"user": {"name": "x"}}', '{"a": NaN}'))
            client = r.choice([*self._known.state_vector, r.randrange(2**53)])
            states.append(varuint(client) + varuint(r.choice((0, 1, r.randrange(2**40)))) + varstring(state))
        return varuint(len(states)) + b"".join(states)

    def _each_kind(self) -> Iterator[int]:
        """All message types there could be in a byte, in ever new orders."""
        while True:
            yield from self._r.sample(range(256), 256)

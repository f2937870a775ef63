"""The hand that writes the answer: streamed text into ``messages[answer].text``, a transaction a flush.

Owns the answer's entry and the place at which it goes on. Must never write in another entry, overwrite, or cut a
character; where people edit in it meanwhile, their words stay.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Final

from pycrdt import Doc, Map, Text

from agent.prose import Echo, Prose, place_after
from agent.turn import Ref
from crdt_docs import entries
from crdt_docs.ids import new_ordered_id
from crdt_docs.offsets import engine_offset
from crdt_docs.values import plain
from crdt_docs.working_set import put_entry

TAIL: Final = 64
MAX_ANSWER: Final = 50_000
"""Characters of one answer, in all attempts; what comes after is not written."""
BREAK: Final = "\n\n"


_SPACE: Final = uuid.UUID("5d1b7f36-6c0e-4a53-9d0e-8a4d0f4c2e11")
"""A namespace of this module's own (RFC 9562, section 5.5)."""
PLACES: Final = 16


def find_place(doc: Doc[Any], answer: str, *, turn: str, begun: bool) -> str:
    """The id to write under: ``answer``, or where somebody else stands there the next that is free.

    Every attempt finds the same. ``begun`` if an earlier one may have written already: what looks as if is gone on in.
    """
    messages: Map[Any] = doc.get("messages", type=Map)
    for number in range(PLACES):
        place = _displaced(answer, number) if number else answer
        if place not in messages:
            return place
        entry = messages[place]
        if begun and isinstance(entry, Map) and (entry.get("role"), entry.get("turn")) == ("agent", turn):
            return place
    return new_ordered_id(uuid.UUID(answer).int >> 80)


def _displaced(answer: str, number: int) -> str:
    """Another UUIDv7 of the same millisecond, the same one for everybody who asks."""
    dice = uuid.uuid5(_SPACE, f"{answer} {number}").int
    time = uuid.UUID(answer).int >> 80
    middle, rest = dice >> 64 & 0xFFF, dice & (1 << 62) - 1
    return str(uuid.UUID(int=time << 80 | 7 << 76 | middle << 64 | 2 << 62 | rest))


class Removed(Exception):
    """The answer's entry was there, and somebody took it away: they don't want it."""


class Pen:
    """Made on a synced document; ``begun`` is what an earlier attempt left there.

    P1  an entry that is there is gone on in, one that is not is made with the first words
    P2  what an earlier attempt wrote is not written again
    P3  a flush is one transaction and ends where a word does, the last one apart
    """

    def __init__(self, doc: Doc[Any], answer: str, *, turn: str, author: str, now: int) -> None:
        self._doc = doc
        self._answer = answer
        self._entry = entries.message("", author=author, at=now, role="agent", turn=turn)
        self.begun = self._words()
        self._made = self._found() is not None
        self._echo = Echo(self.begun)
        self._prose = Prose()
        self._tail = self.begun[-TAIL:]
        self._written = len(self.begun)
        self._follows = False

    @property
    def full(self) -> bool:
        """Whether the answer has all the characters that it may."""
        return self._written >= MAX_ANSWER

    def say(self, text: str) -> None:
        """Take words to write. Nothing happens to the document yet."""
        if text and self._follows:
            self._follows, text = False, BREAK + text
        self._prose.take(self._echo.hear(text))

    def follow(self) -> None:
        """Write the rest. The next words, if there are any, are about something else: they begin a paragraph.

        Raises Removed.
        """
        self._echo.pause()
        while self._write(self._prose.rest()):
            pass
        self._follows = self._written > 0

    @property
    def pending(self) -> bool:
        """Whether there are words that were not written yet."""
        return self._prose.pending

    def flush(self) -> int:
        """Write what may be shown now; how many characters. Raises Removed."""
        return self._write(self._prose.cut())

    def finish(self, refs: Sequence[Ref]) -> None:
        """Write the rest, and what the answer says of itself. Raises Removed."""
        while self._write(self._prose.rest()):
            pass
        entry = self._found()
        if entry is None and self._made:
            raise Removed("the answer was removed")
        before = [] if entry is None else plain(entry.get("refs"))
        known: list[Any] = before if isinstance(before, list) else []
        if fresh := [ref for ref in refs if ref not in known]:
            with self._doc.transaction():
                (self._make() if entry is None else entry)["refs"] = [*known, *fresh]

    def _write(self, chunk: str) -> int:
        chunk = chunk[: max(0, MAX_ANSWER - self._written)]
        if not chunk:
            return 0
        with self._doc.transaction():
            text = self._text()
            words = str(text)
            text.insert(engine_offset(words, place_after(words, self._tail)), chunk)
        self._tail = (self._tail + chunk)[-TAIL:]
        self._written += len(chunk)
        return len(chunk)

    def _messages(self) -> Map[Any]:
        root: Map[Any] = self._doc.get("messages", type=Map)
        return root

    def _found(self) -> Map[Any] | None:
        entry = self._messages().get(self._answer)
        return entry if isinstance(entry, Map) else None

    def _make(self) -> Map[Any]:
        self._made = True
        return put_entry(self._messages(), self._answer, self._entry)

    def _text(self) -> Text:
        entry = self._found()
        if entry is None:
            if self._made:
                raise Removed("the answer was removed")
            entry = self._make()
        text = entry.get("text")
        if not isinstance(text, Text):
            entry["text"] = text = Text()
        return text

    def _words(self) -> str:
        entry = self._found()
        text = None if entry is None else entry.get("text")
        return str(text) if isinstance(text, Text) else ""

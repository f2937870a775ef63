"""Streamed words, cut where a reader would: what may be shown of a text that is still being said.

Owns the boundaries and the repair of halves. Pure. Must never split what people see as one character, nor lose or
repeat a word.
"""

from __future__ import annotations

import unicodedata
from typing import Final

MAX_HOLD: Final = 96
"""Characters that are held back at most while no word ends."""
MAX_CHUNK: Final = 2048
"""Characters that are shown at once at most."""

_JOINER: Final = "\u200d"
_LONE: Final = "\ufffd"
_SHORTEST: Final = 8
"""Characters by which a place is still recognized."""


class Prose:
    """A text on its way. ``take`` what is said, ``cut`` what may be shown, ``rest`` at the end."""

    def __init__(self) -> None:
        self._held = ""
        self._half = ""

    def take(self, text: str) -> None:
        """More of it. The halves of a surrogate pair may come apart, as they do in streamed JSON."""
        text = self._half + text
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        self._held += heal(text[: len(text) - len(self._half)])

    @property
    def pending(self) -> bool:
        """Whether something was not shown yet."""
        return bool(self._held or self._half)

    def cut(self) -> str:
        """What may be shown now; up to a word's end, or any character's if there was none for long."""
        place = last_boundary(self._held[: MAX_CHUNK + 1])
        if not place and len(self._held) > MAX_HOLD:
            place = last_character(self._held[: MAX_CHUNK + 1])
        return self._release(place)

    def rest(self) -> str:
        """All that is left, a chunk at a time: empty when there is nothing more."""
        if self._half:
            self._held, self._half = self._held + _LONE, ""
        if len(self._held) <= MAX_CHUNK:
            return self._release(len(self._held))
        return self.cut()

    def _release(self, place: int) -> str:
        shown, self._held = self._held[:place], self._held[place:]
        return shown


class Echo:
    """Takes out of a text its beginning, where a second attempt repeats what the first had written.

    What is said is held as long as it repeats ``begun``; a text that parts from it was never a repetition, and is let
    through whole. A text that ends before it parts, or before ``begun`` does, says nothing new.
    """

    def __init__(self, begun: str) -> None:
        self._expected = begun
        self._heard = ""

    def hear(self, text: str) -> str:
        """What of it is new."""
        if not self._expected:
            return text
        self._heard += text
        if self._expected.startswith(self._heard):
            return ""
        if self._heard.startswith(self._expected):
            new = self._heard[len(self._expected) :]
        else:
            new = self._heard
        self._expected = self._heard = ""
        return new

    def pause(self) -> None:
        """The mind has finished for now: what it repeated is behind it, and it may go on repeating the rest."""
        self._expected = self._expected[len(self._heard) :]
        self._heard = ""


def heal(text: str) -> str:
    """The text with halves of surrogate pairs put together, and with a replacement for those without another."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def last_boundary(text: str) -> int:
    """The last place at which a word has ended and its end has been seen; 0 if there is none."""
    for place in range(len(text), 0, -1):
        before, after = text[place - 1], text[place : place + 1]
        if before.isspace() and not _clings(after):
            return place
        if after and _stands_alone(before) and not _clings(after):
            return place
    return 0


def last_character(text: str) -> int:
    """The last place between two characters as people see them, leaving the last one, which may not be complete."""
    for place in range(len(text) - 1, 0, -1):
        before, after = text[place - 1], text[place]
        if not _clings(after) and before != _JOINER and not _are_flags(text, place):
            return place
    return 0


def place_after(text: str, tail: str) -> int:
    """Where in ``text`` to go on after ``tail``, the last of what one wrote oneself, counted in code points.

    People edit what is being written: their words after ours stay after ours. Where our own last words are gone, the
    end of the text is the place.
    """
    while tail:
        found = text.rfind(tail)
        if found >= 0:
            return found + len(tail)
        tail = tail[len(tail) // 2 :] if len(tail) >= 2 * _SHORTEST else ""
    return len(text)


def _clings(character: str) -> bool:
    """Whether it belongs to the character before it: marks, joiners, variation selectors, skin tones."""
    return bool(character) and (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _stands_alone(character: str) -> bool:
    """Whether it is a word by itself: a Chinese character, or punctuation between such."""
    return "\u3000" <= character <= "\u303f" or "\u3400" <= character <= "\u9fff" or "\uff00" <= character <= "\uff65"


def _are_flags(text: str, place: int) -> bool:
    """Whether a regional indicator stands on both sides: two make one flag."""
    return all("\U0001f1e6" <= character <= "\U0001f1ff" for character in text[place - 1 : place + 1])

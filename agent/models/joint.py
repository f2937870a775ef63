"""Where an answer goes on that was interrupted.

Owns finding the place, pure. A model that is asked to go on repeats some of what it had said, or all of it, and begins
without the space that would have stood there; what is repeated is never said twice.
"""

from __future__ import annotations

from typing import Final

WINDOW: Final = 160
"""Characters of the new text that are held back to find the overlap."""
_LEAST: Final = 4
_TAIL: Final = 60


def tail(text: str) -> str:
    """The last words of a text, which the model is asked to repeat so that the joint can be found."""
    end = text[-_TAIL:]
    head, space, rest = end.partition(" ")
    return rest if space and len(text) > _TAIL and rest.strip() else end


class Joint:
    """Takes what follows ``before`` piece by piece, gives what is new of it."""

    def __init__(self, before: str) -> None:
        self._before = before
        self._held = ""
        self._open = not before

    def feed(self, text: str) -> str:
        """What may be said now."""
        if self._open:
            return text
        self._held += text
        if self._before.startswith(self._held) or (len(self._held) < WINDOW and not self._repeated()):
            return ""
        return self._release()

    def end(self) -> str:
        """What was still held when the stream ended."""
        return "" if self._open else self._release()

    def _repeated(self) -> bool:
        """Whether the place is beyond doubt: the tail that was asked for, or all, came back and something after it."""
        end = tail(self._before)
        return any(self._held.startswith(said) and len(self._held) > len(said) for said in (self._before, end))

    def _release(self) -> str:
        self._open = True
        held, before = self._held, self._before
        if held.startswith(before):
            return held[len(before) :]
        if before.startswith(held):
            return ""
        for length in range(min(len(held), len(before)), _LEAST - 1, -1):
            if before.endswith(held[:length]):
                return held[length:]
        return _spaced(before, held)


def _spaced(before: str, after: str) -> str:
    """Two words that would run into each other get a space; letters of scripts without spaces do not."""
    left, right = before[-1:], after[:1]
    return f" {after}" if left.isascii() and left.isalnum() and right.isascii() and right.isalnum() else after

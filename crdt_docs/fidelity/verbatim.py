"""What of a summary is in the ledger's own words. Owns finding it and hiding it: there is nothing to judge in it.

Must never hide words that something right beside them turns ("it is not so that …"), nor words that are no row's that
stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from .words import is_cjk

HIDDEN: Final = "\u25ab"
"""Stands for what is told verbatim."""
_ENOUGH, _ENOUGH_ZH = 12, 6
"""Characters of a row that are no chance when they stand unquoted."""
_BEGINNING: Final = 60
"""Characters of a row that stand for all of it before an ellipsis."""
_OPENED: Final = re.compile(r"[\"“「«⟦]\s?$")
_CLOSED: Final = re.compile(r"(?:\.\.\.|[.。;])?\s?[\"”」»⟧]")
_QUOTED: Final = re.compile(r"\"([^\"\n]{1,400})\"|«([^»\n]{1,400})»|「([^」\n]{1,400})」|⟦{1,9}([^⟦⟧\n]{1,400})⟧{1,9}")
_STARTS: Final = re.compile(r"(?:^|[.:;,!?。、()\n▫\"“「«⟦]|[-•*]\s|\band|[和与及])\s*$")
_STOPS: Final = re.compile(r"\s*(?:$|[.:;,!?。、()\n▫\"”」»⟧]|and\b|[和与及])")


def own_words(text: str) -> str:
    """A row's text on one line, without the full stop."""
    return " ".join(text.split()).rstrip(" .。;")


def as_told(words: str, text: str) -> str:
    """A row's words as the text has them: all, or their beginning before an ellipsis; empty if it has neither."""
    if not words or words in text:
        return words
    at = text.find(words[:_BEGINNING]) if len(words) > _BEGINNING else -1
    end = text.find("...", at)
    begun = text[at:end].rstrip()
    return begun if 0 <= at < end and words.startswith(begun) else ""


def hide(text: str, wordings: Iterable[str]) -> str:
    """The text without the wordings, wherever they stand for themselves."""
    for words in sorted(wordings, key=len, reverse=True):
        text = _hide(text, words, quoted=len(words) < (_ENOUGH_ZH if is_cjk(words) else _ENOUGH))
    return text


def hide_quotes(text: str, is_known: Callable[[str], bool]) -> str:
    """The text without what it quotes, where that is known."""

    def hidden(quoted: re.Match[str]) -> str:
        words = next(filter(None, quoted.groups())).removesuffix("...").strip()
        return f'"{HIDDEN}"' if is_known(words) else quoted.group()

    return _QUOTED.sub(hidden, text)


def _hide(text: str, words: str, *, quoted: bool) -> str:
    parts: list[str] = []
    kept = at = 0
    while words and (at := text.find(words, at)) >= 0:
        before, end = text[max(kept, at - 8) : at], at + len(words)
        inside = _OPENED.search(before) and _CLOSED.match(text, end)
        if inside or (not quoted and _STARTS.search(before) and _STOPS.match(text, end)):
            parts += [text[kept:at], HIDDEN]
            kept = end
        at = end
    return "".join([*parts, text[kept:]])

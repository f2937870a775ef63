"""People's words inside the server's own sentences. Owns the quotes around them; must never change a word.

Whatever stands between the quotes can't end them: of the language's pairs the first is taken of which neither half
stands in the words, and where all do, brackets of which there are more in a row than anywhere in the words. So no item
can pass for another sentence, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

_TURNING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters without a shape that turn the direction of all that follows, the server's own sentences too."""
_SAID: Final = re.compile("[^\\s\u202a-\u202e\u2066-\u2069]")
_BRACKETS: Final = re.compile(r"⟦+|⟧+")
_ENDED: Final = {".": re.compile(r"[.?!…。？！][”»」]$"), "。": re.compile(r"[…。？！][”»」]$")}


def one_line(text: str) -> str:
    """The words with every run of blanks and breaks as one space, so that no item can pass for a heading."""
    return " ".join((text if text.isascii() else _TURNING.sub("", text)).split())


def has_words(text: str) -> bool:
    """Whether there is anything to read in it."""
    return _SAID.search(text) is not None


def quote(text: str, pairs: Sequence[str]) -> str:
    """The words on one line, between quotes that none of them can end."""
    words = one_line(text)
    for pair in pairs:
        if pair[0] not in words and pair[1] not in words:
            return f"{pair[0]}{words}{pair[1]}"
    run = max(map(len, _BRACKETS.findall(words)), default=0) + 1
    before, after = " " * words.startswith("⟦"), " " * words.endswith("⟧")
    return "⟦" * run + before + words + after + "⟧" * run


def stop(sentence: str, mark: Literal[".", "。"]) -> str:
    """The sentence with its full stop, unless it ends in words that have one of their own."""
    return sentence if _ENDED[mark].search(sentence) else sentence + mark

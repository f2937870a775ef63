"""People's words inside the server's own sentences. Owns the quotes around them; must never change a word
of what can be seen, nor let through what can't.

Whatever stands between the quotes can't end them: of the language's pairs the first is taken of which neither half
stands in the words, and where all do, brackets of which there are more in a row than anywhere in the words. So no item
can pass for another sentence, whatever it says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Literal

LONG: Final = 300
"""Characters of an item that are told, unless it is a constraint that is not normal."""
LABEL: Final = 80
"""Characters of a topic, or of a state or severity that is nobody's convention."""
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
"""What has no shape: controls, marks that turn the direction of all that follows, zero-width and filling characters."""
_FLAG: Final = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""A region's flag, which is spelt in such characters."""
_JOINER, _DIVIDER = "\u200d", "\u200c"
_SCRIPTS: Final = ((0x600, 0x1AFF), (0xA800, 0xABFF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC), (0x10A00, 0x11FFF))
"""Where letters are joined and parted by them: Arabic, the Indic scripts and their neighbours."""
_BRACKETS: Final = re.compile(r"⟦+|⟧+")
_ENDED: Final = {".": re.compile(r"[.?!…。？！][”»」]$"), "。": re.compile(r"[…。？！][”»」]$")}


def one_line(text: str) -> str:
    """The words as they are read: nothing without a shape, and every run of blanks and breaks as one space.

    So no item can pass for a heading, turn the sentences around it, or hide anything.
    """
    if not (text.isascii() and text.isprintable()):
        text = _UNSEEN.sub(lambda found: found[0] if _is_part(text, found.start()) else "", text)
    return " ".join(text.split())


def has_words(text: str) -> bool:
    """Whether there is anything to read in it."""
    return one_line(text) != ""


def shorten(text: str, most: int) -> str:
    """At most so many characters of the words on one line, with … where some are left out."""
    words = one_line(text)
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


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


def _is_part(text: str, at: int) -> bool:
    """Whether a character without a shape belongs to its neighbours': to an emoji's, or to a letter's of a script."""
    mark = text[at]
    if mark >= "\U000e0000":
        flag = text.rfind("\U0001f3f4", max(0, at - 7), at)
        return flag >= 0 and (found := _FLAG.match(text, flag)) is not None and at < found.end()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if mark not in (_JOINER, _DIVIDER) or not before:
        return False
    if _is_joined(before):
        return mark == _JOINER or _is_joined(after)
    return mark == _JOINER and _is_picture(before) and _is_picture(after)


def _is_joined(char: str) -> bool:
    return bool(char) and unicodedata.category(char)[0] in "LM" and any(a <= ord(char) <= b for a, b in _SCRIPTS)


def _is_picture(char: str) -> bool:
    return bool(char) and (char in "\ufe0f↔↕" or unicodedata.category(char) in ("So", "Sk"))

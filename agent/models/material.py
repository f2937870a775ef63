"""What people wrote, as material for a model: delimited, measured, cut.

Owns the tags. Pure. Must never let material close its own tag: words that look like one are changed by a character.
"""

from __future__ import annotations

import re
from typing import Final

_TAG: Final = re.compile(r"<(?=\s*/?\s*clew:)", re.IGNORECASE)
_LONGEST_NAME: Final = 120


def fenced(kind: str, text: str, **attributes: str | None) -> str:
    """The text in a tag ``clew:kind``, on lines of its own."""
    return f"{opening(kind, **attributes)}\n{harmless(text)}\n{closing(kind)}"


def row(kind: str, text: str, **attributes: str | None) -> str:
    """The same on one line, unless the text has several."""
    return f"{opening(kind, **attributes)}{harmless(text)}{closing(kind)}"


def opening(kind: str, **attributes: str | None) -> str:
    """The tag that begins material."""
    named = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes.items() if value)
    return f"<clew:{kind}{named}>"


def closing(kind: str) -> str:
    """The tag that ends it."""
    return f"</clew:{kind}>"


def harmless(text: str) -> str:
    """Text that cannot be taken for one of our tags; all else stays as it is."""
    return _TAG.sub("‹", text)


def _attribute(value: str) -> str:
    name = " ".join(value.split()).replace('"', "'").replace("<", "‹").replace(">", "›")
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def estimate(text: str) -> int:
    """About how many tokens: a third of the UTF-8 bytes, so three Latin letters or one Chinese character each."""
    return -(-len(text.encode(errors="replace")) // 3)


def cut(text: str, tokens: int) -> str:
    """The text if it is within so many tokens, else its beginning and its end with a note of what is left out."""
    size = estimate(text)
    if size <= tokens:
        return text
    keep = int(len(text) * max(tokens - _NOTE_TOKENS, 0) / size)
    while True:
        head, end = text[: keep - keep // 3], text[len(text) - keep // 3 :]
        shown = f"{head}\n[… {len(text) - len(head) - len(end)} characters are left out here …]\n{end}"
        if keep == 0 or estimate(shown) <= tokens:
            return shown
        keep = keep * 9 // 10


_NOTE_TOKENS: Final = 24

"""Where a place in a text is, in the three units that meet here.

Owns the conversion between code points (Python), UTF-16 units (JavaScript, Yjs clocks) and UTF-8 bytes (pycrdt's
indices into Text and XmlText). Must never guess at a place inside a character: such an offset is refused. pycrdt
means to change its unit; ``tests/crdt_docs/test_offsets.py`` fails on the day it does, and this is then the one
module to change.
"""

from __future__ import annotations

from typing import Final

ENGINE_UNIT: Final = "utf-8"
"""What pycrdt 0.14 counts in."""


def engine_offset(text: str, points: int) -> int:
    """The index that pycrdt wants for the place before the code point ``points``."""
    _check(points, len(text))
    return len(text[:points].encode())


def points_of_engine(text: str, offset: int) -> int:
    """The code point at which pycrdt's index lies. Raises ValueError inside a character or past the end."""
    raw = text.encode()
    _check(offset, len(raw))
    if offset < len(raw) and raw[offset] & 0xC0 == 0x80:
        raise ValueError(f"offset {offset} is inside a character")
    return len(raw[:offset].decode())


def utf16_offset(text: str, points: int) -> int:
    """The index that JavaScript and Yjs have for the place before the code point ``points``."""
    _check(points, len(text))
    return utf16_length(text[:points])


def points_of_utf16(text: str, offset: int) -> int:
    """The code point at which a JavaScript index lies. Raises ValueError inside a surrogate pair or past the end."""
    units = text.encode("utf-16-le")
    _check(offset, len(units) // 2)
    try:
        return len(units[: 2 * offset].decode("utf-16-le"))
    except UnicodeDecodeError:
        raise ValueError(f"offset {offset} is inside a character") from None


def utf16_length(text: str) -> int:
    """How many clocks the text takes in Yjs."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _check(offset: int, length: int) -> None:
    if not 0 <= offset <= length:
        raise ValueError(f"offset {offset} is not in 0..{length}")

"""Where long blocks of memory come from. Owns one setting of the C library; must never be needed for anything to work.

A document is held in few long buffers that grow. Those of a heap are copied as they outgrow their place, tens of
megabytes in one go; those that the system hands out one by one are moved by their pages, and given back at once. The
library's own bound between the two rises by what was freed.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Final

APART: Final = 1 << 18
"""Bytes from which a block is apart: as long as the pieces that a long document is read and stored in."""
_M_MMAP_THRESHOLD: Final = -3
"""glibc's malloc.h."""


def set_long_apart() -> None:
    """Keep long blocks out of the heap, where the C library is one that can be told so."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, APART)

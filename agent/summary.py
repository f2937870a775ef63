"""The narrative in the working set: one paragraph about where the task stands, replaced whole.

Owns the ``summary`` root's writing. Must never append, nor leave a check of the old text beside the new one.
"""

from __future__ import annotations

from typing import Any, Final

from pycrdt import Doc, Map, Text

MAX_NARRATIVE: Final = 4000
"""Characters of it that are written."""


def replace(doc: Doc[Any], text: str, *, by: str, covers_seq: int | None = None) -> None:
    """Put the paragraph in place of the one before. ``by`` is who wrote it, ``covers_seq`` what it knew of, if known.

    A new Text under the same key: of two that are written at once one stands, and never the one behind the other.
    """
    with doc.transaction():
        root: Map[Any] = doc.get("summary", type=Map)
        root["text"] = Text(text[:MAX_NARRATIVE])
        root["by"] = by
        root["checked"] = Map()
        if covers_seq is not None:
            root["covers_seq"] = covers_seq
        elif "covers_seq" in root:
            del root["covers_seq"]

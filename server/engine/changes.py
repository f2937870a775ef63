"""What changed in a document since a state, for the serving process: bytes alone, no engine. Runs only in workers."""

from __future__ import annotations

import marshal
from collections.abc import Sequence

from crdt_docs.updates.parse import Id, parse
from crdt_docs.updates.touched import places, touched
from crdt_docs.updates.vectors import decode_state_vector


def changes(update: bytes, since: bytes, cuts: Sequence[Id]) -> bytes:
    """``touched`` past the state vector ``since``, and ``places`` of what was deleted from, as marshal has them."""
    parsed = parse(update)
    new = [(tuple(path), made, spans) for path, made, spans in touched(parsed, decode_state_vector(since))]
    lost = [None if path is None else tuple(path) for path in places(parsed, cuts)]
    return marshal.dumps((new, lost))

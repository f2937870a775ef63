"""What rooms tell of each release to whoever listens. Must never wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from crdt_docs.ids import DocName
from crdt_docs.updates.parse import DELETED, Parsed
from server.domain.log import Actor


class KeySet(NamedTuple):
    """That somebody set a key of a root which was not set before, as far as they knew."""

    root: str
    key: str
    actor: Actor


def keys_set(parsed: Parsed, actor: Actor) -> Iterator[KeySet]:
    """The keys of roots that an update newly sets. What comes deleted was never there for anybody."""
    for section in parsed.sections:
        for struct in section.structs:
            if struct.key is not None and isinstance(struct.parent, str) and struct.ref != DELETED:
                yield KeySet(struct.parent, struct.key, actor)


class Heard(Protocol):
    """Who wants to know that a document changed, and which keys of its roots were newly set, by whom."""

    def __call__(self, name: DocName, seq: int, edited: bool, keys: Sequence[KeySet]) -> None:
        """Called on the event loop after each release; must not block."""
        ...

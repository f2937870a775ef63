"""Files that belong to tasks, named by what is in them. Owns their store's protocol; must never trust a name."""

from __future__ import annotations

import hashlib
from typing import NewType, Protocol

from server.domain.errors import Unavailable

BlobHash = NewType("BlobHash", str)
"""SHA-256 of the content in 64 lower-case hex digits."""


class BlobDamaged(Unavailable):
    """What is stored under this hash does not match it."""


def hash_blob(content: bytes) -> BlobHash:
    """The name under which the content is stored."""
    return BlobHash(hashlib.sha256(content).hexdigest())


def parse_blob_hash(text: str) -> BlobHash | None:
    """Read a hash from outside; None unless it is 64 lower-case hex digits, so that no name becomes a path."""
    return BlobHash(text) if len(text) == 64 and all(c in "0123456789abcdef" for c in text) else None


class Blobs(Protocol):
    """Content-addressed files. Every method is synchronous and may block: call it from a thread that may wait.

    Which task a blob belongs to and who may read it is the database's to say, not the store's.
    """

    def put(self, content: bytes) -> BlobHash:
        """Store durably and answer the name; storing the same content again changes nothing. Raises Unavailable."""
        ...

    def get(self, name: BlobHash) -> bytes | None:
        """The content, checked against its name; None if there is none. Raises BlobDamaged."""
        ...

    def exists(self, name: BlobHash) -> bool:
        """Whether there is content under that name."""
        ...

    def delete(self, name: BlobHash) -> bool:
        """Remove it for good; False if there was none."""
        ...

"""Sealing what the log stores, each task by a key of its own: who shreds the key has shredded every old backup, too.

Owns the cipher: AES-256-GCM, a nonce of its own before each text, bound to the place where it stands. Must never
seal under a key that is not on disk yet, nor hand out what does not match its seal. Without keys it seals nothing, and
reads what is not sealed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM

from server.domain.errors import Unavailable
from server.domain.log import LogFailed
from server.store.keys import KEYS, Keys, TaskKey

NONCE: Final = 12
TAG: Final = 16
LONG: Final = 1 << 19
"""Bytes that are sealed or opened in one call, which takes about a millisecond."""
KEPT: Final = 10_000
"""Keys, a hundred bytes each."""
WARM: Final = 64
"""Ciphers that are kept made up: each holds 2.6 kB, and making one takes two microseconds."""

Opener: TypeAlias = Callable[[int | None, bytes, bytes], bytes]
"""Takes a key's number, a place and what is stored there; raises ValueError with what is wrong."""


class Vault:
    """Seals and opens. One thread at a time may seal; any may open."""

    def __init__(self, keys: Keys | None = None, *, own: bool = False) -> None:
        self._keys = keys
        self._own = own
        self._by_task: dict[str, TaskKey] = {}
        self._by_kid: dict[int, bytes] = {}
        self._warm: dict[int, AESGCM] = {}
        self._nonce = _nonces().__next__

    @classmethod
    def beside(cls, folder: Path, name: str = KEYS, *, readonly: bool = False) -> Vault:
        """One by the keys in that folder; by none, if there are none. Raises Unavailable."""
        if not (folder / name).exists():
            return cls()
        return cls(Keys(folder, name, readonly=readonly).__enter__(), own=True)

    def close(self) -> None:
        """Let go of keys that were opened for it."""
        if self._own and self._keys is not None:
            self._keys.close()

    def seal(self, task: str, place: bytes, text: bytes) -> tuple[int | None, bytes]:
        """The number of the task's key, and what to store at that place. Raises LogFailed if there can be no key."""
        if self._keys is None:
            return None, text
        kid, key = self._by_task.get(task) or self._learn(task)
        nonce = self._nonce()
        if len(text) > LONG:
            return kid, nonce + _encrypt(key, nonce, text, place)
        cipher = self._warm.get(kid) or self._warm_up(kid, key)
        return kid, nonce + cipher.encrypt(nonce, text, place)

    def open(self, kid: int | None, place: bytes, stored: bytes) -> bytes:
        """What was sealed at that place. Raises ValueError with what is wrong."""
        if kid is None:
            return stored
        key = self._by_kid.get(kid) or self._find(kid)
        try:
            if len(stored) > LONG:
                return _decrypt(key, stored, place)
            cipher = self._warm.get(kid) or self._warm_up(kid, key)
            return cipher.decrypt(stored[:NONCE], stored[NONCE:], place)
        except (InvalidTag, ValueError):
            raise ValueError("does not match its seal") from None

    def _learn(self, task: str) -> TaskKey:
        try:
            found = self._keys.of_task(task)  # type: ignore[union-attr]
        except Unavailable as error:
            raise LogFailed(error.why) from error
        self._keep(task, found)
        return found

    def _keep(self, task: str, key: TaskKey) -> None:
        if len(self._by_task) >= KEPT:
            self._by_task.clear()
        self._by_task[task] = key

    def _find(self, kid: int) -> bytes:
        found = self._keys.find(kid) if self._keys is not None else None
        if found is None:
            raise ValueError("is sealed by a key that is not here")
        task, key = found
        if len(self._by_kid) >= KEPT:
            self._by_kid.clear()
        self._by_kid[kid] = key
        self._keep(task, TaskKey(kid, key))  # what is read now is written to next
        return key

    def _warm_up(self, kid: int, key: bytes) -> AESGCM:
        if len(self._warm) >= WARM:
            self._warm.clear()
        cipher = self._warm[kid] = AESGCM(key)
        return cipher


def _encrypt(key: bytes, nonce: bytes, text: bytes, place: bytes) -> bytes:
    """As ``AESGCM`` does, but a part at a time: in one call, nobody else could run."""
    sealing = Cipher(AES(key), GCM(nonce)).encryptor()
    sealing.authenticate_additional_data(place)
    out = [sealing.update(part) for part in _parts(memoryview(text))]
    return b"".join((*out, sealing.finalize(), sealing.tag))


def _decrypt(key: bytes, stored: bytes, place: bytes) -> bytes:
    """The same the other way; nothing is handed out before all of it is found to match. Raises InvalidTag."""
    opening = Cipher(AES(key), GCM(stored[:NONCE], stored[-TAG:])).decryptor()
    opening.authenticate_additional_data(place)
    out = [opening.update(part) for part in _parts(memoryview(stored)[NONCE:-TAG])]
    return b"".join((*out, opening.finalize()))


def _parts(text: memoryview) -> Iterator[memoryview]:
    return (text[at : at + LONG] for at in range(0, len(text), LONG))


def _nonces() -> Iterator[bytes]:
    """Nonces that never come again: 64 random bits, then a count (NIST SP 800-38D section 8.2.1)."""
    while True:
        start = os.urandom(NONCE - 4)
        for count in range(2**32):
            yield start + count.to_bytes(4, "big")


def plain(kid: int | None, place: bytes, stored: bytes) -> bytes:
    """Opens what is not sealed."""
    return Vault().open(kid, place, stored)

"""What a backup says of itself: versions, a checksum for every file, and how much there is. Must never hold content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import BinaryIO, Final

from server.domain.blob import parse_blob_hash
from server.domain.errors import Invalid
from server.store.database import migrations
from server.store.log_file import LOG
from server.store.log_file import VERSION as LOG_VERSION
from server.store.nouns import DATABASE

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
BLOBS: Final = "blobs"
PIECE: Final = 1 << 20

Open = Callable[[str], BinaryIO]
"""Opens a backup's file by its name; raises FileNotFoundError."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of a backup: its size in bytes, and its SHA-256 in hex."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``schemas`` are the versions of the two databases, ``files`` are named as paths within the backup.

    ``keys`` is the fingerprint of the folder's keys, which are not in it.
    """

    format: int
    clew: str
    made_at: str
    schemas: Mapping[str, int]
    files: Mapping[str, Kept]
    counts: Mapping[str, int]
    keys: str = ""

    def dump(self) -> bytes:
        """As it stands in ``manifest.json``."""
        return json.dumps(asdict(self), indent=2).encode() + b"\n"


def load(text: bytes) -> Manifest:
    """Read one that anybody may have written. Raises Invalid unless this Clew can restore what it speaks of."""
    try:
        read = json.loads(text)
        files = {str(name): Kept(int(file["bytes"]), str(file["sha256"])) for name, file in read["files"].items()}
        schemas = {str(name): int(version) for name, version in read["schemas"].items()}
        counts = {str(what): int(count) for what, count in read["counts"].items()}
        made = (int(read["format"]), str(read["clew"]), str(read["made_at"]))
        found = Manifest(*made, schemas, files, counts, str(read.get("keys", "")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"{MANIFEST} of the backup cannot be read.") from error
    known = {LOG: LOG_VERSION, DATABASE: migrations()[-1][0]}
    if found.format > FORMAT or any(version > known.get(name, -1) for name, version in schemas.items()):
        raise Invalid(f"The backup was made by a newer Clew, {found.clew}; restore it with that one.")
    if not known.keys() <= files.keys() or not all(name in known or _is_blob(name) for name in files):
        raise Invalid(f"{MANIFEST} of the backup does not name the files of a backup.")
    return found


def weigh(file: BinaryIO) -> Kept:
    """Size and checksum of all that a file holds."""
    digest, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        digest.update(piece)
        size += len(piece)
    return Kept(size, digest.hexdigest())


def differing(open_file: Open, manifest: Manifest) -> list[str]:
    """What is wrong with a backup's files, in words; nothing if all are as they were written."""
    wrong = []
    for name, kept in manifest.files.items():
        try:
            with open_file(name) as file:
                if weigh(file) != kept:
                    wrong.append(f"{name} does not match its checksum")
        except FileNotFoundError:
            wrong.append(f"{name} is missing")
    return wrong


def _is_blob(name: str) -> bool:
    """No name of a backup's file leads out of it."""
    folder, *parts = name.split("/")
    return folder == BLOBS and [len(part) for part in parts] == [2, 62] and parse_blob_hash("".join(parts)) is not None

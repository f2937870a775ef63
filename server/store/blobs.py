"""Blobs in a folder, by the hash of what is in them. Must never show a half-written one, nor trust a name as a path."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from server.domain.blob import BlobDamaged, BlobHash, hash_blob, parse_blob_hash
from server.domain.errors import Unavailable
from server.store.folder import sync_folder


class FolderBlobs:
    """Implements ``server.domain.blob.Blobs``: ``ab/cdef…`` under the folder, written aside, synced, then renamed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, content: bytes) -> BlobHash:
        """Store durably and answer the name; storing the same content again changes nothing. Raises Unavailable."""
        name = hash_blob(content)
        path = self._path(name)
        try:
            if not (path.exists() and hash_blob(path.read_bytes()) == name):
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _write_whole(path, content)
                sync_folder(self._folder)
        except OSError as error:
            raise Unavailable(f"The file cannot be stored at the moment ({error.strerror}).") from error
        return name

    def get(self, name: BlobHash) -> bytes | None:
        """The content, checked against its name; None if there is none. Raises BlobDamaged."""
        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            return None
        if hash_blob(content) != name:
            raise BlobDamaged(f"The stored file {name} is damaged.")
        return content

    def exists(self, name: BlobHash) -> bool:
        """Whether there is content under that name."""
        return self._path(name).exists()

    def delete(self, name: BlobHash) -> bool:
        """Remove it for good; False if there was none."""
        path = self._path(name)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        sync_folder(path.parent)
        return True

    def _path(self, name: BlobHash) -> Path:
        if parse_blob_hash(name) is None:
            raise ValueError("not a blob's name")
        return self._folder / name[:2] / name[2:]


def _write_whole(path: Path, content: bytes) -> None:
    descriptor, aside = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)

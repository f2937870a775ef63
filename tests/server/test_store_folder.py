"""The data folder and the blobs in it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from server.domain.blob import BlobDamaged, BlobHash, hash_blob, parse_blob_hash
from server.domain.errors import Invalid, Unavailable
from server.store.blobs import FolderBlobs
from server.store.folder import FolderHeld, hold, is_held, make_private


def test_a_held_folder_is_its_owners_alone_and_nobody_elses_to_hold(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert not is_held(folder)
    with hold(folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "lock").stat().st_mode) == 0o600
        assert is_held(folder)
        with pytest.raises(FolderHeld, match=str(os.getpid())), hold(folder):
            pass
    assert not is_held(folder)
    with hold(folder):
        pass


def test_the_system_lets_go_when_the_holder_is_killed(tmp_path: Path) -> None:
    code = "import sys, time\nfrom pathlib import Path\nfrom server.store.folder import hold\n"
    code += "with hold(Path(sys.argv[1])):\n print('held', flush=True)\n time.sleep(60)"
    command = [sys.executable, "-c", code, str(tmp_path / "data")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FolderHeld, match=str(holder.pid)), hold(tmp_path / "data"):
            pass
        holder.kill()
    with hold(tmp_path / "data"):
        pass


def test_permissions_are_tightened_and_a_strangers_folder_is_left_alone(tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o755)
    with hold(loose):
        assert stat.S_IMODE(loose.stat().st_mode) == 0o700
    strange = tmp_path / "home"
    strange.mkdir(mode=0o755)
    (strange / "letter.txt").write_text("dear")
    with pytest.raises(Invalid, match="not Clew's"), hold(strange):
        pass
    assert stat.S_IMODE(strange.stat().st_mode) == 0o755
    assert [file.name for file in strange.iterdir()] == ["letter.txt"]
    with pytest.raises(Invalid, match="a file"), hold(strange / "letter.txt"):
        pass


def test_a_private_file_is_closed_to_others_and_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    path.chmod(0o644)
    make_private(path)
    assert (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) == (0o600, b"kept")


def test_a_blob_comes_back_by_its_hash(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    name = blobs.put(b"a picture")
    assert name == hash_blob(b"a picture") == blobs.put(b"a picture")
    assert blobs.get(name) == b"a picture"
    assert blobs.exists(name)
    assert blobs.put(b"") == hash_blob(b"")
    assert blobs.delete(name)
    assert not blobs.delete(name)
    assert (blobs.get(name), blobs.exists(name)) == (None, False)
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (tmp_path / "blobs").rglob("*")}
    assert modes == {0}


def test_a_damaged_blob_is_told_and_healed_by_the_same_content(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    name = blobs.put(b"a picture")
    (tmp_path / name[:2] / name[2:]).write_bytes(b"a pictur")
    with pytest.raises(BlobDamaged):
        blobs.get(name)
    blobs.put(b"a picture")
    assert blobs.get(name) == b"a picture"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "g" * 64, "/" * 64])
def test_a_name_that_is_no_hash_is_never_a_path(tmp_path: Path, name: str) -> None:
    assert parse_blob_hash(name) is None
    with pytest.raises(ValueError, match="not a blob"):
        FolderBlobs(tmp_path).get(BlobHash(name))


def test_a_blob_that_cannot_be_stored_leaves_nothing_behind(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path / "blobs")
    name = hash_blob(b"content")
    (tmp_path / "blobs" / name[:2]).write_bytes(b"a file where the folder should be")
    with pytest.raises(Unavailable):
        blobs.put(b"content")
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [name[:2]]

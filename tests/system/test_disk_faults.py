"""A disk that fails as disks do: syncs that don't come back well, a file system that has become read-only.

The kernel's answers are put in by strace; SQLite, the log and the server are what they always are.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from kit.disk_faults import failing, read_words, write_until_it_fails, write_when_taken, write_word
from kit.running_server import CLEW, PATIENCE, environment
from kit.served import Served
from kit.wire import Closed

FAULTS = {
    "a sync fails": ("fdatasync", "EIO"),
    "the file system has become read-only": ("pwrite64", "EROFS"),
}
FROM, TIMES = 100, 3
"""The first call that fails, long after the start, and how many do."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_was_confirmed_survives_the_fault_and_the_server_writes_again_when_it_is_over(
    tmp_path: Path, fault: str
) -> None:
    await fail_and_recover(tmp_path, *FAULTS[fault], FROM, 20)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("call", "error", "size", "firsts"),
    [
        ("fdatasync", "EIO", 60_000, range(60, 100, 2)),  # every second sync of those around a compaction
        ("pwrite64", "EROFS", 20, range(100, 180, 7)),
        ("pwrite64", "ENOSPC", 60_000, range(150, 900, 71)),
    ],
)
async def test_a_fault_at_any_call_loses_nothing_that_was_confirmed(
    tmp_path: Path, call: str, error: str, size: int, firsts: range
) -> None:
    for first in firsts:
        folder = tmp_path / str(first)
        folder.mkdir()
        await fail_and_recover(folder, call, error, first, size)
        print(f"{error} from the {first}th {call} on", flush=True)


async def fail_and_recover(folder: Path, call: str, error: str, first: int, size: int) -> None:
    """Write words of that size until the disk fails, from the ``first`` call on; read meanwhile, and write again."""
    confirmed: list[str] = []
    with failing(folder, "log.db-wal", call, error, f"{first}..{first + TIMES - 1}") as served:
        task = served.new_task()
        closed = await write_until_it_fails(served, task, confirmed, size)
        assert closed.code == 1013 and confirmed
        assert await read_words(served, task) == "".join(confirmed), "reading goes on"
        refused = await write_when_taken(served, task, "after")
        assert refused >= TIMES - 1, "the server is read-only for as long as the disk is"
        assert await read_words(served, task) == "".join(confirmed) + "after"
        assert "all is sound" in served.server.clew("verify")
    assert f"{error}" in (folder / "trace").read_text(), "the kernel was made to say so"


@pytest.mark.timeout(120)
async def test_a_disk_that_never_syncs_again_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    """What nobody confirmed may be there after a crash, as after one before its receipt: never a part of it."""
    confirmed: list[str] = []
    with failing(tmp_path, "log.db-wal", "fdatasync", "EIO", f"{FROM}+") as served:
        task = served.new_task()
        await write_until_it_fails(served, task, confirmed, 20)
        for _ in range(3):
            with pytest.raises(Closed):
                await write_word(served, task, "never")
        assert await read_words(served, task) == "".join(confirmed)
        served.server.kill()
        served.server.start()
        words = await read_words(served, task)
        assert words.startswith("".join(confirmed))
        assert words.removeprefix("".join(confirmed)) in ("", f"{len(confirmed)}:{'x' * 20} ", "never")


def serve_in_vain(data: Path, *before: str) -> str:
    """What a server says that does not start."""
    command = [*before, *CLEW, "serve", "--data", str(data), "--port", "0", "--no-browser", "--no-agent"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment(), check=False)
    assert done.returncode == 1, done
    assert done.stdout == ""
    return done.stderr


def test_a_read_only_data_folder_is_told_in_a_sentence_at_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "lock").touch()
    for path in ("lock", "log.db"):
        strace = ("strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", str(tmp_path / path), "-P", str(data / path))
        said = serve_in_vain(data, *strace, "-e", "trace=openat", "-e", "inject=openat:error=EROFS")
        assert said.count("\n") == 1 and said.startswith("clew: ") and "Read-only file system" in said


def test_a_second_server_on_a_folder_is_refused_in_a_sentence(served: Served) -> None:
    said = serve_in_vain(served.server.data)
    assert said == (
        f"clew: Another Clew server (process {served.server.pid}) holds {served.server.data}."
        " Stop it, or give --data another folder.\n"
    )
    assert served.new_task(), "the first one goes on"

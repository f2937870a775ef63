"""What only the log over SQLite can go through: a full disk, a kill, damaged bytes, and erasure down to the file."""

from __future__ import annotations

import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit.log_entries import ANN, append, new_name, updates

from crdt_docs.ids import DocName, TaskId
from server.domain.log import Claim, CorruptLog, LogFailed, Snapshot
from server.store.log import SqliteLog
from server.store.log_file import PATIENCE, VERSION

NAME = DocName(TaskId("11111111-1111-4111-8111-111111111111"))
State = list[tuple[int, int, Snapshot | None, list[tuple[int, bytes]], tuple[Claim, ...]]]
"""Of each document: generation, head, snapshot, tail, claims."""


@contextmanager
def disk_full_at(size: int) -> Iterator[None]:
    """No file of this process may grow past ``size``: writes fail in the kernel, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        log.append([append(log.open(NAME).doc, 0, b"1")])
        files = list(tmp_path.iterdir())
        assert {file.name for file in files} >= {"log.db", "log.db-wal"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize(("durability", "level"), [("full", 2), ("process", 1)])
def test_durability_is_what_sqlite_is_told(tmp_path: Path, durability: str, level: int) -> None:
    with SqliteLog(tmp_path / "log.db", "full" if durability == "full" else "process") as log:
        assert log._connection is not None
        for pragma, value in (
            ("synchronous", level),
            ("journal_mode", "wal"),
            ("page_size", 1024),
            ("secure_delete", 1),
        ):
            assert log._connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)


def test_writes_that_the_kernel_refuses_change_nothing_and_work_again_later(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        doc = log.open(NAME).doc
        log.append([append(doc, 0, b"1")])
        with disk_full_at((tmp_path / "log.db-wal").stat().st_size + 2000):
            for _ in range(3):
                with pytest.raises(LogFailed):
                    log.append([append(doc, 1, b"x" * 50_000, claims=(Claim(5, ANN, False),))])
                assert updates(log.open(NAME)) == [(1, b"1")]
                assert log.open(NAME).claims == ()
        assert log.append([append(doc, 1, b"2")]) == [2]
    with SqliteLog(tmp_path / "log.db") as log:
        assert updates(log.open(NAME)) == [(1, b"1"), (2, b"2")]


def test_a_checkpoint_that_the_kernel_refuses_loses_nothing(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        doc = log.open(NAME).doc
        head = 0
        with disk_full_at(1_000_000):
            try:
                while True:
                    (grown,) = log.append([append(doc, head, b"y" * 30_000)])
                    assert grown is not None
                    head = grown
            except LogFailed:
                pass
        assert head > 10
        assert log.append([append(doc, head, b"after")]) == [head + 1]
    with SqliteLog(tmp_path / "log.db") as log:
        assert log.open(NAME).head == head + 1


WRITER = """
    import sys
    from pathlib import Path
    from kit.log_entries import append
    from crdt_docs.ids import DocName, TaskId
    from server.domain.log import Snapshot
    from server.store.log import SqliteLog

    names = [DocName(TaskId(f"{i:08x}-1111-4111-8111-111111111111")) for i in range(5)]
    with SqliteLog(Path(sys.argv[1]), sys.argv[2]) as log:
        docs = [log.open(name).doc for name in names]
        head = 0
        while True:
            batch = [append(doc, head, b"%d" % (head + 1), b"%d" % (head + 2)) for doc in docs]
            head = log.append(batch)[0]
            sys.stdout.write(f"{head}\\n")
            sys.stdout.flush()
            if head % 40 == 0:
                log.replace(docs[0], Snapshot(head - 7, b"%d" % (head - 7)))
"""


@pytest.mark.parametrize("durability", ["full", "process"])
def test_what_was_answered_survives_kill_9(tmp_path: Path, durability: str) -> None:
    rng = random.Random(durability)
    for kill in range(4):
        path = tmp_path / f"{kill}.db"
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), durability]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": ".:tests"}) as writer:
            assert writer.stdout is not None
            answered = [int(writer.stdout.readline()) for _ in range(rng.randint(20, 90))]
            writer.kill()
            answered += [int(line) for line in writer.stdout.read().splitlines()]
        with SqliteLog(path) as log:
            for name, _, _ in log.names():
                opened = log.open(name)
                assert answered[-1] <= opened.head <= answered[-1] + 2
                covered = opened.snapshot.seq if opened.snapshot else 0
                assert updates(opened) == [(seq, b"%d" % seq) for seq in range(covered + 1, opened.head + 1)]


def _write_some(log: SqliteLog, names: list[DocName]) -> list[State]:
    """Commits of every kind, and what the log held after each of them."""
    docs = [log.open(name).doc for name in names]
    states = [_state(log, names)]
    for seq in range(8):
        claims = (Claim(seq + 1, ANN, False),)
        log.append([append(docs[0], seq, b"%d" % seq, claims=claims), append(docs[1], seq, b"%d" % seq * 300)])
        states.append(_state(log, names))
        if seq == 5:
            log.replace(docs[0], Snapshot(4, b"four" * 200, b"gate", b"index"))
            states.append(_state(log, names))
    log.fork(names[1], Snapshot(8, b"eight"), "test")
    return [*states, _state(log, names)]


def _state(log: SqliteLog, names: list[DocName]) -> State:
    return [
        (opened.generation, opened.head, opened.snapshot, updates(opened), opened.claims)
        for opened in (log.open(name) for name in names if log.exists(name))
        if opened.head
    ]


@pytest.mark.parametrize("how", ["cut off", "garbled"])
def test_a_torn_write_ahead_log_holds_what_was_confirmed_up_to_where_it_is_torn(tmp_path: Path, how: str) -> None:
    """At every 512th byte, under ``process``: what a power loss may leave. A prefix, of all documents alike."""
    path = tmp_path / "log.db"
    names = [new_name(), new_name()]
    with SqliteLog(path, "process") as log:
        states = _write_some(log, names)
        whole, wal = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    reached = []
    for at in range(0, len(wal), 512):
        torn = wal[:at] + (bytes(byte ^ 0x55 for byte in wal[at:]) if how == "garbled" else b"")
        other = tmp_path / f"{at}.db"
        other.write_bytes(whole)
        Path(f"{other}-wal").write_bytes(torn)
        with SqliteLog(other, "process") as log:
            found = _state(log, names)
        assert found in states
        reached.append(states.index(found))
        for suffix in ("", "-wal", "-shm"):
            Path(f"{other}{suffix}").unlink(missing_ok=True)
    assert reached == sorted(reached), "the later it is torn, the more is there"
    assert set(reached) >= set(range(len(states) - 1)), "a commit that is whole is there"


def test_flipped_bytes_are_an_error_or_harmless_but_never_other_content(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    names = [new_name() for _ in range(3)]
    with SqliteLog(path) as log:
        for name in names:
            doc = log.open(name).doc
            log.append([append(doc, 0, *[b"%d" % seq for seq in range(1, 40)], claims=(Claim(1, ANN, False),))])
            log.replace(doc, Snapshot(20, b"twenty" * 300, b"gate", b"index"))
            for seq in range(39, 60):
                log.append([append(doc, seq, b"%d" % (seq + 1))])
    whole = path.read_bytes()
    rng = random.Random(2)
    told = 0
    for trial in range(400):
        damaged = bytearray(whole)
        damaged[rng.randrange(100, len(whole))] ^= 1 << rng.randrange(8)
        other = tmp_path / f"flip{trial}.db"
        other.write_bytes(damaged)
        try:
            with SqliteLog(other) as log:
                for name in names:
                    if log.exists(name):
                        opened = log.open(name)
                        assert opened.snapshot in (
                            Snapshot(20, b"twenty" * 300, b"gate", b"index"),
                            Snapshot(20, b"twenty" * 300),
                            None,
                        )
                        covered = opened.snapshot.seq if opened.snapshot else 0  # the first row reaches back to 1
                        expected = [(seq, b"%d" % seq) for seq in range(covered + 1, opened.head + 1)]
                        assert updates(opened) == expected
                        assert all(entry.actor.principal for entry in opened.tail)
        except (CorruptLog, LogFailed):
            told += 1
        for suffix in ("", "-wal", "-shm"):
            Path(f"{other}{suffix}").unlink(missing_ok=True)
    assert told > 40


def test_a_deleted_document_leaves_no_byte_behind_however_its_rows_were_moved_about(tmp_path: Path) -> None:
    """secure_delete alone leaves stale copies behind where pages were rebalanced: 5 of 360 deletions."""
    for seed in (3, 25, 57):
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        with SqliteLog(folder / "log.db", "process") as log:
            names = [new_name() for _ in range(12)]
            marks = {name: b"SECRET%05d_" % number for number, name in enumerate(names)}
            _write_and_compact(log, rng, marks)
            stored = b"".join(file.read_bytes() for file in folder.iterdir())
            assert all(mark in stored for mark in marks.values())
            log.delete(*names[:6])
            stored = b"".join(file.read_bytes() for file in folder.iterdir())
            assert [mark for name, mark in marks.items() if mark in stored] == [marks[name] for name in names[6:]]
            for name in names[6:]:
                assert log.open(name).head > 0


def _write_and_compact(log: SqliteLog, rng: random.Random, marks: dict[DocName, bytes]) -> None:
    for _ in range(400):
        name = rng.choice(list(marks))
        opened = log.open(name)
        if rng.random() < 0.85 or not opened.tail:
            texts = [marks[name] * rng.choice([1, 2, 5, 50, 300]) for _ in range(rng.randint(1, 3))]
            log.append([append(opened.doc, opened.head, *texts)])
        else:
            seq = rng.randint(opened.tail[0].seq, opened.head)
            log.replace(opened.doc, Snapshot(seq, marks[name] * rng.choice([1, 20, 200, 1000])))
        if rng.random() < 0.02:
            log.fork(name, Snapshot(0, marks[name]), "test")


def test_a_deletion_waits_for_no_reader_and_erases_its_last_bytes_later(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db") as log:
        log.append([append(log.open(NAME).doc, 0, b"MARK" * 50)])
        with log._readers.one() as reader:
            reader.execute("SELECT count(*) FROM updates").fetchone()
            began = time.monotonic()
            log.delete(NAME)
            assert not log.exists(NAME)
            assert not log.tidy()
            assert time.monotonic() - began < PATIENCE / 1000, "every commit waits as long"
            other = new_name()
            assert log.append([append(log.open(other).doc, 0, b"goes on")]) == [1]
        assert log.tidy()
        assert not any(b"MARK" in file.read_bytes() for file in tmp_path.iterdir())
        assert updates(log.open(other)) == [(1, b"goes on")]


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog(path):
        pass
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {VERSION + 1}")
    other.close()
    with pytest.raises(CorruptLog, match="newer"), SqliteLog(path):
        pass


@pytest.mark.parametrize(("version", "lacked"), [(1, ("authors", "cuts", "pieces")), (2, ("pieces",))])
def test_a_file_of_an_earlier_version_is_brought_up_to_date(
    tmp_path: Path, version: int, lacked: tuple[str, ...]
) -> None:
    path = tmp_path / "log.db"
    with SqliteLog(path) as log:
        log.append([append(log.open(NAME).doc, 0, b"1")])
    other = sqlite3.connect(path)
    other.executescript("".join(f"DROP TABLE {table};" for table in lacked) + f"PRAGMA user_version = {version};")
    other.close()
    for _ in range(2):
        with SqliteLog(path) as log:
            opened = log.open(NAME)
            assert updates(opened) == [(1, b"1")] and log.authors(opened.doc, [(1, 0, 9)]) == [[]]


def test_a_file_that_is_no_database_is_told_from_a_disk_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(CorruptLog), SqliteLog(path):
        pass
    with pytest.raises((LogFailed, OSError)), SqliteLog(tmp_path / "nowhere" / "log.db"):
        pass


def test_missing_rows_are_told_at_the_start_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    other = new_name()
    with SqliteLog(path) as log:
        doc, fine = log.open(NAME).doc, log.open(other).doc
        for seq in range(5):
            log.append([append(doc, seq, b"%d" % seq), append(fine, seq, b"%d" % seq)])
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM updates WHERE doc = ? AND seq = 3", (doc,))
    connection.commit()
    connection.close()
    with SqliteLog(path) as log:
        with pytest.raises(CorruptLog, match=str(NAME)):
            log.open(NAME)
        assert log.open(other).head == 5
        assert log.fork(NAME, Snapshot(2, b"saved"), "repair").head == 6

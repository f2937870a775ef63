"""A long snapshot goes into the log piece by piece, and whoever stops in between leaves the log whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from kit.log_entries import append, new_name, updates

from crdt_docs.ids import DocName
from server.domain.log import CorruptLog, DocKey, Snapshot
from server.store import vault
from server.store.examine import examine
from server.store.keys import Keys
from server.store.log import SqliteLog
from server.store.opening import opened_texts

PIECES = (b"the first piece ", b"and the second ", b"and the last")
LONG = Snapshot(3, b"", b"gate", b"index", PIECES)


def write_five(log: SqliteLog, name: DocName) -> DocKey:
    doc = log.open(name).doc
    for seq in range(5):
        log.append([append(doc, seq, b"update %d" % (seq + 1))])
    return doc


def put(log: SqliteLog, doc: DocKey, snapshot: Snapshot) -> None:
    for step in log.stage(doc, snapshot):
        step()
    assert log.replace(doc, snapshot)


def clear(log: SqliteLog, doc: DocKey) -> None:
    while log.drop_covered(doc):
        pass


def count(path: Path, table: str) -> int:
    with sqlite3.connect(path) as log:
        return int(log.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.parametrize("sealed", [True, False])
def test_what_was_put_in_pieces_comes_back_in_pieces(tmp_path: Path, sealed: bool) -> None:
    path, name = tmp_path / "log.db", new_name()
    if sealed:
        Keys(tmp_path).__enter__().__exit__(None, None, None)
    for step in range(2):  # in the second round what another process left
        with SqliteLog(path) as log:
            if not step:
                put(log, write_five(log, name), LONG)
            opened = log.open(name)
            assert opened.snapshot == LONG
            assert opened.snapshot.whole().update == b"".join(PIECES)
            assert updates(opened) == [(4, b"update 4"), (5, b"update 5")]
    assert any(b"".join(PIECES) == words for _, words in opened_texts(path))


def test_pieces_are_never_put_one_by_one_over_those_of_the_snapshot_that_stands(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    again = Snapshot(3, b"", b"gate", b"index", (b"the same in ", b"other words ", b"of another version"))
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        put(log, doc, LONG)
        for step in log.stage(doc, again):
            step()
            assert log.open(name).snapshot == LONG
        assert not log.replace(doc, again)
        assert log.open(name).snapshot == LONG


def test_what_it_covers_goes_little_by_little_while_others_write(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        put(log, doc, LONG)
        assert count(path, "updates") == 5
        head = 5
        while log.drop_covered(doc):
            (moved,) = log.append([append(doc, head, b"meanwhile")])
            assert moved == head + 1
            head += 1
        assert count(path, "updates") == head - 3
        assert [seq for seq, _ in updates(log.open(name))] == list(range(4, head + 1))
        put(log, doc, Snapshot(head, b"", pieces=(b"newer ", b"yet")))
        clear(log, doc)
        assert count(path, "pieces") == 2 and count(path, "updates") == 0


def test_stopping_between_any_two_steps_loses_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        first, *_ = log.stage(doc, LONG)
        first()
    with SqliteLog(path) as log:
        assert log.open(name).snapshot is None and len(updates(log.open(name))) == 5
        assert not log.replace(doc, LONG), "it is not all there"
        put(log, doc, LONG)
    with SqliteLog(path) as log:
        assert [seq for seq, _ in updates(log.open(name))] == [4, 5]
        assert [found.damage for found in examine(path)] == [[]]
        put(log, doc, Snapshot(5, b"", pieces=(b"all ", b"of it")))
        clear(log, doc)
    assert count(path, "updates") == 0 and count(path, "pieces") == 2


@pytest.mark.parametrize("sealed", [True, False])
def test_what_a_killed_stage_left_is_dropped_before_the_next_and_stands_in_nobodys_way(
    tmp_path: Path, sealed: bool
) -> None:
    path, name = tmp_path / "log.db", new_name()
    if sealed:
        Keys(tmp_path).__enter__().__exit__(None, None, None)
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        put(log, doc, LONG)
        for step in log.stage(doc, Snapshot(5, b"", pieces=tuple(b"%d" % n for n in range(9)))):
            step()
    fewer = Snapshot(5, b"", pieces=(b"fewer ", b"pieces"))
    with SqliteLog(path) as log:
        clear(log, doc)
        assert log.open(name).snapshot == LONG, "what stands is not touched"
        assert count(path, "pieces") == len(PIECES)
        put(log, doc, fewer)
        clear(log, doc)
        assert log.open(name).snapshot == fewer
    assert count(path, "pieces") == 2


def test_a_first_stage_that_was_killed_leaves_nothing_for_good(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        for step in log.stage(doc, LONG):
            step()
    with SqliteLog(path) as log:
        clear(log, doc)
        assert count(path, "pieces") == 0
        assert log.open(name).snapshot is None and len(updates(log.open(name))) == 5


def test_a_short_snapshot_in_the_place_of_a_long_one_leaves_none_of_its_pieces(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        doc = write_five(log, name)
        put(log, doc, LONG)
        for short in (Snapshot(3, b"short", b"gate", b"index"), Snapshot(3, b"longer than a mark is" * 10)):
            assert log.replace(doc, short)
            clear(log, doc)
            assert count(path, "pieces") == 0
            assert log.open(name).snapshot == short


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM pieces WHERE number = 1",
        "DELETE FROM pieces WHERE number = 2",
        "DELETE FROM pieces",
        "UPDATE pieces SET data = x'00' WHERE number = 0",
        "UPDATE pieces SET number = 7 - number WHERE number > 0",
    ],
)
def test_damage_to_a_piece_is_named_and_nothing_of_it_handed_out(tmp_path: Path, harm: str) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        put(log, write_five(log, name), LONG)
    with sqlite3.connect(path) as other:
        other.execute(harm)
    with SqliteLog(path) as log, pytest.raises(CorruptLog, match=str(name)):
        log.open(name)


def test_a_deleted_document_leaves_no_piece(tmp_path: Path) -> None:
    path, name = tmp_path / "log.db", new_name()
    with SqliteLog(path) as log:
        put(log, write_five(log, name), LONG)
        log.delete(name)
    assert count(path, "pieces") == 0
    assert b"piece" not in path.read_bytes().replace(b"pieces", b"")


def test_a_fork_takes_a_long_snapshot_over_whole(tmp_path: Path) -> None:
    name = new_name()
    with SqliteLog(tmp_path / "log.db") as log:
        put(log, write_five(log, name), LONG)
        forked = log.fork(name, LONG, "repair").snapshot
        assert forked is not None and forked.whole().update == b"".join(PIECES)


def test_what_is_long_is_sealed_a_part_at_a_time_as_if_it_were_in_one_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, place = bytes(range(256)) * 5, b"place"
    with Keys(tmp_path) as keys:
        monkeypatch.setattr(vault, "LONG", 100)
        kid, in_parts = vault.Vault(keys).seal("task", place, text)
        monkeypatch.setattr(vault, "LONG", 10_000)
        whole = vault.Vault(keys)
        assert whole.open(kid, place, in_parts) == text
        _, at_once = whole.seal("task", place, text)
        monkeypatch.setattr(vault, "LONG", 100)
        assert whole.open(kid, place, at_once) == text
        for harmed in (at_once[:-1] + bytes((at_once[-1] ^ 1,)), at_once[:600] + b"?" + at_once[601:]):
            with pytest.raises(ValueError, match="does not match its seal"):
                whole.open(kid, place, harmed)
        with pytest.raises(ValueError, match="does not match its seal"):
            whole.open(kid, b"elsewhere", at_once)

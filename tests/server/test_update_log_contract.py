"""What every UpdateLog promises. Runs against the log in memory and the log over SQLite alike."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from kit.log_entries import ANN, BOB, actor, append, entries, new_name, updates, written

from crdt_docs.ids import AgentId, DocName, TokenId, UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Append, Claim, CorruptLog, DocKey, LogFailed, Opened, Snapshot, UpdateLog
from server.store.log import SqliteLog
from server.store.memory_log import MemoryLog


class Bench(Protocol):
    """A log under test, and what may befall it."""

    @property
    def log(self) -> UpdateLog: ...

    def crash(self) -> None:
        """Lose the process and start again over what is stored."""
        ...

    def fail_next(self) -> None:
        """Let the next write fail."""
        ...

    def spoil(self, name: DocName) -> None:
        """Damage the first stored row of the document."""
        ...


class MemoryBench:
    def __init__(self) -> None:
        self.log: MemoryLog = MemoryLog()

    def crash(self) -> None:
        pass  # what is in memory is what is stored

    def fail_next(self) -> None:
        self.log.fail_next(LogFailed("no space"))

    def spoil(self, name: DocName) -> None:
        self.log.spoil(self.log.open(name).doc)


class SqliteBench:
    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        self._stack = stack
        self.log: SqliteLog = stack.enter_context(SqliteLog(path))

    def crash(self) -> None:
        """Copy the files away under the living log, as a kill leaves them, and open the copy."""
        self._path = _copied(self._path)
        self.log = self._stack.enter_context(SqliteLog(self._path))

    def fail_next(self) -> None:
        connection = self.log._connection
        assert connection is not None
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")  # lasts as long as the connection

    def spoil(self, name: DocName) -> None:
        doc = self.log.open(name).doc
        with sqlite3.connect(self._path) as other:
            other.execute("UPDATE updates SET data = data || x'00' WHERE doc = ?", (doc,))
        other.close()


def _copied(path: Path) -> Path:
    copy = path.parent / f"{path.parent.name}-after"
    while copy.exists():
        copy = copy / "after"
    copy.mkdir(parents=True)
    for suffix in ("", "-wal"):
        if (file := Path(f"{path}{suffix}")).exists():
            (copy / f"log.db{suffix}").write_bytes(file.read_bytes())
    return copy / "log.db"


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield MemoryBench() if request.param == "memory" else SqliteBench(tmp_path / "log.db", stack)


BIG = b"b" * 60_000
"""More than fits into the free pages of a small file."""


def test_a_new_document_is_empty(bench: Bench) -> None:
    name = new_name()
    assert not bench.log.exists(name)
    opened = bench.log.open(name)
    assert (opened.generation, opened.head, opened.snapshot, opened.tail, opened.claims) == (1, 0, None, (), ())
    assert bench.log.exists(name)
    assert bench.log.names() == [(name, opened.doc, 1)]
    assert bench.log.open(name) == opened


def test_the_margin_is_a_document_of_its_own(bench: Bench) -> None:
    main = new_name()
    doc, other = bench.log.open(main).doc, bench.log.open(DocName(main.task, "margin")).doc
    bench.log.append([append(doc, 0, b"main")])
    bench.log.append([append(other, 0, b"margin")])
    assert updates(bench.log.open(main)) == [(1, b"main")]
    assert updates(bench.log.open(DocName(main.task, "margin"))) == [(1, b"margin")]


def test_seq_is_gapless_and_entries_come_back_as_they_went_in(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    agent = Actor(PrincipalKey("agent:a1"), UserId("ann"), AgentId("a1"), None, None, TokenId("t1"), "http")
    assert bench.log.append([append(doc, 0, b"one", b"")]) == [2]
    assert bench.log.append([append(doc, 2, b"three", by=agent)]) == [3]
    for _ in range(2):
        opened = bench.log.open(name)
        assert updates(opened) == [(1, b"one"), (2, b""), (3, b"three")]
        assert [entry.actor for entry in opened.tail] == [actor(), actor(), agent]
        assert {entry.at for entry in opened.tail} == {1000.25}
        assert opened.head == 3
        bench.crash()


def test_one_batch_serves_many_documents(bench: Bench) -> None:
    names = [new_name() for _ in range(150)]
    docs = [bench.log.open(name).doc for name in names]
    assert bench.log.append([append(doc, 0, b"a", str(doc).encode()) for doc in docs]) == [2] * 150
    assert bench.log.append([append(doc, 2, b"c") for doc in docs]) == [3] * 150
    bench.crash()
    for name, doc in zip(names, docs, strict=True):
        assert updates(bench.log.open(name)) == [(1, b"a"), (2, str(doc).encode()), (3, b"c")]


def test_an_append_against_another_head_writes_nothing_and_harms_nobody(bench: Bench) -> None:
    mine, theirs = bench.log.open(new_name()).doc, bench.log.open(new_name()).doc
    bench.log.append([append(mine, 0, b"1")])
    late = append(mine, 0, b"late", claims=(Claim(7, ANN, False),))
    assert bench.log.append([late, append(theirs, 0, b"x")]) == [None, 1]
    assert bench.log.append([append(mine, 5, b"early")]) == [None]
    assert [entry.update for entry in bench.log.tail(mine, 0)] == [b"1"]
    assert [entry.update for entry in bench.log.tail(theirs, 0)] == [b"x"]
    assert bench.log.append([append(DocKey(999), 0, b"nowhere")]) == [None]


def test_two_appends_to_one_document_in_one_batch_follow_each_other(bench: Bench) -> None:
    doc = bench.log.open(new_name()).doc
    batch = [append(doc, 0, b"1"), append(doc, 0, b"not this"), append(doc, 1, b"2")]
    assert bench.log.append(batch) == [1, None, 2]
    assert [entry.update for entry in bench.log.tail(doc, 0)] == [b"1", b"2"]


def test_an_empty_batch_and_an_append_of_claims_alone_are_fine(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    assert bench.log.append([]) == []
    assert bench.log.append([Append(doc, 0, (), (Claim(5, ANN, False, True),))]) == [0]
    bench.crash()
    assert bench.log.open(name).claims == (Claim(5, ANN, False, True),)


def test_the_tail_begins_where_it_is_asked_to(bench: Bench) -> None:
    doc = bench.log.open(new_name()).doc
    bench.log.append([append(doc, 0, b"1", b"2", b"3")])
    bench.log.append([append(doc, 3, b"4", b"5")])
    for after in range(7):
        expected = [str(seq).encode() for seq in range(after + 1, 6)]
        assert [entry.update for entry in bench.log.tail(doc, after)] == expected
    assert bench.log.tail(DocKey(999), 0) == []


def test_a_snapshot_covers_what_came_before_and_the_tail_goes_on(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    for seq in range(10):
        bench.log.append([append(doc, seq, str(seq + 1).encode())])
    snapshot = Snapshot(6, b"state of six", b"gate", b"index")
    assert bench.log.replace(doc, snapshot)
    for _ in range(2):
        opened = bench.log.open(name)
        assert opened.snapshot == snapshot
        assert updates(opened) == [(seq, str(seq).encode()) for seq in (7, 8, 9, 10)]
        bench.crash()
    assert bench.log.tail(opened.doc, 3) == []
    assert [entry.seq for entry in bench.log.tail(opened.doc, 6)] == [7, 8, 9, 10]
    assert bench.log.append([append(opened.doc, 10, b"11")]) == [11]
    assert bench.log.replace(opened.doc, Snapshot(11, b"all"))
    bench.crash()
    opened = bench.log.open(name)
    assert (opened.head, opened.tail) == (11, ())
    assert bench.log.append([append(opened.doc, 11, b"12")]) == [12]


def test_a_snapshot_may_end_in_the_middle_of_a_row(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", b"2", b"3")])
    bench.log.append([append(doc, 3, b"4")])
    assert bench.log.replace(doc, Snapshot(2, b"two"))
    for _ in range(2):
        assert updates(bench.log.open(name)) == [(3, b"3"), (4, b"4")]
        assert [entry.seq for entry in bench.log.tail(bench.log.open(name).doc, 2)] == [3, 4]
        bench.crash()


def test_a_snapshot_older_than_the_present_one_is_refused(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", b"2", b"3")])
    assert bench.log.replace(doc, Snapshot(3, b"three"))
    assert not bench.log.replace(doc, Snapshot(2, b"two"))
    assert bench.log.replace(doc, Snapshot(3, b"three, trimmed again"))
    assert not bench.log.replace(DocKey(999), Snapshot(0, b"nowhere"))
    assert bench.log.open(name).snapshot == Snapshot(3, b"three, trimmed again")


def test_a_snapshot_of_what_was_never_logged_is_a_mistake_that_changes_nothing(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1")])
    with pytest.raises(ValueError, match="head is 1"):
        bench.log.replace(doc, Snapshot(2, b"of nothing"))
    assert updates(bench.log.open(name)) == [(1, b"1")]
    assert bench.log.append([append(doc, 1, b"2")]) == [2]


def test_a_fork_begins_the_next_generation_and_keeps_the_claims(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", b"2", claims=(Claim(7, ANN, False), Claim(8, ANN, False, composed=True)))])
    bench.log.quarantine(doc, "crashes the engine")
    forked = bench.log.fork(name, Snapshot(1, b"clean"), "repair")
    for _ in range(2):
        assert (forked.generation, forked.head, forked.tail, forked.quarantined) == (2, 3, (), None)
        assert forked.snapshot == Snapshot(3, b"clean")
        assert forked.claims == (Claim(7, ANN, False), Claim(8, ANN, False, composed=False)), "no clock comes twice"
        assert forked.doc != doc
        bench.crash()
        forked = bench.log.open(name)
    assert bench.log.names() == [(name, forked.doc, 2)]
    assert bench.log.append([append(doc, 2, b"to the old one")]) == [None]
    assert bench.log.tail(doc, 0) == []
    assert not bench.log.replace(doc, Snapshot(2, b"of the old one"))
    assert bench.log.append([append(forked.doc, 3, b"4")]) == [4]


def test_a_fork_of_nothing_makes_the_first_generation(bench: Bench) -> None:
    restored, unused = new_name(), new_name()
    assert bench.log.fork(restored, Snapshot(41, b"from a backup"), "restore").head == 41
    bench.log.open(unused)
    assert bench.log.fork(unused, Snapshot(0, b""), "restore").generation == 2
    bench.crash()
    assert bench.log.open(restored).snapshot == Snapshot(41, b"from a backup")


def test_a_fork_heals_a_damaged_document(bench: Bench) -> None:
    name = new_name()
    bench.log.append([append(bench.log.open(name).doc, 0, b"1")])
    bench.spoil(name)
    with pytest.raises(CorruptLog):
        bench.log.open(name)
    assert bench.log.fork(name, Snapshot(1, b"what could be read"), "repair").generation == 2
    bench.crash()
    assert bench.log.open(name).head == 2


def test_a_claim_stands_and_only_a_provisional_one_yields(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", claims=(Claim(1, ANN, True), Claim(2, ANN, False)))])
    assert bench.log.append([append(doc, 1, b"2", claims=(Claim(1, BOB, True), Claim(2, BOB, True)))]) == [2]
    assert bench.log.open(name).claims == (Claim(1, ANN, True), Claim(2, ANN, False))
    assert bench.log.append([append(doc, 2, b"3", claims=(Claim(1, BOB, False),))]) == [3]
    assert bench.log.append([append(doc, 3, b"4", claims=(Claim(3, ANN, False), Claim(2, BOB, False)))]) == [None]
    assert bench.log.append([append(doc, 3, b"4", claims=(Claim(2, ANN, True, True),))]) == [4]
    bench.crash()
    opened = bench.log.open(name)
    assert opened.claims == (Claim(1, BOB, False), Claim(2, ANN, False, True))
    assert opened.head == 4


def test_two_final_claims_on_one_client_in_one_batch_do_not_both_stand(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    batch = [append(doc, 0, b"1", claims=(Claim(9, ANN, False),)), append(doc, 1, b"2", claims=(Claim(9, BOB, False),))]
    assert bench.log.append(batch) == [1, None]
    assert bench.log.open(name).claims == (Claim(9, ANN, False),)


def test_claims_hold_53_bits(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", claims=(Claim(2**53 - 1, ANN, False),))])
    bench.crash()
    assert bench.log.open(name).claims == (Claim(2**53 - 1, ANN, False),)


def test_quarantine_marks_and_never_stops_writing(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.quarantine(doc, "hangs the engine")
    bench.crash()
    opened = bench.log.open(name)
    assert opened.quarantined == "hangs the engine"
    assert bench.log.append([append(opened.doc, 0, b"1")]) == [1]
    bench.log.quarantine(opened.doc, None)
    bench.log.quarantine(DocKey(999), "nowhere")
    assert bench.log.open(name).quarantined is None


def test_a_deleted_document_is_gone_with_all_its_generations(bench: Bench) -> None:
    name, other = new_name(), new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"1", claims=(Claim(1, ANN, False),))])
    bench.log.append([append(bench.log.open(other).doc, 0, b"other")])
    bench.log.fork(name, Snapshot(1, b"clean"), "repair")
    bench.log.delete(name)
    bench.log.delete(name)
    bench.log.delete(new_name())
    assert not bench.log.exists(name)
    bench.crash()
    assert [found for found, _, _ in bench.log.names()] == [other]
    assert bench.log.append([append(doc, 1, b"late")]) == [None]
    again = bench.log.open(name)
    assert (again.generation, again.head, again.claims) == (1, 0, ())
    assert updates(bench.log.open(other)) == [(1, b"other")]


def test_a_watcher_hears_of_every_append_until_it_stops(bench: Bench) -> None:
    a, b = bench.log.open(new_name()).doc, bench.log.open(new_name()).doc
    heard: list[tuple[DocKey, int]] = []
    stop = bench.log.watch(lambda doc, head: heard.append((doc, head)))
    bench.log.append([append(a, 0, b"1", b"2"), append(b, 7, b"refused")])
    bench.log.append([append(a, 2, b"3"), append(b, 0, b"1")])
    assert heard == [(a, 2), (a, 3), (b, 1)]
    stop()
    bench.log.append([append(a, 3, b"4")])
    assert len(heard) == 3


def test_a_failed_commit_leaves_the_head_and_the_next_one_works(bench: Bench) -> None:
    name, fresh = new_name(), new_name()
    doc, new = bench.log.open(name).doc, bench.log.open(fresh).doc
    bench.log.append([append(doc, 0, b"1")])
    heard: list[tuple[DocKey, int]] = []
    bench.log.watch(lambda doc, head: heard.append((doc, head)))
    bench.fail_next()
    with pytest.raises(LogFailed):
        bench.log.append([append(doc, 1, BIG, claims=(Claim(3, ANN, False),)), append(new, 0, BIG, by=actor(BOB))])
    assert heard == []
    opened = bench.log.open(name)
    assert (updates(opened), opened.claims) == ([(1, b"1")], ())
    assert bench.log.open(fresh).head == 0
    assert bench.log.append([append(doc, 1, BIG), append(new, 0, b"n", by=actor(BOB))]) == [2, 1]
    bench.crash()
    assert updates(bench.log.open(name)) == [(1, b"1"), (2, BIG)]
    assert bench.log.open(fresh).tail[0].actor == actor(BOB)


def _failing(bench: Bench, name: DocName, what: str) -> None:
    doc = bench.log.open(name).doc
    match what:
        case "replace":
            bench.log.replace(doc, Snapshot(1, BIG))
        case "fork":
            bench.log.fork(name, Snapshot(1, BIG), "repair")
        case "quarantine":
            bench.log.quarantine(doc, BIG.decode())


@pytest.mark.parametrize("what", ["replace", "fork", "quarantine"])
def test_any_other_write_that_fails_changes_nothing_either(bench: Bench, what: str) -> None:
    name = new_name()
    bench.log.append([append(bench.log.open(name).doc, 0, b"1", b"2", claims=(Claim(3, ANN, False),))])
    before = bench.log.open(name)
    bench.fail_next()
    with pytest.raises(LogFailed):
        _failing(bench, name, what)
    assert bench.log.open(name) == before
    _failing(bench, name, what)
    bench.crash()
    assert bench.log.open(name) != before


def test_a_spoilt_row_is_told_with_the_documents_name_and_spares_the_others(bench: Bench) -> None:
    name, other = new_name(), new_name()
    doc = bench.log.open(name).doc
    bench.log.append([append(doc, 0, b"precious"), append(bench.log.open(other).doc, 0, b"fine")])
    bench.spoil(name)
    with pytest.raises(CorruptLog, match=str(name)):
        bench.log.open(name)
    with pytest.raises(CorruptLog, match=str(name)):
        bench.log.tail(doc, 0)
    bench.crash()
    assert updates(bench.log.open(other)) == [(1, b"fine")]


def test_who_wrote_what_is_known_after_compaction_a_fork_and_a_crash(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([Append(doc, 0, written(actor(ANN), (1, 0), (2, 0)))])
    bench.log.append([Append(doc, 1, written(actor(BOB), (1, 10), at=1001.0))])
    assert bench.log.replace(doc, Snapshot(2, b"both"))
    for _ in range(3):
        assert bench.log.authors(doc, [(1, 0, 9), (1, 3, 12), (1, 10, 99), (2, 5, 6), (3, 0, 1)]) == [
            [(0, actor(ANN), 1000.25)],
            [(0, actor(ANN), 1000.25), (10, actor(BOB), 1001.0)],
            [(10, actor(BOB), 1001.0)],
            [(0, actor(ANN), 1000.25)],
            [],
        ]
        bench.crash()
        doc = bench.log.fork(name, Snapshot(2, b"clean"), "repair").doc
    bench.log.delete(name)
    assert bench.log.authors(doc, [(1, 0, 9)]) == [[]]
    assert bench.log.authors(bench.log.open(name).doc, [(1, 0, 9)]) == [[]]


def test_an_author_is_noted_anew_only_where_another_writes_or_an_hour_has_passed(bench: Bench) -> None:
    doc = bench.log.open(new_name()).doc
    for seq, (who, clock, at) in enumerate([(ANN, 0, 0.0), (ANN, 5, 3599.0), (BOB, 7, 3599.5), (BOB, 9, 7199.5)]):
        assert bench.log.append([Append(doc, seq, written(actor(who), (1, clock), at=at))]) == [seq + 1]
    noted = [(0, actor(ANN), 0.0), (7, actor(BOB), 3599.5), (9, actor(BOB), 7199.5)]
    assert bench.log.authors(doc, [(1, 0, 100)]) == [noted]
    two = (*written(actor(ANN), (1, 12), at=8000.0), *written(actor(ANN), (1, 20), at=8001.0))
    bench.log.append([Append(doc, 4, two)])
    assert bench.log.authors(doc, [(1, 0, 100)]) == [[*noted, (12, actor(ANN), 8000.0)]]


def test_a_client_id_that_was_taken_back_has_no_authors_beyond(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    bench.log.append([Append(doc, 0, written(actor(ANN), (1, 0))), Append(doc, 1, written(actor(BOB), (1, 80)))])
    restored = bench.log.fork(name, Snapshot(1, b"earlier"), "restore")
    bench.log.append([Append(restored.doc, restored.head, written(actor(ANN), (1, 50), at=1001.0))])
    assert bench.log.authors(restored.doc, [(1, 0, 100)]) == [[(0, actor(ANN), 1000.25), (50, actor(ANN), 1001.0)]]


def test_what_was_deleted_from_is_known_with_who_did_it_last(bench: Bench) -> None:
    name = new_name()
    doc = bench.log.open(name).doc
    for seq, (who, cut) in enumerate([(ANN, (5, 1)), (BOB, (5, 1)), (ANN, (6, 0)), (ANN, (5, 1))]):
        bench.log.append([Append(doc, seq, written(actor(who), cut=(cut,)))])
    assert bench.log.replace(doc, Snapshot(4, b"all"))
    for _ in range(2):
        assert bench.log.cuts(doc, 0) == [
            (5, 1, 2, actor(BOB), 1000.25), (6, 0, 3, actor(ANN), 1000.25), (5, 1, 4, actor(ANN), 1000.25),
        ]  # fmt: skip
        assert bench.log.cuts(doc, 3) == [(5, 1, 4, actor(ANN), 1000.25)]
        bench.crash()
        doc = bench.log.fork(name, Snapshot(4, b"clean"), "repair").doc
    bench.log.delete(name)
    assert bench.log.cuts(doc, 0) == []


def test_nothing_is_noted_of_an_append_that_is_refused_or_fails(bench: Bench) -> None:
    doc = bench.log.open(new_name()).doc
    bench.log.append([append(doc, 0, b"1")])
    noted = written(actor(BOB), (1, 0), cut=((1, 0),))
    assert bench.log.append([Append(doc, 7, noted)]) == [None]
    bench.fail_next()
    with pytest.raises(LogFailed):
        bench.log.append([Append(doc, 1, (noted[0]._replace(update=BIG),))])
    assert bench.log.authors(doc, [(1, 0, 9)]) == [[]] and bench.log.cuts(doc, 0) == []
    assert bench.log.append([Append(doc, 1, noted)]) == [2]
    assert bench.log.authors(doc, [(1, 0, 9)]) == [[(0, actor(BOB), 1000.25)]]


def test_readers_in_other_threads_always_see_one_head(bench: Bench) -> None:
    """Snapshot and tail fit together whatever is committed meanwhile (I3)."""
    name = new_name()
    doc = bench.log.open(name).doc
    problems: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                opened: Opened = bench.log.open(name)
                covered = int(opened.snapshot.update) if opened.snapshot else 0
                seqs = [int(entry.update) for entry in opened.tail]
                if [covered, *seqs] != list(range(covered, opened.head + 1)):
                    problems.append((covered, seqs, opened.head))
                tail = [entry.seq for entry in bench.log.tail(opened.doc, covered)]
                if tail and tail != list(range(covered + 1, covered + 1 + len(tail))):
                    problems.append(tail)
            except Exception as error:
                problems.append(error)
                return

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for seq in range(120):
        bench.log.append([Append(doc, seq, entries(str(seq + 1).encode()))])
        if seq % 7 == 6:
            bench.log.replace(doc, Snapshot(seq, str(seq).encode()))
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert bench.log.open(name).head == 120

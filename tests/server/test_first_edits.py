"""The first edit of a client in a document: what it writes beside the update, and how little that takes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kit.log_entries import ANN, BOB, new_name

from crdt_docs.ids import DeviceId, DocName, SessionId, UserId
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Append, Claim, DocKey, Entry, Snapshot
from server.store.keys import Keys
from server.store.log import SqliteLog

MANY = 12


def in_session(session: str, who: PrincipalKey = ANN) -> Actor:
    return Actor(who, UserId(who.partition(":")[2]), None, DeviceId("phone"), SessionId(session), None, "socket")


def first(doc: DocKey, after: int, client: int, by: Actor, clock: int = 0, *, claims: bool = True) -> Append:
    """The first that somebody writes in a session, under a client id that is theirs already or is claimed now."""
    mine = (Claim(client, by.principal, False),) if claims else ()
    return Append(doc, after, (Entry(b"u", by, 1000.0, ((client, clock),)),), mine)


@contextmanager
def statements(log: SqliteLog) -> Iterator[list[str]]:
    """What the writing connection is asked meanwhile, and what the keys are."""
    asked: list[str] = []
    keys = log._vault._keys
    assert log._connection is not None and keys is not None and keys._connection is not None
    for connection in (log._connection, keys._connection):
        connection.set_trace_callback(asked.append)
    yield asked
    for connection in (log._connection, keys._connection):
        connection.set_trace_callback(None)


def authors(log: SqliteLog, doc: DocKey, client: int) -> list[tuple[int, SessionId | None]]:
    (found,) = log.authors(doc, [(client, 0, 1000)])
    return [(author.clock, author.actor.session) for author in found]


def documents(path: Path) -> list[DocName]:
    """Some that were written to before the start."""
    with Keys(path), SqliteLog(path / "log.db", "process") as log:
        names = [new_name() for _ in range(MANY)]
        log.append([first(log.open(name).doc, 0, 1, in_session("before")) for name in names])
    return names


def test_first_edits_take_as_many_statements_together_as_one_does_and_look_for_nothing(tmp_path: Path) -> None:
    names = documents(tmp_path)
    with SqliteLog(tmp_path / "log.db", "process") as log:
        docs = [log.open(name).doc for name in names]
        with statements(log) as asked:
            batch = [first(doc, 1, 100 + doc, in_session(f"of {doc}")) for doc in docs]
            assert log.append(batch) == [2] * MANY
        assert [sql.partition(" (")[0] for sql in asked] == [
            "BEGIN IMMEDIATE",
            "INSERT INTO actors",
            "INSERT OR REPLACE INTO claims",
            "INSERT INTO authors",
            "INSERT INTO updates",
            "COMMIT",
        ]
    with SqliteLog(tmp_path / "log.db") as log:
        for name in names:
            opened = log.open(name)
            assert opened.claims == (Claim(1, ANN, False), Claim(100 + opened.doc, ANN, False))
            assert [logged.actor.session for logged in opened.tail] == ["before", f"of {opened.doc}"]
            assert authors(log, opened.doc, 100 + opened.doc) == [(0, f"of {opened.doc}")]


def test_who_comes_back_is_looked_for_once_for_all(tmp_path: Path) -> None:
    names = documents(tmp_path)
    with SqliteLog(tmp_path / "log.db", "process") as log:
        docs = [log.open(name).doc for name in names]
        with statements(log) as asked:
            again = [in_session("before"), *(in_session(f"of {doc}") for doc in docs[1:])]
            log.append([first(doc, 1, 1, by, 5, claims=False) for doc, by in zip(docs, again, strict=True)])
        assert len([sql for sql in asked if "SELECT" in sql]) == 2  # for the one actor who was there, and for authors
        assert authors(log, docs[0], 1) == [(0, "before")]
        assert authors(log, docs[1], 1) == [(0, "before"), (5, f"of {docs[1]}")]
        with log._readers.one() as connection:
            assert connection.execute("SELECT count(*) FROM actors").fetchone() == (MANY,)


def test_a_client_id_is_never_taken_for_unknown_once_something_was_written_of_it(tmp_path: Path) -> None:
    names = documents(tmp_path)
    with SqliteLog(tmp_path / "log.db", "process") as log:
        doc = log.open(names[0]).doc
        assert log.append([first(doc, 1, 7, in_session("s"), claims=True)]) == [2]
        assert log.append([first(doc, 2, 7, in_session("b", BOB))]) == [None]  # met since it was read
        log.open(names[0])
        assert log.append([first(doc, 2, 7, in_session("b", BOB))]) == [None]
        assert log.append([first(doc, 2, 1, in_session("b", BOB))]) == [None]  # met when it was read
        unread = DocKey(doc + 1)
        assert log.append([first(unread, 1, 1, in_session("b", BOB))]) == [None]  # nobody has read this one
        forked = log.fork(names[0], Snapshot(2, b"all"), "tried")
        assert log.append([first(forked.doc, forked.head, 7, in_session("b", BOB))]) == [None]


def test_a_client_that_was_taken_back_behind_its_clock_leaves_no_author_beyond_it(tmp_path: Path) -> None:
    (name, *_) = documents(tmp_path)
    with SqliteLog(tmp_path / "log.db", "process") as log:
        doc = log.open(name).doc
        log.append([first(doc, 1, 1, in_session("two"), 8, claims=False)])
        log.append([first(doc, 2, 1, in_session("three"), 4, claims=False)])
        assert authors(log, doc, 1) == [(0, "before"), (4, "three")]


def test_a_document_opens_and_takes_edits_though_it_is_damaged_who_wrote_it(tmp_path: Path) -> None:
    for number, client in enumerate(("'x'", "-5")):
        folder = tmp_path / str(number)
        folder.mkdir()
        name, *_ = documents(folder)
        with closing(sqlite3.connect(folder / "log.db", isolation_level=None)) as file:
            file.execute(f"UPDATE authors SET client = {client}")
        with Keys(folder), SqliteLog(folder / "log.db", "process") as log:
            opened = log.open(name)
            assert [logged.update for logged in opened.tail] == [b"u"]
            assert log.append([first(opened.doc, 1, 2, in_session("now"), claims=True)]) == [2]
            assert log.append([first(opened.doc, 2, 1, in_session("now", BOB), claims=True)]) == [None]

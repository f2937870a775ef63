"""What `clew verify` finds, and that it finds nothing where nothing is wrong, also while it is written to."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from kit.data_folder import fill
from kit.log_entries import append, new_name
from kit.rooms import until
from kit.running_server import running_server

from crdt_docs.ids import DocName, TaskId
from crdt_docs.updates.compose import Composer
from server.cli.main import main
from server.config import Config
from server.domain.access import Principal, PrincipalKey
from server.domain.log import Claim, Snapshot
from server.services import open_services
from server.store.examine import examine
from server.store.log import SqliteLog

GHOST = "99999999-1111-4111-8111-111111111111"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TaskId]:
    folder = tmp_path_factory.mktemp("filled") / "data"
    return folder, anyio.run(fill, folder)


@pytest.fixture
def data(filled: tuple[Path, TaskId], tmp_path: Path) -> tuple[Path, TaskId]:
    """A copy of its own."""
    shutil.copytree(filled[0], tmp_path / "data")
    return tmp_path / "data", filled[1]


def verify(capsys: pytest.CaptureFixture[str], folder: Path) -> tuple[int, list[str]]:
    """Exit code, and the findings."""
    code = main(["verify", "--data", str(folder)])
    out = capsys.readouterr().out
    findings = [line.removeprefix("DAMAGED  ") for line in out.splitlines() if line.startswith("DAMAGED")]
    assert code == (1 if findings else 0)
    assert " document" in out.splitlines()[-1]
    return code, findings


def spoil(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def note(key: str) -> Callable[[Composer], None]:
    return lambda composer: composer.set("notes", key, key)


FINDINGS = {
    "claims are gone": ("log.db", ("DELETE FROM claims",), "is nobody's"),
    "claims are another's": ("log.db", ("UPDATE claims SET principal = 'user:x'",), "does not own client"),
    "a claim is not final": ("log.db", ("UPDATE claims SET provisional = 1",), "does not own client"),
    "an actor is gone": ("log.db", ("DELETE FROM actors",), "who is unknown"),
    "a row is nobody's": (
        "log.db",
        ("INSERT INTO claims VALUES (99, 1, 'user:x', 0, 0)", "INSERT INTO cuts VALUES (98, 1, 1, 1, 1, 1)"),
        "rows of claims are of document 99, which is not there",
    ),
    "rows have lost their document": ("log.db", ("UPDATE documents SET id = 7",), "rows of updates are of document 1"),
    "a document is there twice": (
        "log.db",
        ("INSERT INTO documents (task, part, generation, current) SELECT task, part, 2, 1 FROM documents",),
        "has several current generations",
    ),
    "a task is gone": ("clew.db", ("DELETE FROM members", "DELETE FROM tasks"), "its task is gone"),
    "a member's task is gone": ("clew.db", ("DELETE FROM tasks",), "row of tasks that is not there"),
    "a task has no document": (
        "clew.db",
        (f"INSERT INTO tasks VALUES ('{GHOST}', 'x', 'open', 'x', 1, 1, 'user', 0, 'allowed')",),
        f"{GHOST}: this task has no document",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FINDINGS)
def test_what_is_amiss_between_rows_is_found(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], what: str
) -> None:
    path, statements, said = FINDINGS[what]
    assert verify(capsys, data[0]) == (0, [])
    spoil(data[0] / path, *statements)
    _, findings = verify(capsys, data[0])
    assert any(said in finding for finding in findings), findings


ANN = PrincipalKey("user:ann")


def texts(client: int, *words: str) -> list[bytes]:
    """Updates of one client that stand on one another."""
    made = []
    for number, word in enumerate(words):
        composer = Composer(client, number, lambda parent, key: None)
        composer.set("notes", f"k{number}", word[0])
        made.append(composer.finish())
    return made


def test_updates_out_of_order_or_twice_are_found_though_every_checksum_is_right(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one, two, three = texts(5, "a", "b", "c")
    stories = {
        "does not follow on": [one, three, two],
        "holds what was logged before": [one, two, two, three],
    }
    for said, story in stories.items():
        name = new_name()
        with SqliteLog(tmp_path / "log.db") as log:
            doc = log.open(name).doc
            log.append([append(doc, 0, *story, claims=(Claim(5, ANN, False),))])
        _, findings = verify(capsys, tmp_path)
        assert any(finding.startswith(str(name)) and said in finding for finding in findings), findings


def test_a_snapshot_that_lacks_what_it_covers_is_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where a snapshot reaches into the middle of a row, the row still has what it covers: both can be had."""
    one, two, three = texts(5, "a", "b", "c")
    for covering, sound in ((one, False), (None, True)):
        name = new_name()
        with SqliteLog(tmp_path / "log.db") as log:
            doc = log.open(name).doc
            log.append([append(doc, 0, one, two, three, claims=(Claim(5, ANN, False),))])
            both = Composer(5, 0, lambda parent, key: None)
            both.set("notes", "k0", "a")
            both.set("notes", "k1", "b")
            log.replace(doc, Snapshot(2, covering or both.finish()))
        findings = [finding for finding in verify(capsys, tmp_path)[1] if finding.startswith(str(name))]
        assert any("is not in the snapshot that covers it" in finding for finding in findings) is not sound
        assert sound is not bool(findings)


def test_nothing_is_written_and_json_says_the_same(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId]
) -> None:
    before = {path.name: path.read_bytes() for path in data[0].iterdir() if not path.name.endswith("-shm")}
    assert main(["verify", "--data", str(data[0]), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["sound"] and said["without_document"] == [] and said["seconds"] >= 0
    after = {path.name: path.read_bytes() for path in data[0].iterdir() if not path.name.endswith("-shm")}
    assert after == {**before, **{name: b"" for name in after if name.endswith("-wal")}}


def test_a_backup_is_verified_with_its_manifest(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    assert main(["backup", "--data", str(data[0]), "--to", str(tmp_path / "b")]) == 0
    capsys.readouterr()
    assert verify(capsys, tmp_path / "b") == (0, [])
    with (tmp_path / "b" / "clew.db").open("ab") as file:
        file.write(b"\0" * 4096)
    assert "manifest.json: clew.db does not match its checksum" in verify(capsys, tmp_path / "b")[1]


async def test_a_folder_that_is_written_to_is_sound_all_the_while(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId]
) -> None:
    """Edits, new tasks, compactions, forks, and deletions go on in between."""
    folder, task = data
    async with open_services(Config(data=folder, durability="process")) as services, anyio.create_task_group() as group:
        user = await services.nouns.users.named("owner")
        assert user is not None
        who, name, rounds = Principal(user.id, user.name), DocName(task), [0]

        async def write() -> None:
            while True:
                other = await services.nouns.tasks.create(who.user, "other", 1.0)
                await services.rooms.compose(DocName(other.id), who, note("first"), fresh=True)
                for number in range(10):
                    await services.rooms.compose(name, who, note(f"{rounds[0]}-{number}"), fresh=True)
                await services.rooms.compact(name)
                if rounds[0] % 2:
                    await services.doors.revocation.task(who, other.id)
                rounds[0] += 1

        group.start_soon(write)
        for turn in range(4):
            await until(lambda turn=turn: rounds[0] > turn)  # type: ignore[misc]
            assert await anyio.to_thread.run_sync(main, ["verify", "--data", str(folder)]) == 0, capsys.readouterr().out
        group.cancel_scope.cancel()


def test_memory_holds_one_document_at_a_time(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "log.db", "process") as log:
        for _ in range(40):
            doc = log.open(new_name()).doc
            log.append([append(doc, 0, *[bytes(50_000) for _ in range(10)])])
    tracemalloc.start()
    try:
        assert sum(found.head for found in examine(tmp_path / "log.db")) == 400
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_500_000, "of twenty million bytes"


def test_a_server_that_is_serving_is_backed_up_and_verified_by_commands(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    with running_server(data[0]) as server:
        assert "1 task, 1 document," in server.clew("backup", "--to", str(tmp_path / "b.tar"))
        assert "all is sound" in server.clew("verify")
    assert main(["restore", "--from", str(tmp_path / "b.tar"), "--data", str(tmp_path / "new")]) == 0
    assert "a new generation" in capsys.readouterr().out
    assert main(["tasks", "list", "--data", str(tmp_path / "new"), "--json"]) == 0
    assert [task["id"] for task in json.loads(capsys.readouterr().out)["tasks"]] == [data[1]]

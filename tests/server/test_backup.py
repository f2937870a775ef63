"""Backups of a folder that is written to, and folders made of them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from kit.data_folder import fill
from kit.rooms import Peer, until
from pycrdt import Map

from crdt_docs.ids import DocName, TaskId, UserId
from crdt_docs.updates.compose import Composer
from crdt_docs.updates.vectors import decode_state_vector
from server.cli.main import main
from server.config import Config
from server.control.backing_up import BackingUp
from server.domain.access import Principal, Role
from server.domain.blob import hash_blob
from server.domain.clock import SystemClock
from server.domain.errors import ClewError, Conflict, Invalid, Unavailable
from server.domain.look import Look
from server.domain.share import Share, ShareId
from server.services import Services, open_services
from server.store import backup as backups
from server.store.blobs import FolderBlobs
from server.store.log import SqliteLog
from server.store.nouns import Nouns, open_nouns
from server.store.opening import opened_texts
from server.store.restore import restore
from server.store.vault import Vault

NOW = 1_800_000_000.0


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TaskId]:
    folder = tmp_path_factory.mktemp("filled") / "data"
    return folder, anyio.run(fill, folder)


@pytest.fixture
def data(filled: tuple[Path, TaskId], tmp_path: Path) -> tuple[Path, TaskId]:
    """A copy of its own."""
    shutil.copytree(filled[0], tmp_path / "data")
    return tmp_path / "data", filled[1]


async def back_up(folder: Path, to: Path) -> Path:
    """With nobody serving."""
    async with open_nouns(folder) as nouns:
        return Path((await BackingUp(folder, nouns.database, SystemClock()).make(to))["to"])


def note(key: str, value: str) -> Callable[[Composer], None]:
    return lambda composer: composer.set("notes", key, value)


async def owner(services: Services) -> Principal:
    user = await services.nouns.users.named("owner")
    assert user is not None
    return Principal(user.id, user.name, authenticated_at=1.0)


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


# the moment


async def test_a_backup_is_of_one_moment_whatever_is_written_meanwhile(
    data: tuple[Path, TaskId], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A look is noted after the edit that it saw: so at any moment it is at the log's head or one behind."""
    folder, task = data
    async with open_services(Config(data=folder, durability="process")) as services, anyio.create_task_group() as group:
        who, name = await owner(services), DocName(task)
        backing_up = BackingUp(folder, services.nouns.database, services.clock)

        written = [0]

        async def write() -> None:
            while True:
                seq = await services.rooms.compose(name, who, note(f"w{written[0]}", "x" * 500), fresh=True)
                await services.nouns.looks.put(who.user, task, Look(seq, {}, NOW))
                written[0] += 1

        async def compact() -> None:
            while True:
                await services.rooms.compact(name)

        group.start_soon(write)
        group.start_soon(compact)
        for number in range(8):
            await until(lambda number=number: written[0] > 10 * number)  # type: ignore[misc]
            told = await backing_up.make(tmp_path / f"b{number}")
            ((look,),) = query(tmp_path / f"b{number}" / "clew.db", "SELECT max(seq) FROM looks")
            heads = query(tmp_path / f"b{number}" / "log.db", "SELECT max(seq + n - 1) FROM updates")
            heads += query(tmp_path / f"b{number}" / "log.db", "SELECT seq FROM snapshots")
            head = max(int(str(row[0])) for row in heads if row[0] is not None)
            assert head - int(str(look or head)) in (0, 1)
            assert told["manifest"]["counts"]["documents"] == 1
        group.cancel_scope.cancel()
    for number in range(8):
        assert main(["verify", "--data", str(tmp_path / f"b{number}")]) == 0, capsys.readouterr().out


async def test_nothing_waits_for_a_backup(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    """The moment is held; commits, claims, new documents, deletions and compactions go on, and are not in it."""
    folder, task = data
    async with open_services(Config(data=folder, durability="process")) as services:
        who, name = await owner(services), DocName(task)
        other = await services.nouns.tasks.create(who.user, "MARKED-NAME", NOW)
        await services.rooms.compose(DocName(other.id), who, note("k", "MARKED-WORDS"))
        moment = backups.pin(folder)
        with anyio.fail_after(30):
            await services.rooms.compose(name, who, note("late", "x" * 100))
            await services.rooms.compact(name)
            assert await services.nouns.tasks.delete(who.user, other.id)
            await services.rooms.delete(other.id)
            await services.nouns.users.add("late", NOW)
        assert b"MARKED" in b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
        manifest = await anyio.to_thread.run_sync(
            backups.write_backup, moment, folder, tmp_path / "b", NOW, lambda: False
        )
        moment.close()
        assert (manifest.counts["tasks"], manifest.counts["users"], manifest.counts["documents"]) == (2, 1, 2)
        assert services.log.tidy() and await services.nouns.database.tidy()
        stored = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
        assert b"MARKED" not in stored, "what was deleted meanwhile is erased afterwards"
    with closing(Vault.beside(folder, readonly=True)) as vault:
        words = b"".join(text for _, text in opened_texts(tmp_path / "b" / "log.db", vault))
    assert b"MARKED-WORDS" in words and b"MARKED" not in (tmp_path / "b" / "log.db").read_bytes(), "sealed"
    assert b"late" not in words


# what is written


@pytest.mark.parametrize("name", ["b", "b.tar"])
async def test_a_backup_is_its_owners_alone_and_says_what_is_in_it(
    data: tuple[Path, TaskId], tmp_path: Path, name: str
) -> None:
    made = await back_up(data[0], tmp_path / name)
    paths = [made, *made.rglob("*")] if made.is_dir() else [made]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths} == {0}
    keys = {one for one in os.listdir(tmp_path) if one.startswith("clew-keys-")}
    assert {*os.listdir(tmp_path)} == {name, "data", *keys} and len(keys) == 1, "and nothing is left beside it"
    assert stat.S_IMODE((tmp_path / keys.pop()).stat().st_mode) & 0o077 == 0
    await restore(made, tmp_path / "new", NOW, False)
    assert {"log.db", "clew.db", "lock"} <= {path.name for path in (tmp_path / "new").iterdir()}
    with pytest.raises(Conflict, match="overwrites nothing"):
        await back_up(data[0], tmp_path / name)


async def test_a_backup_into_a_folder_that_is_there_is_named_by_its_time(
    data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    (tmp_path / "all").mkdir()
    made = await back_up(data[0], tmp_path / "all")
    assert made.parent == tmp_path / "all" and made.name.startswith("clew-20")
    manifest = json.loads((made / "manifest.json").read_bytes())
    assert manifest["counts"]["updates"] == 6 and manifest["counts"]["tasks"] == 1
    with pytest.raises(Conflict):
        await back_up(data[0], made)


async def test_where_a_backup_cannot_be_is_said(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    for to, kind in ((data[0] / "b", Invalid), (tmp_path / "no" / "b", Invalid), (data[0], Invalid)):
        with pytest.raises(kind):
            await back_up(data[0], to)
    with pytest.raises(Invalid, match="no log"):
        backups.pin(tmp_path)


async def test_a_backup_that_is_broken_off_leaves_nothing(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    async with open_nouns(data[0]) as nouns:
        backing_up = BackingUp(data[0], nouns.database, SystemClock())
        backing_up.end()
        with pytest.raises(backups.Stopped):
            await backing_up.make(tmp_path / "b")
    assert os.listdir(tmp_path) == ["data"]


async def test_blobs_are_in_it_and_come_back(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    name = FolderBlobs(data[0] / "blobs").put(b"a picture")
    for to in ("b", "b.tar"):
        made = await back_up(data[0], tmp_path / to)
        await restore(made, tmp_path / f"from {to}", NOW, False)
        assert FolderBlobs(tmp_path / f"from {to}" / "blobs").get(name) == b"a picture"
    assert hash_blob(b"a picture") == name


# what is made of it


@pytest.mark.parametrize("packed", [False, True])
async def test_a_damaged_backup_is_refused_and_leaves_no_folder(
    data: tuple[Path, TaskId], tmp_path: Path, packed: bool
) -> None:
    made = await back_up(data[0], tmp_path / ("b.tar" if packed else "b"))
    victim = made if packed else made / "log.db"
    whole = victim.read_bytes()
    for at in (len(whole) // 2, 3 * len(whole) // 4):
        spoiled = bytearray(whole)
        spoiled[at] ^= 1
        victim.write_bytes(spoiled)
        with pytest.raises(ClewError, match="damaged"):
            await restore(made, tmp_path / "new", NOW, False)
    victim.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ClewError):
        await restore(made, tmp_path / "new", NOW, False)
    assert not (tmp_path / "new").exists()
    with pytest.raises(Invalid, match="no backup"):
        await restore(data[0], tmp_path / "new", NOW, False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "newer"),
        ({"schemas": {"log.db": 99, "clew.db": 1}}, "newer"),
        ({"files": {}}, "name the files"),
        ({"files": {"log.db": {"bytes": 1, "sha256": ""}, "clew.db": {"bytes": 1, "sha256": ""}, "../x": {}}}, "read"),
        ({"counts": None}, "read"),
    ],
)
async def test_a_manifest_that_this_clew_cannot_follow_is_refused(
    data: tuple[Path, TaskId], tmp_path: Path, change: dict[str, object], said: str
) -> None:
    made = await back_up(data[0], tmp_path / "b")
    manifest = json.loads((made / "manifest.json").read_bytes())
    (made / "manifest.json").write_text(json.dumps({**manifest, **change}))
    with pytest.raises(Invalid, match=said):
        await restore(made, tmp_path / "new", NOW, False)


async def test_no_name_in_a_manifest_leads_out_of_the_folder(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    made = await back_up(data[0], tmp_path / "b")
    manifest = json.loads((made / "manifest.json").read_bytes())
    for name in ("../x", "/etc/x", "blobs/../../x", f"blobs/aa/{'a' * 61}", "lock", f"blobs/aa/../{'a' * 62}"):
        files = {**manifest["files"], name: {"bytes": 0, "sha256": ""}}
        (made / "manifest.json").write_text(json.dumps({**manifest, "files": files}))
        with pytest.raises(Invalid, match="name the files"):
            await restore(made, tmp_path / "new", NOW, False)


async def test_only_a_new_or_empty_folder_is_restored_into(data: tuple[Path, TaskId], tmp_path: Path) -> None:
    made = await back_up(data[0], tmp_path / "b")
    before = {path.name: path.read_bytes() for path in data[0].iterdir()}
    with pytest.raises(Conflict, match="not empty"):
        await restore(made, data[0], NOW, False)
    assert {path.name: path.read_bytes() for path in data[0].iterdir()} == before
    (tmp_path / "empty").mkdir(mode=0o755)
    await restore(made, tmp_path / "empty", NOW, False)
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (tmp_path / "empty").rglob("*")} == {0}
    with pytest.raises(Unavailable):
        await restore(made, tmp_path / "b" / "log.db" / "x", NOW, False)


async def test_every_document_begins_a_generation_that_nobody_has_seen(
    data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    """Counting up by one would meet the generations of repairs since, and those of another restore."""
    folder, task = data
    made = await back_up(folder, tmp_path / "b")
    generations = []
    for number, at in enumerate((NOW, NOW + 60)):
        await restore(made, tmp_path / f"n{number}", at, False)
        with SqliteLog(tmp_path / f"n{number}" / "log.db") as log:
            generations += [log.open(DocName(task)).generation, log.open(DocName(task, "margin")).generation]
            assert log.open(DocName(task)).head == 13
    assert generations == [NOW, NOW, NOW + 60, NOW + 60]
    await restore(await back_up(tmp_path / "n1", tmp_path / "b2"), tmp_path / "back", 5.0, False)
    with SqliteLog(tmp_path / "back" / "log.db") as log:
        assert log.open(DocName(task)).generation == NOW + 61, "also where the clock is wrong"


async def test_a_stock_client_that_has_newer_words_brings_them_back_and_all_agree(
    data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    """The server's own client ids are given up: else it would say something else under clocks that are taken."""
    folder, task = data
    name, client = DocName(task), Peer(77)
    async with open_services(Config(data=folder, durability="process")) as services:
        who = await owner(services)
        made = Path((await BackingUp(folder, services.nouns.database, services.clock).make(tmp_path / "b"))["to"])
        client.connection = await services.rooms.join(name, who, Role.EDITOR, client)
        await client.greet()
        await services.rooms.compose(name, who, note("lost", "said by the server after the backup"))
        await client.type("typed after the backup")
        await services.rooms.writer.drain()
        client.hear()
    await restore(made, tmp_path / "new", NOW, True)
    async with open_services(Config(data=tmp_path / "new", durability="process")) as services:
        await services.rooms.compose(name, who, note("new", "said by the server after the restore"))
        again, newcomer = Peer(77), Peer(78)
        again.doc, again.text = client.doc, client.text
        for peer in (again, newcomer):
            peer.connection = await services.rooms.join(name, who, Role.EDITOR, peer)
            await peer.greet()
            await services.rooms.writer.drain()
        for peer in (again, newcomer):
            peer.hear()
        assert decode_state_vector(again.doc.get_state()) == decode_state_vector(newcomer.doc.get_state())
        views = [json.dumps(peer.doc.get("notes", type=Map).to_py(), sort_keys=True) for peer in (again, newcomer)]
        assert views[0] == views[1] and "after the restore" in views[0] and "after the backup" in views[0]
        assert str(newcomer.text) == "typed after the backup"
    assert main(["verify", "--data", str(tmp_path / "new")]) == 0


async def _let_in(nouns: Nouns, task: TaskId, at: float) -> dict[str, str]:
    user = await nouns.users.named("owner")
    assert user is not None
    device = await nouns.devices.add(user.id, "laptop", "browser", at)
    agent = await nouns.agents.ensure(user.id, "Ada", at)
    session = await nouns.sessions.start(user.id, device.id, None, at)
    role, end = Role.EDITOR, at + 1e6
    return {
        "bearer": (await nouns.tokens.issue(user.id, role=role, at=at, expires_at=end))[1],
        "host": (await nouns.tokens.issue(user.id, role=role, at=at, expires_at=end, agent=agent.id))[1],
        "login": (await nouns.logins.issue(user.id, device.id, at))[1],
        "link": await nouns.links.issue(user.id, at),
        "ticket": (await nouns.tickets.issue(user.id, task, at, device=device.id))[1],
        "session": session.id,
        "share": await nouns.shares.issue(_share(task, user.id, at)),
    }


def _share(task: TaskId, by: UserId, at: float) -> Share:
    return Share(ShareId(task), task, Role.EDITOR, by, at, at + 1e6, 1, sign_in=False, keyed=False)


@pytest.mark.parametrize("keep", [False, True])
async def test_nothing_of_the_backup_lets_anybody_in_unless_the_operator_vouches_for_it(
    data: tuple[Path, TaskId], tmp_path: Path, keep: bool
) -> None:
    folder, task = data
    async with open_nouns(folder) as nouns:
        let_in = await _let_in(nouns, task, NOW)
    await restore(await back_up(folder, tmp_path / "b"), tmp_path / "new", NOW + 1, keep)
    async with open_nouns(tmp_path / "new") as nouns:
        found = {
            "bearer": await nouns.tokens.find(let_in["bearer"], NOW + 2),
            "host": await nouns.tokens.find(let_in["host"], NOW + 2),
            "login": await nouns.logins.find(let_in["login"], NOW + 2),
        }
        assert {what for what, one in found.items() if one is not None} == (set(found) if keep else set())
        assert await nouns.tickets.redeem(let_in["ticket"], task, NOW + 2) is None
        assert query(tmp_path / "new" / "clew.db", "SELECT count(*) FROM links") == [(0,)]
        assert await nouns.shares.find(ShareId(task), let_in["share"], NOW + 2) is None
        assert all(session.ended_at is not None for session in await nouns.sessions.every())
        assert [event.event for event in await nouns.audit.latest(1)] == ["folder.restored"]
        assert await nouns.audit.broken_at() is None

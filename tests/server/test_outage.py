"""A machine that goes down under ``process``: what is left is never taken for what others have seen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crdt_docs.ids import DocName
from crdt_docs.updates.compose import Composer
from server.cli.main import main
from server.config import Config
from server.domain.access import Principal
from server.domain.look import Look
from server.services import open_services
from server.store import outage
from server.store.log import SqliteLog

NOW = 1_800_000_000.0


def note(key: str) -> Callable[[Composer], None]:
    return lambda composer: composer.set("notes", key, "said by the server")


def reboot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "boot").write_text("another\n")
    monkeypatch.setattr(outage, "BOOT", tmp_path / "boot")


async def test_after_an_outage_every_document_begins_a_generation_and_no_clock_is_used_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log has lost its end; the database, which is synced, speaks of it still."""
    folder, disk = tmp_path / "data", tmp_path / "disk"
    async with open_services(Config(data=folder, durability="process", agent=False)) as services:
        user = await services.nouns.users.ensure("owner", NOW)
        task = (await services.nouns.tasks.create(user.id, "Acme", NOW)).id
        who, name = Principal(user.id, user.name), DocName(task)
        kept = await services.rooms.compose(name, who, note("kept"), fresh=True)
        log = {file: file.read_bytes() for file in folder.glob("log.db*") if not file.name.endswith("-shm")}
        lost = await services.rooms.compose(name, who, note("lost"), fresh=True)
        before = await services.rooms.generation(name)
        await services.nouns.looks.put(user.id, task, Look(lost, {}, NOW))
        await services.nouns.turns.heard({task: lost})
        shutil.copytree(folder, disk, ignore=shutil.ignore_patterns("*.sock", "*-shm"))
    for file, content in log.items():
        (disk / file.name).write_bytes(content)
    reboot(monkeypatch, tmp_path)
    async with open_services(Config(data=disk, agent=False)) as services:
        async with services.rooms.room(name) as room:
            assert (room.head, room.generation > before) == (kept, True)
            assert room.gate.claims and not any(claim.composed for claim in room.gate.claims.values())
        look = await services.nouns.looks.get(user.id, task)
        assert look is not None and look.seq == kept
        assert (await services.nouns.turns.searched())[task] == kept
        assert "folder.interrupted" in [event.event for event in await services.nouns.audit.latest(3)]
        assert await services.rooms.compose(name, who, note("new"), fresh=True) == kept + 1
    assert main(["verify", "--data", str(disk)]) == 0, capsys.readouterr().out


def test_a_server_that_ended_or_was_killed_is_no_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    assert not outage.has_been(folder)
    with outage.unsynced(folder, "process"), SqliteLog(folder / "log.db", "process"):
        assert not outage.has_been(folder), "killed now, and started again"
        assert (folder / outage.UNSYNCED).stat().st_mode & 0o077 == 0
        reboot(monkeypatch, tmp_path)
        assert outage.has_been(folder)
    assert not outage.has_been(folder), "all of it was on the disk before"
    with outage.unsynced(folder, "full"), SqliteLog(folder / "log.db"):
        assert not (folder / outage.UNSYNCED).exists()


def test_where_it_can_not_be_told_an_outage_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "BOOT", tmp_path / "nowhere")
    with outage.unsynced(tmp_path, "process"):
        assert outage.has_been(tmp_path)
    assert not outage.has_been(tmp_path)

    def fail(path: Path) -> None:
        raise OSError("the disk takes nothing")

    monkeypatch.setattr(outage, "sync", fail)
    with outage.unsynced(tmp_path, "process"):
        (tmp_path / "log.db").touch()
    assert outage.has_been(tmp_path), "nobody knows what of it is on the disk"

"""A document that the engine fails on: doctor names it, repair finds what it fails on, and leaves only that out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.data_folder import fill

from crdt_docs.ids import DocName
from crdt_docs.updates.compose import Composer
from server.cli.main import main
from server.config import Config
from server.control.mending import Mending
from server.domain.access import Principal
from server.engine.failures import EngineFailed, Verdict
from server.services import Services, open_services
from server.store.examine import examine
from server.store.log_file import LOG

CRASHED = Verdict.CRASHED.value


async def write(services: Services, name: DocName, who: str, words: str) -> None:
    user = await services.nouns.users.ensure(who, services.clock.now())

    def build(composer: Composer) -> None:
        composer.set("notes", words, words)

    await services.rooms.compose(name, Principal(user.id, user.name), build)


async def mend(folder: Path, name: DocName, *deadly: bytes) -> dict[str, Any]:
    """Repair with an engine that dies of these bytes, and of nothing else."""

    async def read(update: bytes) -> None:
        if any(one in update for one in deadly):
            raise EngineFailed(Verdict.CRASHED)

    async with open_services(Config(data=folder, durability="process")) as services:
        await services.rooms.quarantine(name, CRASHED)
        return await Mending(folder / LOG, services.log, services.rooms, read).mend(name)


async def test_only_the_updates_that_the_engine_dies_of_are_left_out_and_they_are_kept_aside(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    name = DocName(await fill(folder, 9, 4))
    async with open_services(Config(data=folder, durability="process")) as services:
        for n in range(30):
            await write(services, name, f"writer {n}", f"DEADLY {n}" if n in (7, 21) else f"fine {n}")
    said = await mend(folder, name, b"DEADLY 7", b"DEADLY 21")
    assert said["repaired"] and said["generation"] == 2
    assert len(said["left_out"]) == 2 and all(CRASHED in line for line in said["left_out"])
    (found,) = examine(folder / LOG)
    assert found.snapshot is not None and (found.asides, found.quarantined) == (1, None)
    assert b"DEADLY" not in found.snapshot.update
    assert all(f"fine {n}".encode() in found.snapshot.update for n in range(30) if n not in (7, 21))
    assert b"note number 8" in found.snapshot.update


async def test_of_a_document_whose_snapshot_it_dies_of_nothing_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    name = DocName(await fill(folder, 9, 4))
    said = await mend(folder, name, b"note number 2")
    assert said["repaired"] and "no single update" in said["left_out"][0]
    (found,) = examine(folder / LOG)
    assert found.snapshot is not None
    assert all(f"note number {n}".encode() in found.snapshot.update for n in range(9))


async def test_doctor_names_what_is_set_aside_and_how_to_repair_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    name = DocName(await fill(folder, 1, None))
    async with open_services(Config(data=folder, durability="process")) as services:
        await services.rooms.quarantine(name, CRASHED)
    assert main(["doctor", "--data", str(folder), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (about,) = [finding for finding in findings if finding["what"] == "documents"]
    assert about["mark"] == "WRONG" and CRASHED in about["said"] and f"repair --task {name.task}" in about["said"]

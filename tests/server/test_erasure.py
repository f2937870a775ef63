"""Erasing people: every byte of theirs, in every place, also in what an older copy brings back."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit.rooms import Peer

from crdt_docs.ids import DocName, TaskId, new_id
from crdt_docs.messages.ywebsocket import step2_frame
from crdt_docs.schema import seed
from crdt_docs.updates.compose import Composer
from server.app import operator
from server.cli.main import main
from server.config import Config
from server.control.backing_up import BackingUp
from server.domain.access import Principal, Role
from server.domain.audit import Deed
from server.domain.errors import Unauthenticated
from server.services import Services, open_services
from server.store.opening import opened_texts
from server.store.vault import Vault

MARK = "MARKER-7f3a"
STAYS = "words that stay"
NAME = "Ann MARKER-7f3a-name"


@dataclass
class Scene:
    """Ann, who will be erased, and Bob: a task of hers alone, one that she shares, one of his."""

    services: Services
    ann: Principal
    bob: Principal
    private: TaskId
    shared: TaskId
    bobs: TaskId
    bearer: str

    async def write(self, who: Principal, task: TaskId, words: str, part: Any = "main") -> None:
        def build(composer: Composer) -> None:
            if part == "main":
                entry = composer.set_map("messages", new_id())
                composer.set(entry, "author", who.name)
                composer.set_text(entry, "text", words)
                composer.set_text("notes", new_id(), words)
            else:
                composer.set_text(composer.set_map("comments", new_id()), "text", words)

        await self.services.rooms.compose(DocName(task, part), who, build)

    async def words(self, task: TaskId) -> str:
        """All of a task's document, as bytes that can be searched."""
        return (await self.services.rooms.read(DocName(task))).update.decode("latin-1")

    async def ask(self, command: str, **arguments: Any) -> Any:
        of = self.services
        backing_up = BackingUp(of.config.data, of.nouns.database, of.clock)
        return await operator(self.services, lambda: "http://localhost:1", backing_up).answer(command, arguments)


@asynccontextmanager
async def scene_in(folder: Path) -> AsyncIterator[Scene]:
    config = Config(data=folder, durability="process", agent=False)
    async with open_services(config) as services:
        nouns, now = services.nouns, services.clock.now()
        ann, bob = await nouns.users.add(NAME, now), await nouns.users.add("bob", now)
        device = await nouns.devices.add(ann.id, f"laptop {MARK}", "browser", now)
        as_ann = Principal(ann.id, ann.name, device=device.id, authenticated_at=1.0)
        as_bob = Principal(bob.id, bob.name, authenticated_at=1.0)
        tasks = []
        for owner, name in ((ann, f"task {MARK}"), (ann, "shared"), (bob, "bob's")):
            task = await nouns.tasks.create(owner.id, name, now)
            who = as_ann if owner is ann else as_bob
            await services.rooms.compose(DocName(task.id), who, begun(name), fresh=True)
            tasks.append(task.id)
        await nouns.tasks.add_member(tasks[1], bob.id, Role.EDITOR, now)
        await nouns.tasks.add_member(tasks[2], ann.id, Role.EDITOR, now)
        _, bearer = await nouns.tokens.issue(ann.id, role=Role.OWNER, at=now, expires_at=now + 1e6)
        private, shared, bobs = tasks
        yield Scene(services, as_ann, as_bob, private, shared, bobs, bearer)


def begun(name: str) -> Callable[[Composer], None]:
    document = new_id()
    return lambda composer: seed(composer, name=name, document=document)


async def fill(scene: Scene) -> None:
    """Words of Ann's everywhere: document, chat, comments, an agent's turn, snapshots, what a repair set aside."""
    nouns, now = scene.services.nouns, scene.services.clock.now()
    for number in range(3):
        await scene.write(scene.ann, scene.private, f"{MARK} {number}")
        await scene.write(scene.ann, scene.private, f"{MARK} comment {number}", "margin")
        await scene.write(scene.ann, scene.shared, f"{STAYS} {number}")
        await scene.write(scene.ann, scene.bobs, f"{STAYS} {number}")
    await scene.services.rooms.compact(DocName(scene.private))
    agent = await nouns.agents.ensure(scene.ann.user, f"agent {MARK}", now)
    acting = Principal(scene.ann.user, agent.name, "agent", agent.id, authenticated_at=1.0)
    await scene.write(acting, scene.private, f"{MARK} by an agent")
    await scene.write(acting, scene.shared, f"{STAYS} by an agent")
    await scene.services.desk.file()
    await nouns.audit.append("device.renamed", now, by=Deed(scene.ann.user), subjects=[scene.ann.user])
    await nouns.audit.append("member.added", now, by=Deed(scene.bob.user), subjects=[scene.ann.user])


def holding(folder: Path, *marks: str) -> list[str]:
    """The files in which any of the words is, and the documents whose sealed rows hold it."""
    files = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(mark.encode() in path.read_bytes() for mark in marks)
    ]
    opened = opened_texts(folder / "log.db") if (folder / "log.db").exists() else ()
    return files + sorted({name for name, text in opened if any(mark.encode() in text for mark in marks)})


def vault_of(keys: str) -> closing[Vault]:
    return closing(Vault.beside(Path(keys).parent, Path(keys).name, readonly=True))


async def authors(scene: Scene, task: TaskId) -> set[str]:
    _, written, _ = await scene.services.parts.authors.page(DocName(task), -1, 1000)
    return {one.author.actor.user for one in written}


async def test_attack_43_an_erased_person_is_in_no_byte_of_the_folder_nor_of_a_restored_backup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, backups = tmp_path / "data", tmp_path / "backups"
    backups.mkdir()
    async with scene_in(data) as scene:
        await fill(scene)
        ann, bob = scene.ann.user, scene.bob.user
        kept = await scene.ask("backup", to=str(backups))
        before = holding(data, MARK, STAYS)
        assert not any("log.db" in one for one in before), "the log is sealed"
        assert {f"{scene.private}/main, generation 1", f"{scene.private}/margin, generation 1"} <= set(before)
        assert holding(Path(kept["to"]), MARK) == ["clew.db"], "of a backup only names can be read without its keys"
        with vault_of(kept["keys"]) as vault:
            assert any(MARK.encode() in text for _, text in opened_texts(Path(kept["to"]) / "log.db", vault))
        told = await scene.ask("erase", user=NAME, dry_run=True)
        places = json.dumps(told["places"])
        for place in (
            "log.db-wal",
            "keys.db",
            "clew.db-wal",
            "audit",
            "members",
            "devices",
            kept["keys"],
            scene.shared,
        ):
            assert place in places
        assert (told["private"], told["shared"]) == (1, 2) and await scene.services.nouns.users.get(ann) is not None

        erased = await scene.ask("erase", user=NAME)
        assert (erased["private"], erased["shared"], erased["left"]) == (1, 2, ())
        assert holding(data, MARK, NAME, ann, scene.ann.device or "") == []
        for task in (scene.shared, scene.bobs):
            assert STAYS in await scene.words(task), "others' tasks stay, and stay whole"
            assert await scene.services.nouns.tasks.role(bob, task) == Role.OWNER
        stubs = [await authors(scene, task) - {bob} for task in (scene.shared, scene.bobs)]
        assert all(stubs) and not stubs[0] & stubs[1], "no stub is in two tasks"
        assert NAME not in await scene.words(scene.shared)
        assert (await scene.ask("audit.verify"))["sound"]
    assert holding(data, MARK, NAME, ann) == [], "also after a clean end"

    with vault_of(kept["keys"]) as vault:
        found = [text for name, text in opened_texts(Path(kept["to"]) / "log.db", vault) if scene.private in name]
        assert found and not any(found), "its keys are shredded, in the copy beside the backup, too"
    restored = tmp_path / "restored"
    await anyio.to_thread.run_sync(main, ["restore", "--from", kept["to"], "--data", str(restored)])
    assert "2 people and tasks were erased since" in capsys.readouterr().out
    assert holding(restored, MARK, NAME, ann) == []
    assert await anyio.to_thread.run_sync(main, ["verify", "--data", str(restored)]) == 0
    assert await anyio.to_thread.run_sync(main, ["audit", "verify", "--data", str(restored)]) == 0

    for name in ("log.db", "clew.db"):  # somebody puts last week's files back by hand
        shutil.copy(Path(kept["to"]) / name, data / name)
    assert holding(data, ann)
    async with open_services(Config(data=data, durability="process", agent=False)) as services:
        assert [task.id for task in await services.nouns.tasks.every()] != []
        assert await services.nouns.users.get(ann) is None
    assert holding(data, MARK, NAME, ann) == []
    assert await anyio.to_thread.run_sync(main, ["erase", "--verify", MARK, "--data", str(data)]) == 0
    assert await anyio.to_thread.run_sync(main, ["erase", "--verify", STAYS, "--data", str(data)]) == 1


async def test_attack_44_sockets_turns_and_replicas_of_an_erased_person_bring_nothing_back(tmp_path: Path) -> None:
    async with scene_in(tmp_path / "data") as scene:
        await fill(scene)
        rooms, nouns = scene.services.rooms, scene.services.nouns
        peers = []
        for client, who, task in (
            (1, scene.ann, scene.private),
            (2, scene.ann, scene.shared),
            (3, scene.bob, scene.shared),
        ):
            peer = Peer(client)
            peer.connection = await rooms.join(DocName(task), who, Role.EDITOR, peer)
            await peer.greet()
            peer.hear()
            peers.append(peer)
        mine, hers, bobs = peers
        await hers.type(f"{MARK} on line ")
        await rooms.writer.drain()
        bobs.hear()
        turns = await scene.services.desk.of_task(scene.shared)
        assert [turn.status for turn in turns] == ["queued"]
        hers.text += f"{MARK} never sent "
        bobs.doc.apply_update(hers.doc.get_update())  # a shared browser: Bob's tab knows what hers has not sent

        await scene.ask("erase", user=NAME, texts=True)
        assert mine.closed is not None and mine.closed[0] == 4404
        assert hers.closed is not None and hers.closed[0] == 4404
        assert await scene.services.desk.of_task(scene.shared) == []
        with pytest.raises(Unauthenticated):
            await scene.services.doors.authentication.of_secret(scene.bearer, scene.shared)
        assert bobs.closed is not None and bobs.closed[0] == 4404, "another generation begins: old copies are set aside"

        stock = Peer(4)  # a stock client knows no generations, and comes back with all that it has
        stock.doc.apply_update(bobs.doc.get_update())
        stock.connection = await rooms.join(DocName(scene.shared), scene.bob, Role.EDITOR, stock)
        await stock.greet()
        await stock.say(step2_frame(stock.doc.get_update()))
        await rooms.writer.drain()
        await rooms.compact(DocName(scene.shared))
        assert MARK not in await scene.words(scene.shared) and STAYS not in await scene.words(scene.shared)
        assert holding(tmp_path / "data", MARK, STAYS) == []
        await scene.write(scene.bob, scene.shared, "Bob goes on")
        assert "Bob goes on" in await scene.words(scene.shared)
        assert [user.name for user in await nouns.users.all() if user.id == scene.bob.user] == ["bob"]


async def test_an_erasure_that_a_crash_interrupted_is_finished_at_the_next_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    async with scene_in(data) as scene:
        await fill(scene)
        keys, now = scene.services.nouns.keys, scene.services.clock.now()
        keys.note_erased("task", [scene.private], now)  # and here the power went
        keys.note_erased("user", [scene.ann.user], now)
        ann = scene.ann.user
    async with open_services(Config(data=data, durability="process", agent=False)) as services:
        assert await services.nouns.users.get(ann) is None
    assert holding(data, MARK, ann) == []
    for words, said in (
        (["erase", "--user", "nobody"], ""),
        (["erase", "--user", "bob", "--refuse-owned"], "bob is erased: 2 private tasks are gone, 0 shared ones kept."),
        (["audit", "list", "--event", "user"], "user.erased"),
    ):
        code = await anyio.to_thread.run_sync(main, [*words, "--data", str(data)])
        assert code == (0 if said else 1) and said in capsys.readouterr().out


async def test_a_task_that_others_are_on_is_handed_on_or_nothing_is_erased(tmp_path: Path) -> None:
    async with scene_in(tmp_path / "data") as scene:
        nouns = scene.services.nouns
        with pytest.raises(Exception, match="would have no owner"):
            await scene.ask("erase", user=NAME, owned="refuse")
        assert await nouns.users.get(scene.ann.user) is not None
        alone = await nouns.tasks.create(scene.ann.user, "with a guest", 1.0)
        guest = await nouns.users.add("otter", 1.0)
        await nouns.database.write("UPDATE users SET guest = 1 WHERE id = ?", guest.id)
        await nouns.tasks.add_member(alone.id, guest.id, Role.VIEWER, 1.0)
        later = await nouns.users.add("carl", 9e9)
        await nouns.tasks.add_member(scene.shared, later.id, Role.EDITOR, 9e9)
        await scene.ask("erase", user=NAME)
        assert await nouns.tasks.role(guest.id, alone.id) is None, "a guest of a link inherits nothing"
        assert alone.id not in [task.id for task in await nouns.tasks.every()]
        members = await nouns.tasks.members(scene.bob.user, scene.shared)
        assert members is not None
        assert {member.name: member.role for member in members} == {"bob": Role.OWNER, "carl": Role.EDITOR}

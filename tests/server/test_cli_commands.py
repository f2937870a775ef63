"""Commands on a data folder, with a server that holds it and without one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit.data_folder import fill
from kit.running_server import CLEW, LINK, ROOT, RunningServer, environment, free_port, running_server
from pycrdt import Doc, Map

from crdt_docs.ids import TaskId
from server.cli.main import COMMANDS, main, parser
from server.cli.serve import another
from server.config import Config
from server.control import wire
from server.domain.errors import ClewError, Invalid, Unavailable
from server.store.folder import hold
from server.turns import built_in


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TaskId]:
    folder = tmp_path_factory.mktemp("filled") / "data"
    return folder, anyio.run(fill, folder)


@pytest.fixture
def data(filled: tuple[Path, TaskId], tmp_path: Path) -> tuple[Path, TaskId]:
    """A copy of its own."""
    shutil.copytree(filled[0], tmp_path / "data")
    return tmp_path / "data", filled[1]


@pytest.fixture(scope="module")
def live(filled: tuple[Path, TaskId], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("live") / "data"
    shutil.copytree(filled[0], folder)
    with running_server(folder) as server:
        yield server


def clew(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run a command here; its exit code, output and errors."""
    code = main([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


def said_json(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    code, out, err = clew(capsys, *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def get(server: RunningServer, path: str, token: str) -> int:
    request = urllib.request.Request(f"{server.url}{path}", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    text = parser().format_help()
    for command in COMMANDS:
        assert command in text
    with pytest.raises(SystemExit) as ended:
        main(["token", "create", "--help"])
    assert ended.value.code == 0
    assert "--ttl" in capsys.readouterr().out


def test_what_is_not_understood_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["frobnicate"], ["link", "--dat", "x"], ["token"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert capsys.readouterr().out == ""


def test_version_names_what_it_stands_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(said_json(capsys, "version")) == {"clew", "python", "sqlite", "pycrdt"}


def test_a_fresh_folder_serves_links_and_tokens_without_a_server(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    code, out, _ = clew(capsys, "link", "--data", folder)
    assert code == 0 and LINK.fullmatch(out.strip())
    token = said_json(capsys, "token", "create", "--data", folder, "--ttl", "15m")
    assert set(token) == {"id", "token", "expires_at"}
    users = said_json(capsys, "user", "list", "--data", folder)["users"]
    assert [(user["name"], user["plan"]) for user in users] == [("owner", "standard")]
    assert clew(capsys, "user", "plan", "owner", "gold", "--data", folder)[0] == 0
    assert "gold" in clew(capsys, "user", "list", "--data", folder)[1]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    stored = b"".join(file.read_bytes() for file in folder.iterdir())
    assert token["token"].encode() not in stored and out.strip().partition("#k=")[2].encode() not in stored


def test_errors_are_one_sentence_and_exit_code_one(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId]
) -> None:
    folder = data[0]
    for words, sentence in (
        (("link", "--user", "nobody"), "no user nobody"),
        (("token", "create", "--task", "nothing"), "no task nothing"),
        (("token", "create", "--ttl", "2y"), "is written"),
        (("tasks", "show", "0000"), "no task 0000"),
        (("repair", "--task", "11111111-1111-4111-8111-111111111111"), "no document"),
        (("user", "add", "owner"), "already"),
    ):
        code, out, err = clew(capsys, *words, "--data", folder)
        assert (code, out) == (1, "") and sentence in err and err.count("\n") == 1


def test_a_command_where_no_data_lies_makes_none_and_says_where_to_go(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLEW_DATA", raising=False)
    for words in (("link",), ("tasks", "list"), ("token", "create"), ("backup", "--to", "b")):
        code, out, err = clew(capsys, *words)
        assert (code, out) == (1, "") and "There is no clew-data here" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_command_for_another_link_can_be_typed_as_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/clew", "serve"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert another(Config()) == ".venv/bin/clew link"
    assert another(Config(data=Path("my data"))) == ".venv/bin/clew link --data 'my data'"
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert another(Config()) == "clew link"


def test_a_strangers_folder_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    code, _, err = clew(capsys, "link", "--data", tmp_path)
    assert code == 1 and "not Clew's" in err
    assert [file.name for file in tmp_path.iterdir()] == ["letter"]


def test_tasks_are_listed_shown_resumed_and_exported_without_a_server(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], tmp_path: Path
) -> None:
    folder, task = data
    _check_tasks(capsys, folder, task, tmp_path)


def test_tasks_are_listed_shown_resumed_and_exported_beside_a_server(
    capsys: pytest.CaptureFixture[str], live: RunningServer, filled: tuple[Path, TaskId], tmp_path: Path
) -> None:
    _check_tasks(capsys, live.data, filled[1], tmp_path)


def _check_tasks(capsys: pytest.CaptureFixture[str], folder: Path, task: TaskId, out: Path) -> None:
    listed = said_json(capsys, "tasks", "list", "--data", folder)["tasks"]
    assert [(found["id"], found["name"], found["status"]) for found in listed] == [(task, "Acme contract", "open")]
    assert said_json(capsys, "tasks", "list", "--status", "done", "--data", folder) == {"tasks": []}
    assert len(said_json(capsys, "tasks", "list", "--user", "owner", "--data", folder)["tasks"]) == 1
    for word in (task, task[:8], "acme CONTRACT"):
        shown = said_json(capsys, "tasks", "show", word, "--data", folder)
        assert shown["task"]["id"] == task and shown["seq"] == 13 and shown["documents"][0]["title"] == "Notes"
    resumed = said_json(capsys, "tasks", "resume", task, "--data", folder)
    assert said_json(capsys, "tasks", "resume", task, "--lang", "zh", "--data", folder)["text"].startswith(
        "您之前在处理“"
    )
    assert "Acme contract" in resumed["text"] and resumed["covers_seq"] == 13
    code, text, _ = clew(capsys, "tasks", "show", task, "--data", folder)
    assert code == 0 and text.startswith("Acme contract (open") and "# Notes" in text
    for kind in ("md", "json", "docx", "yjs"):
        file = out / f"task.{kind}"
        assert main(["tasks", "export", task, "--format", kind, "--out", str(file), "--data", str(folder)]) == 0
    doc = Doc[Any]()
    doc.apply_update((out / "task.yjs").read_bytes())
    assert doc.get("notes", type=Map)["n11"] == "note number 11"
    assert json.loads((out / "task.json").read_text())["task"]["name"] == "Acme contract"
    assert (out / "task.docx").read_bytes().startswith(b"PK")
    before = (out / "task.md").read_bytes()
    code, _, err = clew(capsys, "tasks", "export", task, "--out", out / "task.md", "--data", folder)
    assert code == 1 and "there already" in err and (out / "task.md").read_bytes() == before


def test_the_socket_is_its_owners_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        path = server.data / "control.sock"
        assert stat.S_ISSOCK(path.stat().st_mode) and stat.S_IMODE(path.stat().st_mode) == 0o600
        link = server.new_link()
        assert f":{server.port}/#k=" in link and link != server.link
        assert server.stop() == 0
    assert not path.exists()
    assert {file.name for file in server.data.iterdir()} == {"clew.db", "keys.db", "lock", "log.db"}, (
        "closed, and folded in"
    )
    assert not server.log.read_text()


def test_a_second_server_gets_a_sentence(live: RunningServer) -> None:
    command = [*CLEW, "serve", "--data", str(live.data), "--port", str(free_port()), "--no-browser"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"(process {live.pid})" in done.stderr and done.stderr.count("\n") == 1


def test_a_server_that_was_killed_leaves_a_folder_that_serves_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with running_server(tmp_path / "data") as server:
        server.kill()
        assert (server.data / "control.sock").exists()
        code, out, _ = clew(capsys, "link", "--data", server.data)
        assert code == 0 and LINK.fullmatch(out.strip())
        server.start()
        assert server.new_link()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_it_listens_ends_it_too(tmp_path: Path, number: signal.Signals) -> None:
    command = [*CLEW, "serve", "--data", str(tmp_path / "data"), "--port", str(free_port()), "--no-browser"]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE) as server:
        while not (tmp_path / "data" / "lock").exists():
            assert server.poll() is None
        server.send_signal(number)
        assert server.wait(20) is not None
    with hold(tmp_path / "data"):
        pass


def test_a_token_works_and_revoking_it_ends_it_at_once(
    capsys: pytest.CaptureFixture[str], live: RunningServer, filled: tuple[Path, TaskId]
) -> None:
    where = ("--data", live.data)
    token = said_json(capsys, "token", "create", "--task", filled[1][:8], "--role", "viewer", *where)
    assert get(live, f"/api/v1/tasks/{filled[1]}", token["token"]) == 200
    listed = said_json(capsys, "token", "list", *where)["tokens"]
    assert {"role": "viewer", "task": filled[1], "revoked_at": None}.items() <= listed[0].items()
    assert clew(capsys, "token", "revoke", token["id"], *where)[0] == 0
    assert get(live, f"/api/v1/tasks/{filled[1]}", token["token"]) == 401
    code, _, err = clew(capsys, "token", "revoke", "11111111-1111-4111-8111-111111111111", *where)
    assert code == 1 and err


def test_sessions_are_listed(capsys: pytest.CaptureFixture[str], live: RunningServer) -> None:
    token = said_json(capsys, "token", "create", "--data", live.data)["token"]
    request = urllib.request.Request(
        f"{live.url}/api/v1/sessions",
        method="POST",
        data=b'{"framework": "a script", "device": "the cron job"}',
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        started = json.load(answer)
    listed = said_json(capsys, "sessions", "list", "--data", live.data)["sessions"]
    assert started["id"] in [session["id"] for session in listed]
    assert {session["user"] for session in listed} == {"owner"}
    code, out, _ = clew(capsys, "sessions", "list", "--data", live.data)
    assert code == 0 and "DEVICE" in out and "the cron job" in out


# verify and repair


def test_a_sound_folder_is_verified_beside_a_server_and_without_one(
    capsys: pytest.CaptureFixture[str], live: RunningServer, data: tuple[Path, TaskId]
) -> None:
    for folder in (live.data, data[0]):
        said = said_json(capsys, "verify", "--data", folder)
        assert said["sound"] and said["files"] == {"clew.db": [], "log.db": []}
        (document,) = said["documents"]
        assert {
            "document": data[1],
            "seq": 13,
            "snapshot": 7,
            "generation": 1,
            "damage": [],
        }.items() <= document.items()
        assert not document["orphan"]
    code, out, _ = clew(capsys, "verify", "--data", data[0])
    assert code == 0 and out.startswith(f"ok       {data[1]}") and "all is sound" in out


def test_verify_of_no_data_folder_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert clew(capsys, "verify", "--data", tmp_path)[0] == 1
    assert list(tmp_path.iterdir()) == []


DAMAGES = {
    "a row's bytes": ("UPDATE updates SET data = substr(data, 1, length(data) - 1) || x'ff' WHERE seq = 9", 7),
    "a row is gone": ("DELETE FROM updates WHERE seq = 10", 8),
    "the snapshot's bytes": ("UPDATE snapshots SET body = substr(body, 2)", 0),
    "the snapshot's state": ("UPDATE snapshots SET state = x'00'", 12),
    "the snapshot is gone": ("DELETE FROM snapshots", 0),
    "the last row's bytes": ("UPDATE updates SET crc = crc + 1 WHERE seq = 13", 11),
}
"""What befalls the file, and how many of the twelve notes can be saved from it."""


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_told_and_repaired_and_the_rest_is_kept(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], what: str
) -> None:
    folder, task = data
    damage = DAMAGES[what]
    spoil(folder, damage[0])
    code, out, _ = clew(capsys, "verify", "--data", folder)
    assert code == 1 and f"DAMAGED  {task}" in out
    mended = said_json(capsys, "repair", "--task", task, "--data", folder)
    assert mended["repaired"] and mended["generation"] == 2 and mended["left_out"]
    said = said_json(capsys, "verify", "--data", folder)
    assert said["sound"] and (said["documents"][0]["set_aside"], said["documents"][0]["generation"]) == (1, 2)
    kept = notes(capsys, folder, task)
    assert set(kept) == {f"n{number}" for number in range(damage[1])}, "all by one writer: each stands on those before"
    again = said_json(capsys, "repair", "--task", task, "--data", folder)
    assert again["repaired"] is False


def test_a_state_that_lies_under_a_right_checksum_is_told(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId]
) -> None:
    from server.domain.log import Snapshot
    from server.store.log import SqliteLog

    with SqliteLog(data[0] / "log.db") as log:
        ((name, doc, _),) = log.names()
        present = log.open(name).snapshot
        assert present is not None
        lying = present.state.replace(b'"vector",[[', b'"vector",[[1', 1)
        assert log.replace(doc, Snapshot(present.seq, present.update, lying, present.index))
    code, out, _ = clew(capsys, "verify", "--data", data[0])
    assert code == 1 and "not what its bytes say" in out


def test_a_document_is_repaired_beside_a_server_and_served_again(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId]
) -> None:
    folder, task = data
    spoil(folder, DAMAGES["the last row's bytes"][0])
    with running_server(folder) as server:
        token = said_json(capsys, "token", "create", "--data", folder)["token"]
        assert get(server, f"/api/v1/tasks/{task}/working-set", token) == 503
        mended = said_json(capsys, "repair", "--task", "Acme contract", "--data", folder)
        assert mended["repaired"] and mended["generation"] == 2
        assert get(server, f"/api/v1/tasks/{task}/working-set", token) == 200
        assert said_json(capsys, "verify", "--data", folder)["sound"]


def spoil(folder: Path, sql: str) -> None:
    connection = sqlite3.connect(folder / "log.db")
    assert connection.execute(sql).rowcount > 0
    connection.commit()
    connection.close()


def notes(capsys: pytest.CaptureFixture[str], folder: Path, task: TaskId) -> dict[str, Any]:
    file = folder.parent / "saved.yjs"
    assert main(["tasks", "export", task, "--format", "yjs", "--out", str(file), "--data", str(folder)]) == 0
    doc = Doc[Any]()
    doc.apply_update(file.read_bytes())
    found: dict[str, Any] = doc.get("notes", type=Map).to_py() or {}
    return found


# doctor


def test_the_doctor_names_values_origins_and_the_disk(
    capsys: pytest.CaptureFixture[str], data: tuple[Path, TaskId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLEW_PORT", "1234")
    monkeypatch.setenv("CLEW_PROT", "1")
    data[0].chmod(0o700)
    for file in data[0].iterdir():
        file.chmod(0o600)
    said = said_json(capsys, "doctor", "--data", data[0])
    assert said["settings"]["port"] == {"value": "1234", "from": "CLEW_PORT"}
    found = {finding["what"]: finding for finding in said["findings"]}
    assert "ms" in found["disk"]["said"] and found["sqlite"]["mark"] == "ok"
    assert "CLEW_PROT" in found["environment"]["said"]
    assert "held by nobody" in found["data folder"]["said"]
    (data[0] / "clew.db").chmod(0o644)
    code, out, _ = clew(capsys, "doctor", "--data", data[0], "--config", os.devnull)
    assert code == 1 and "WRONG  permissions" in out and "clew.db" in out


def test_the_doctor_sees_a_living_server_and_touches_nothing(
    capsys: pytest.CaptureFixture[str], live: RunningServer
) -> None:
    before = sorted(file.name for file in live.data.iterdir())
    code, out, _ = clew(capsys, "doctor", "--data", live.data)
    assert code == 0 and "held by a server" in out
    assert sorted(file.name for file in live.data.iterdir()) == before


def test_the_doctor_warns_of_an_open_door(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_HOST", "0.0.0.0")
    code, out, _ = clew(capsys, "doctor", "--data", "/nonexistent/clew")
    assert code == 1 and "they can read along" in out


# the socket


async def test_the_socket_answers_nonsense_with_an_error_and_lives(tmp_path: Path) -> None:
    async def answer(command: str, arguments: wire.Arguments) -> Any:
        if command != "echo":
            raise Invalid("no")
        return arguments

    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    async with wire.listen(folder, answer):
        assert stat.S_IMODE((folder / wire.SOCKET).stat().st_mode) == 0o600
        for line in (b"nonsense\n", b"[]\n", b'{"command": "echo"}\n', b'{"command": "x", "arguments": {}}\n'):
            said = json.loads(await _say(folder, line))
            assert said["error"]["code"] == "invalid"
        assert await _say(folder, b"x" * (wire.MAX_LINE + 10)) == b""
        assert json.loads(await _say(folder, b""))["error"]["code"] == "invalid"
        big = {"text": "ü" * 100_000}
        assert await wire.ask(folder, "echo", big) == big
        with pytest.raises(ClewError, match="no"):
            await wire.ask(folder, "other", {})
    with pytest.raises(OSError):
        await wire.ask(folder, "echo", {})


async def _say(folder: Path, line: bytes) -> bytes:
    with wire._address(folder) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(line)
        writer.write_eof()
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_server_that_dies_while_it_answers_is_told(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / wire.SOCKET))
        listening.listen()

        def hang_up() -> None:
            listening.accept()[0].close()

        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, hang_up)
            with pytest.raises((Unavailable, OSError)):
                await wire.ask(tmp_path, "echo", {})


def test_a_folder_called_agent_where_one_stands_is_not_the_agent(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "__main__.py").write_text("print('taken over')")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [*built_in.COMMAND, "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("usage: clew agent"), done.stderr

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from kit.running_server import ROOT, environment, free_port

from agent import host
from agent.cli import main
from agent.door import Door, Offer
from agent.errors import Declined, Unreachable, Unwelcome
from agent.workers import Workers


def run(*words: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent", *words],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        env={**environment(), **more},
        check=False,
    )


@pytest.mark.parametrize("server", ["", "localhost:8484", "ftp://x", "http://user:secret@host", "http://host/?token=x"])
def test_a_server_that_is_no_address_is_not_understood(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--server", server, "--token", "x"]) == 2
    assert "--server" in capsys.readouterr().err


def test_a_task_that_is_no_id_is_not_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--server", "http://127.0.0.1:1", "--token", "x", "--task", "Acme contract"]) == 2
    assert "clew tasks list" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "two words", "schlüssel", "\x07"])
def test_a_bearer_that_is_none_is_not_understood_and_not_repeated(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLEW_TOKEN", raising=False)
    file = tmp_path / "token"
    file.write_text(content)
    assert main(["--server", "http://127.0.0.1:1", "--token-file", str(file)]) == 2
    said = capsys.readouterr().err
    assert "bearer" in said and (not content or content not in said)
    assert main(["--server", "http://127.0.0.1:1", "--token-file", str(tmp_path / "nowhere")]) == 2
    assert main(["--server", "http://127.0.0.1:1"]) == 2


async def test_what_keeps_an_agent_from_its_server_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would seem to work, to whoever started it with an address that the server does not go by."""
    why = "This server does not answer to that name; its operator can add it with --allow-host."
    answers = [Unreachable("not yet"), Declined(400, "invalid", why), Declined(400, "invalid", why)]

    class ClosedDoor:
        @asynccontextmanager
        async def offers(self) -> AsyncIterator[AsyncIterator[Offer]]:
            raise answers.pop(0) if answers else Unwelcome(401, "unauthenticated", "enough")
            yield

    monkeypatch.setattr(host, "delay", lambda attempt: 0.0)
    with pytest.raises(Unwelcome):
        await host.Host(cast(Door, ClosedDoor()), cast(Workers, None)).run()
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [words.partition(";")[0] for words in told] == [
        "not yet",
        f"the server answers 400: {why.partition(';')[0]}",
    ]


def test_the_host_never_loads_the_engine() -> None:
    script = "import sys, agent.cli; sys.exit(any(name.partition('.')[0] == 'pycrdt' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_an_agent_without_a_server_waits_for_one_and_ends_with_its_input() -> None:
    server = f"http://127.0.0.1:{free_port()}"
    done = run("--server", server, "--token-file", "-", "--until-eof", "--verbose", stdin="secret\n")
    assert done.returncode == 0
    assert "secret" not in done.stdout + done.stderr

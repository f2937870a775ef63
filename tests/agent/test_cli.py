from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kit.running_server import ROOT, environment, free_port

from agent.cli import main


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


def test_the_host_never_loads_the_engine() -> None:
    script = "import sys, agent.cli; sys.exit(any(name.partition('.')[0] == 'pycrdt' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_an_agent_without_a_server_waits_for_one_and_ends_with_its_input() -> None:
    server = f"http://127.0.0.1:{free_port()}"
    done = run("--server", server, "--token-file", "-", "--until-eof", "--verbose", stdin="secret\n")
    assert done.returncode == 0
    assert "secret" not in done.stdout + done.stderr

"""The house rules that a machine can check, over every file in the tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from importlinter import cli

ROOT = Path(__file__).resolve().parents[1]
CODE = {".py", ".ts", ".mjs"}
MOST_LINES, MOST_IN_A_TEST = 400, 600
VAGUE = {"util", "utils", "manager", "helper", "helpers", "base", "common", "misc"}

# put together here, so that this file does not name what it forbids
REGISTRIES = ("pypi" + ".org", "python" + "hosted", "npm" + "js.", "deb" + "ian.org")
MACHINES = ("/" + "work/", "/" + "root/", "/" + "home/", "C:" + "\\Users")


def tracked() -> list[Path]:
    """Every file that belongs to the project; what is being written and not added yet does not."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def test_the_walls_between_packages_hold(capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == cli.EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_no_file_of_code_is_longer_than_can_be_read_at_once() -> None:
    long = {}
    for path in tracked():
        if path.suffix in CODE:
            most = MOST_IN_A_TEST if "tests" in path.relative_to(ROOT).parts else MOST_LINES
            lines = len(path.read_text().splitlines())
            if lines > most:
                long[str(path.relative_to(ROOT))] = lines
    assert long == {}


def test_files_are_named_by_what_they_own() -> None:
    vague = [path for path in tracked() if path.suffix in CODE and VAGUE & set(re.split(r"[_.-]", path.stem.lower()))]
    assert vague == []


def test_the_tree_names_no_registry_and_no_machine() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode(errors="replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in (*REGISTRIES, *MACHINES) if word in text]
    assert found == []


def test_locks_pin_by_hash_and_name_no_address() -> None:
    for lock in (*ROOT.glob("requirements*.lock"), ROOT / "bench" / "peers" / "requirements.lock"):
        text = lock.read_text()
        names = re.findall(r"^[a-z0-9][a-z0-9._-]*==", text, re.MULTILINE)
        blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
        assert names and len(blocks) == len(names)
        assert all("--hash=sha256:" in block for block in blocks), lock.name
        assert not re.search(r"://|^\s*(-i|-f|--(extra-)?index|--find)", text, re.MULTILINE), lock.name
    for folder in ("web", "tests/interop/node", "bench/peers"):
        lock = ROOT / folder / "package-lock.json"
        assert '"resolved"' not in lock.read_text(), lock


def test_every_python_file_of_the_application_says_what_it_owns() -> None:
    bare = []
    for path in tracked():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("server", "crdt_docs", "agent"):
            text = path.read_text()
            if text.strip() and not re.match(r'(#.*\n)*\s*r?"""', text):
                bare.append(str(path.relative_to(ROOT)))
    assert bare == []

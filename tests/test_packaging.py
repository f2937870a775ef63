"""What `pip install` gets: the page inside the package, built from the sources beside it by whatever Node there is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).resolve().parents[1]
NPM = """#!/bin/sh
echo "$@" >> "$LOG"
case "$1" in
  ci) mkdir -p node_modules ;;
  run) [ -e broken ] && echo "no such module" && exit 3; mkdir dist && cp page.ts dist/index.html ;;
esac
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project, and an npm that notes what it is asked to do."""
    root = tmp_path / "tree"
    for name, text in {"package.json": "{}", "package-lock.json": "{}", "page.ts": "one"}.items():
        (root / "web").mkdir(parents=True, exist_ok=True)
        (root / "web" / name).write_text(text)
    (root / "server").mkdir()
    put_node(tmp_path / "bin", "v20.19.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("LOG", str(tmp_path / "asked"))
    return root


def put_node(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in {"node": f"#!/bin/sh\necho {version}\n", "npm": NPM}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


def asked(tree: Path) -> list[str]:
    log = tree.parent / "asked"
    lines = log.read_text().splitlines() if log.exists() else []
    log.write_text("")
    return [line.split()[0] for line in lines]


def test_the_page_is_built_once_and_again_when_a_source_changes(tree: Path) -> None:
    assert hatch_build.build(tree)
    assert (tree / "server/static/index.html").read_text() == "one"
    assert asked(tree) == ["ci", "run"]
    assert not hatch_build.build(tree)
    assert asked(tree) == []
    (tree / "web/page.ts").write_text("two")
    assert hatch_build.build(tree)
    assert (tree / "server/static/index.html").read_text() == "two"
    assert asked(tree) == ["run"], "the packages were there already"


def test_a_changed_lock_installs_the_packages_anew(tree: Path) -> None:
    hatch_build.build(tree)
    asked(tree)
    (tree / "web/package-lock.json").write_text('{"changed": true}')
    hatch_build.build(tree)
    assert asked(tree) == ["ci", "run"]


def test_a_failed_build_says_why_and_leaves_the_page_that_was_there(tree: Path) -> None:
    hatch_build.build(tree)
    (tree / "web/broken").touch()
    with pytest.raises(RuntimeError, match="no such module"):
        hatch_build.build(tree)
    assert (tree / "server/static/index.html").read_text() == "one"
    assert hatch_build.is_stale(tree)


def test_what_is_built_or_installed_is_no_source(tree: Path) -> None:
    before = hatch_build.hash_sources(tree)
    for folder in ("node_modules/a", "dist", "tests"):
        (tree / "web" / folder).mkdir(parents=True)
        (tree / "web" / folder / "file").write_text("x")
    assert hatch_build.hash_sources(tree) == before
    (tree / "web" / "page.ts").rename(tree / "web" / "other.ts")
    assert hatch_build.hash_sources(tree) != before


@pytest.mark.parametrize(
    ("version", "fits"),
    [("v18.20.1", False), ("v20.18.3", False), ("v20.19.0", True), ("v24.1.0", True), ("nonsense", False)],
)
def test_a_node_that_is_too_old_is_as_good_as_none(tree: Path, version: str, fits: bool) -> None:
    put_node(tree.parent / "bin", version)
    assert (hatch_build.system_npm() is not None) == fits


def test_node_is_asked_of_the_index_only_where_it_is_needed(tree: Path) -> None:
    hook = object.__new__(hatch_build.WebBuildHook)
    hook._BuildHookInterface__root = str(tree)  # type: ignore[attr-defined]
    assert hook.dependencies() == []
    put_node(tree.parent / "bin", "v18.0.0")
    assert hook.dependencies() == [hatch_build.NODE_WHEEL]
    put_node(tree.parent / "bin", "v20.19.0")
    hatch_build.build(tree)
    put_node(tree.parent / "bin", "v18.0.0")
    assert hook.dependencies() == [], "what is built needs no Node"


def test_a_wheel_and_an_sdist_carry_the_page_and_no_packages(tmp_path: Path) -> None:
    assert not hatch_build.is_stale(ROOT), "run `make web`"
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "PATH": path})
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        wheel = set(archive.namelist())
    for name in (
        "server/static/index.html",
        "server/static/.sources",
        "server/cli/main.py",
        "crdt_docs/schema1.json",
        "agent/__init__.py",
    ):
        assert name in wheel
    assert not [name for name in wheel if name.startswith(("web/", "tests/", "bench/")) or "node_modules" in name]
    migrations = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "server/store/migrations").iterdir() if path.is_file()
    }
    assert migrations <= wheel
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    for name in (
        "server/static/index.html",
        "web/src/main.ts",
        "web/package-lock.json",
        "hatch_build.py",
        "pyproject.toml",
    ):
        assert name in names
    assert not [name for name in names if "node_modules" in name or name.startswith("web/dist")]


def test_the_node_wheel_named_in_the_hook_is_the_one_that_is_locked() -> None:
    lock = (ROOT / "requirements-node.lock").read_text()
    assert hatch_build.NODE_WHEEL in lock
    assert shutil.which("node") is None or hatch_build.system_npm() is not None

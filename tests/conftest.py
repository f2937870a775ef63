"""Fixtures that tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.yjs_oracle import YjsOracle, require_node


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", help="play this one schedule of the simulation again")
    parser.addoption("--minutes", type=float, default=30.0, help="how long each soak of fuzz lasts")
    parser.addoption("--megabytes", type=float, help="how large the large document of the soak is")
    parser.addoption("--clients", type=int, help="how many clients of the soak join, or come back at once")
    parser.addoption("--updates", type=int, help="how many updates of the soak go into one document")
    parser.addoption("--typing", type=int, help="how many other documents of the soak are typed in")


class Folder(pytest.Package):
    """A folder whose fixtures of scope ``package`` end with it, though it is no package."""

    def setup(self) -> None:
        """There is no ``__init__`` to import."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The browser tests are such a folder."""
    return Folder.from_parent(parent, path=path) if path == Path(__file__).parent / "browser" else None


@pytest.fixture(scope="session")
def yjs() -> Iterator[YjsOracle]:
    """Yjs in Node, one process for the whole run; mark its tests with ``node``."""
    require_node()
    with YjsOracle() as oracle:
        yield oracle


@pytest.fixture
def fuzz_minutes(request: pytest.FixtureRequest) -> float:
    """How long to fuzz: ``--minutes``."""
    return float(request.config.getoption("--minutes"))


LONGEST_FIRST = ("system", "interop", "browser", "agent", "server", "crdt_docs")
"""Folders, so that of several workers none is left alone with minutes of work at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)

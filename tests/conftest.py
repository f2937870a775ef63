"""Fixtures that tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.yjs_oracle import YjsOracle, require_node


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", help="play this one schedule of the simulation again")


@pytest.fixture(scope="session")
def yjs() -> Iterator[YjsOracle]:
    """Yjs in Node, one process for the whole run; mark its tests with ``node``."""
    require_node()
    with YjsOracle() as oracle:
        yield oracle


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Pages last: Playwright's blocking API leaves a loop running in this thread, and no other can run beside it."""
    items.sort(key=lambda item: item.path.parent.name == "browser")

"""Fixtures that tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.yjs_oracle import YjsOracle, require_node


@pytest.fixture(scope="session")
def yjs() -> Iterator[YjsOracle]:
    """Yjs in Node, one process for the whole run; mark its tests with ``node``."""
    require_node()
    with YjsOracle() as oracle:
        yield oracle

"""One server for all tests of this folder that don't need their own; each test takes a task of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.served import Served, serve


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("served")) as running:
        yield running

"""Chromium and a real server for the tests of the page. Every device is a browser profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.devices import FLAGS, Devices
from kit.running_server import RunningServer, running_server
from playwright.sync_api import Browser, sync_playwright

ARTIFACTS = Path(__file__).parent / "artifacts"
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, "These tests drive Chromium, and there is none: `make test` installs it."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "data") as running:
        yield running


@pytest.fixture
def devices(chromium: Browser, server: RunningServer) -> Iterator[Devices]:
    """Browsers of people; none may have asked another host for anything or broken the page's policy afterwards."""
    ARTIFACTS.mkdir(exist_ok=True)
    with Devices(chromium, server, ARTIFACTS) as all_of_them:
        yield all_of_them
        all_of_them.check()

"""Chromium and a real server for the tests of the page. Every device is a browser profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.devices import ARTIFACTS, FLAGS, Device, Devices, Home
from kit.running_server import RunningServer, running_server
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
expect.set_options(timeout=30_000)  # what comes ends the wait at once; a busy machine takes its time


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where Chromium is."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found, "These tests drive Chromium, and there is none: `make test` installs it."
    return found


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Up for this folder only: while it is, its event loop is the thread's, and asynchronous tests cannot run."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def chromium(chromium_path: str, playwright: Playwright) -> Iterator[Browser]:
    """One browser for all files; what they keep apart are its profiles."""
    browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests that do it no harm."""
    with running_server(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningServer]:
    """The shared server, or where the test is marked ``own_server`` one to be used up, stopped or killed."""
    if request.node.get_closest_marker("own_server") is None:
        yield request.getfixturevalue("shared_server")
        return
    with running_server(tmp_path / "data") as running:
        yield running


@pytest.fixture(scope="package")
def operator(chromium: Browser, shared_server: RunningServer) -> Iterator[Device]:
    """A browser that is signed in to the shared server and asks it for links; quicker than the command line."""
    with Devices(chromium, shared_server, ARTIFACTS) as devices:
        yield devices.new().sign_in(shared_server.new_link())


@pytest.fixture(scope="module")
def home(
    chromium: Browser, shared_server: RunningServer, operator: Device, request: pytest.FixtureRequest
) -> Iterator[Home]:
    """Opened once a file: a page load is what costs."""
    ARTIFACTS.mkdir(exist_ok=True)
    name = f"Acme contract for {request.module.__name__.rpartition('.')[2]}"
    with Devices(chromium, shared_server, ARTIFACTS) as devices:
        laptop = devices.new().sign_in(operator.invite()).start_task(name)
        phone = devices.new("small phone", "dark").sign_in(operator.invite()).open_task(name)
        yield Home(laptop.wait_until("saved"), phone.wait_until("saved"), name)
        devices.check()


@pytest.fixture(scope="module")
def pair(chromium: Browser, shared_server: RunningServer, operator: Device) -> Iterator[tuple[Device, Device]]:
    """A laptop and a dark phone of one person, signed in once a file: that costs more than all that a test does."""
    ARTIFACTS.mkdir(exist_ok=True)
    with Devices(chromium, shared_server, ARTIFACTS) as devices:
        yield devices.new().sign_in(operator.invite()), devices.new("phone", "dark").sign_in(operator.invite())
        devices.check()


@pytest.fixture
def anew(pair: tuple[Device, Device], task: str) -> Home:
    """Both of the pair, loaded anew, in a task of the test's own; for tests that leave them signed in and online."""
    laptop, phone = pair
    phone.context.set_offline(False)  # should the test before have failed in between
    return Home(laptop.open().start_task(task), phone.open().open_task(task), task)


@pytest.fixture
def link(request: pytest.FixtureRequest, server: RunningServer) -> str:
    """A sign-in link that nobody has used."""
    if request.node.get_closest_marker("own_server") is not None:
        return server.link
    operator: Device = request.getfixturevalue("operator")
    return operator.invite()


@pytest.fixture
def devices(chromium: Browser, server: RunningServer) -> Iterator[Devices]:
    """Browsers of people; none may have asked another host for anything or broken the page's policy afterwards."""
    ARTIFACTS.mkdir(exist_ok=True)
    with Devices(chromium, server, ARTIFACTS) as all_of_them:
        yield all_of_them
        all_of_them.check()


@pytest.fixture
def task(request: pytest.FixtureRequest) -> str:
    """A name that no other test gives its task."""
    return f"Acme contract, {request.node.name[5:60].replace('_', ' ')}"


@pytest.fixture
def laptop(devices: Devices, link: str, task: str) -> Device:
    """A signed-in laptop in a new task."""
    return devices.new().sign_in(link).start_task(task)


@pytest.fixture
def phone(devices: Devices, laptop: Device, task: str) -> Device:
    """The same person's phone, dark, in the same task."""
    return devices.new("phone", "dark").sign_in(laptop.invite()).open_task(task)

"""The page in Firefox and in WebKitGTK: one walk by keys, over a server that goes away. Run by `make engines` alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from kit.engines import Engine, firefox, webkit
from kit.running_server import running_server

pytestmark = pytest.mark.engines

LONG = "The budget must stay under 5000 euros, and nobody may pay more than that, whatever they were offered. "
WORKER = "navigator.serviceWorker.ready.then(() => caches.keys()).then((all) => all.length)"


def light(state: str) -> str:
    return f"document.querySelector('[data-light]')?.dataset.light === '{state}'"


def says(selector: str, words: str) -> str:
    return f"document.querySelector('{selector}')?.innerText.includes('{words}')"


@pytest.mark.parametrize("browser", [firefox, webkit])
def test_a_task_is_written_in_kept_while_the_server_is_away_and_sent_when_it_is_back(
    browser: Callable[[], AbstractContextManager[Engine]], tmp_path: Path
) -> None:
    with running_server(tmp_path / "data", agent=True) as server, browser() as page:
        page.open(server.link)
        page.type("input", "Acme contract\n")
        page.wait(light("saved"))
        address = page.ask("location.href")
        page.type(".words", "\n# Plan\nwritten. ")
        page.wait(says(".words h1", "Plan"))
        page.wait(light("saved"))

        page.open(f"{server.link.partition('#')[0]}icon.svg")  # a page loaded anew, signed in as before
        page.open(address)
        page.wait(says(".words", "written."))
        assert page.ask("getComputedStyle(document.querySelector('.words'), '::before').content") == "none"

        page.type("#composer", LONG)
        height, needed = page.ask(
            "[document.querySelector('#composer')].map((one) => [one.clientHeight, one.scrollHeight])[0]"
        )
        assert height == needed > 80
        page.press("Enter")
        page.wait(says("clew-ledger", "under 5000 euros"))
        page.wait(light("saved"))
        page.wait(WORKER)

        server.stop()
        page.wait(light("offline"))
        page.type(".words", "offline. ")
        page.wait(says(".words", "offline."))
        page.wait("document.querySelector('[data-light]').innerText.includes('kept on this device')")
        page.open(f"{address}#")
        page.ask("location.reload()")
        page.wait(says(".words", "offline."))
        server.start()
        page.wait(light("saved"))
        task = address.rpartition("/t/")[2]
        assert "written. offline." in server.clew("tasks", "export", task, "--format", "md")

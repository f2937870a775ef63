"""Browsers that are not Chromium, as their distribution ships them: Firefox by WebDriver BiDi, WebKitGTK by WebDriver.

Owns their processes, and a profile that is thrown away. As little as a walk by keys needs: open, ask, press, type.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError

from kit.running_server import free_port
from websockets.sync.client import ClientConnection, connect

PATIENCE = 30.0
FIREFOX = ("firefox-esr", "firefox")
MINIBROWSER = "webkit2gtk-4.*/MiniBrowser"
PREFERENCES = {
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "services.settings.server": "data:,",
    "ui.allPointerCapabilities": 6,  # headless, it has no mouse of its own
    "ui.primaryPointerCapabilities": 6,
}
KEYS = {"Control": "\ue009", "End": "\ue010", "Enter": "\ue007", "Tab": "\ue004"}


class Engine(ABC):
    """One window of one browser."""

    @abstractmethod
    def open(self, url: str) -> None:
        """Go there, and wait until it is loaded."""

    @abstractmethod
    def ask(self, expression: str) -> Any:
        """The value of an expression, or of what it promises, as JSON; None while a page is being left."""

    @abstractmethod
    def act(self, actions: list[dict[str, str]]) -> None:
        """Keys down and up, as WebDriver has them."""

    def wait(self, expression: str) -> None:
        """Until it is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < deadline, f"never came: {expression}\n{self.ask('document.body.innerText')}"
            time.sleep(0.1)

    def press(self, *keys: str) -> None:
        """Together."""
        named = [KEYS.get(key, key) for key in keys]
        down = [{"type": "keyDown", "value": key} for key in named]
        self.act([*down, *({"type": "keyUp", "value": key} for key in reversed(named))])

    def type(self, selector: str, words: str) -> None:
        """At the end of what takes words; a line's end is Enter."""
        self.wait(f"document.querySelector({json.dumps(selector)})")
        self.ask(f"document.querySelector({json.dumps(selector)}).focus()")
        time.sleep(0.05)  # ProseMirror puts the caret where it last knew it, 20 ms after it got the focus
        self.press("Control", "End")
        for word in words.replace("\n", KEYS["Enter"]):
            self.press(word)


class Firefox(Engine):
    """Over one BiDi session."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._send("session.new", capabilities={})
        # in the tab that it begins with, the address bar has the keys
        self._window = self._send("browsingContext.create", type="tab")["context"]

    def open(self, url: str) -> None:
        self._send("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def ask(self, expression: str) -> Any:
        told = self._send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify((await ({expression})) ?? null))()",
            target={"context": self._window},
            awaitPromise=True,
        )
        return json.loads(told["result"]["value"]) if told.get("type") == "success" else None

    def act(self, actions: list[dict[str, str]]) -> None:
        keys = {"type": "key", "id": "keys", "actions": actions}
        self._send("input.performActions", context=self._window, actions=[keys])

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (told := json.loads(self._socket.recv(PATIENCE))).get("id") != self._number:
            continue
        result: dict[str, Any] = told.get("result", {})
        return result


class WebKit(Engine):
    """Over one WebDriver session."""

    def __init__(self, driver: str, binary: str) -> None:
        self._at = driver
        options = {"binary": binary, "args": ["--automation"]}
        asked = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self._at += f"/session/{self._send('/session', capabilities=asked)['sessionId']}"

    def open(self, url: str) -> None:
        self._send("/url", url=url)

    def ask(self, expression: str) -> Any:
        script = (
            f"const done = arguments[0]; (async () => (await ({expression})) ?? null)().then(done, () => done(null));"
        )
        return self._send("/execute/async", script=script, args=[])

    def act(self, actions: list[dict[str, str]]) -> None:
        self._send("/actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def _send(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            self._at + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            with error:
                told = error.read().decode()
            if "javascript error" in told:  # the page that was asked is gone
                return None
            raise AssertionError(told) from None


@contextmanager
def firefox() -> Iterator[Engine]:
    """A headless Firefox until the block ends."""
    program = next((path for name in FIREFOX if (path := shutil.which(name))), None)
    assert program, "There is no Firefox. On Debian: apt install firefox-esr"
    with TemporaryDirectory() as profile:
        said = Path(profile, "said")
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        Path(profile, "user.js").write_text("\n".join(lines))
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with said.open("w") as errors, ended(subprocess.Popen(command, stdout=errors, stderr=errors)):
            with connect(f"{_address_in(said)}/session", max_size=None, proxy=None) as socket:
                yield Firefox(socket)


@contextmanager
def webkit() -> Iterator[Engine]:
    """WebKitGTK's small browser on the display that there is, until the block ends."""
    driver = shutil.which("WebKitWebDriver")
    binary = next((str(path) for path in Path("/usr").glob(f"lib*/**/{MINIBROWSER}")), None)
    assert driver and binary, "There is no WebKitGTK. On Debian: apt install webkit2gtk-driver xvfb xauth"
    port = free_port()
    with ended(subprocess.Popen([driver, f"--port={port}", "--host=127.0.0.1"])):
        _wait_for(port)
        yield WebKit(f"http://127.0.0.1:{port}", binary)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Asked to end when the block does, and then made to."""
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address_in(said: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while not (found := re.search(r"listening on (ws://\S+)", said.read_text())):
        assert time.monotonic() < deadline, f"Firefox did not start:\n{said.read_text()}"
        time.sleep(0.1)
    return found[1]


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=PATIENCE):
                return
        except OSError:
            assert time.monotonic() < deadline, "WebKitWebDriver did not start"
            time.sleep(0.1)

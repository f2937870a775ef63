"""What stands between a page and its server: a line that goes dead without a word, is slow, or is cut.

Owns what becomes of frames. Must never drop one frame and pass the next of the same socket: no network does that.
"""

from __future__ import annotations

import time
from typing import Literal

from kit.devices import Device
from playwright.sync_api import WebSocketRoute

Weather = Literal["fair", "deaf", "dumb", "dead", "late"]
"""``deaf``: the page hears nothing more; ``dumb``: nobody hears it; ``dead``: both; ``late``: its words wait."""


class HostileLine:
    """All sockets of one page. A change of weather holds for the open socket, and for those that are opened later."""

    def __init__(self, device: Device) -> None:
        self.opened = 0
        self.now: Weather = "fair"
        self._waiting: list[bytes | str] = []
        self._line: WebSocketRoute | None = None
        self._server: WebSocketRoute | None = None
        self._page = device.page
        self._page.route_web_socket("**/sync/**", self._open)

    def _open(self, line: WebSocketRoute) -> None:
        self.opened += 1
        self.now, self._waiting = "fair", []
        self._line, self._server = line, line.connect_to_server()
        server = self._server
        line.on_message(lambda frame: self._up(server, frame))
        server.on_message(
            lambda frame: None if line is self._line and self.now in ("deaf", "dead") else line.send(frame)
        )

    def _up(self, server: WebSocketRoute, frame: bytes | str) -> None:
        if server is self._server and self.now in ("dumb", "dead"):
            return
        if server is self._server and self.now == "late":
            self._waiting.append(frame)
            return
        server.send(frame)

    def turn(self, weather: Weather) -> None:
        """What waits goes on when the weather is fair again; what was swallowed is gone, and its socket with it."""
        if self.now in ("deaf", "dumb", "dead"):
            assert weather != "fair", "a dead socket does not come back: cut it, or wait for another"
        self.now = weather
        if weather == "fair" and self._server is not None:
            waiting, self._waiting = self._waiting, []
            for frame in waiting:
                self._server.send(frame)

    def wait_for_another(self, opened: int, within: float = 20.0) -> None:
        """Wait until the page has opened more sockets than that; seconds."""
        deadline = time.monotonic() + within
        while self.opened <= opened:
            assert time.monotonic() < deadline, f"the page has opened {self.opened} sockets in all"
            self._page.wait_for_timeout(50)

    def cut(self, code: int = 1011, why: str = "") -> None:
        """End the open socket on both sides."""
        assert self._line is not None and self._server is not None
        self._server.close()
        self._line.close(code=code, reason=why)

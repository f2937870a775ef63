"""Stock editors in Chromium on stock providers, each device behind a wire of its own that can be delayed, cut and hung.

Owns browser contexts and wires. The page is `tests/interop/node/pages/editor.js`, served by intercepting the wire's own
address: a browser then names that address as the page's Origin, which is the only one that Clew lets open a socket.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.delay_proxy import DelayProxy
from kit.yjs_oracle import require_node
from playwright.async_api import Browser, BrowserContext, Page

NODE = Path(__file__).parents[1] / "interop" / "node"
HTML = '<!doctype html><meta charset=utf-8><title>editor</title><div id=editor></div><script src="editor.js"></script>'
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-features=LocalNetworkAccessChecks",  # an intercepted page has no address: taken for a public one
]
KEYS = 40
"""Milliseconds between keystrokes."""


def build_pages() -> None:
    """Bundle the page. Skips the test where the editors are not installed, as the oracle does."""
    require_node()
    subprocess.run(["npm", "run", "--silent", "build"], cwd=NODE, check=True)


@dataclass
class Device:
    """A browser profile of one user behind a wire of its own."""

    user: str
    name: str
    context: BrowserContext
    wire: DelayProxy
    options: dict[str, Any]
    tabs: list[Page] = field(default_factory=list)

    @property
    def page(self) -> str:
        """Where its editor stands."""
        return f"http://127.0.0.1:{self.wire.port}/interop/"


@dataclass
class Stage:
    """One room: where it is, how its editors are opened, and who is there.

    ``url`` has ``{port}`` where the wire's port goes; ``options`` are those of ``window.open_editor``.
    """

    browser: Browser
    port: int
    url: str
    room: str
    options: dict[str, Any]
    stack: AsyncExitStack
    devices: list[Device] = field(default_factory=list)
    roots: list[tuple[str, str]] = field(default_factory=list)

    async def device(self, user: str, name: str, delay: float, **options: Any) -> Device:
        """A new device; its options go before the stage's."""
        wire = await self.stack.enter_async_context(DelayProxy(self.port, delay))
        context = await self.browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        self.stack.push_async_callback(context.close)
        device = Device(user, name, context, wire, options)
        await context.route(device.page, lambda route: route.fulfill(body=HTML, content_type="text/html"))
        script = str(NODE / "dist" / "editor.js")
        await context.route(device.page + "editor.js", lambda route: route.fulfill(path=script))
        self.devices.append(device)
        return device

    async def tab(self, device: Device, **options: Any) -> Page:
        """An editor in a new tab."""
        page = await device.context.new_page()
        device.tabs.append(page)
        await self.show(device, page, **options)
        return page

    async def show(self, device: Device, page: Page, **options: Any) -> None:
        """Load the page (anew), open the editor, put the caret at the end."""
        await page.goto(device.page)
        where = {"url": self.url.format(port=device.wire.port), "room": self.room, "user": device.user}
        await page.evaluate(
            "options => window.open_editor(options)", {**where, **self.options, **device.options, **options}
        )
        await page.evaluate("window.focus_end()")

    def tabs(self) -> list[Page]:
        """All tabs of all devices."""
        return [tab for device in self.devices for tab in device.tabs]

    async def settled(self) -> dict[str, Any]:
        """Wait until all tabs hold the same document with nothing pending, and return it."""
        look = "names => [window.read_roots(names), window.read_vector(), window.has_pending()]"
        for _ in range(120):
            await asyncio.sleep(0.25)
            seen = [await tab.evaluate(look, self.roots) for tab in self.tabs()]
            if all(one == seen[0] for one in seen) and not seen[0][2]:
                update = await self.tabs()[0].evaluate("window.read_update()")
                roots, vector, _ = seen[0]
                room = "/" + self.room
                return {"room": room, "roots": roots, "kinds": dict(self.roots), "sv": vector, "update": update}
        raise AssertionError(f"{self.room}: the clients did not converge: {seen}")


async def say(page: Page, text: str) -> None:
    """Type as a person does; newlines are the Enter key."""
    for n, line in enumerate(text.split("\n")):
        if n:
            await page.keyboard.press("Enter")
        await page.keyboard.type(line, delay=KEYS)


async def say_until_back(page: Page, words: str) -> None:
    """Type on and on, until the provider is back and a second longer."""
    after = 0
    for letter in (words + " ") * 40:
        await page.keyboard.type(letter, delay=KEYS)
        after += await page.evaluate("window.provider.wsconnected")
        if after > 25:
            return
    raise AssertionError("the provider did not come back")


async def press(page: Page, *keys: str) -> None:
    """One key after the other, as fast as a nervous person."""
    for key in keys:
        await page.keyboard.press(key)
        await asyncio.sleep(0.03)


async def together(*hands: Awaitable[object]) -> None:
    """All at once."""
    await asyncio.gather(*hands)

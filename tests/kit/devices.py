"""Browsers as devices: a laptop, a phone, each a fresh profile. Owns what every test of the page also holds."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self
from urllib.parse import urlsplit

from kit.running_server import RunningServer
from playwright.sync_api import APIResponse, Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

ARTIFACTS = Path(__file__).parents[1] / "browser" / "artifacts"
"""Where pictures go."""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--font-render-hinting=none",
    "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,LensOverlay,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,"
    "AvoidCorsURLLoaderRestartOnRedirect,OptimizationHints,NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
]  # fmt: skip
"""Of several lists of features off Chromium takes the last, so this is Playwright's, and the address bar's popups: for
each window, which nobody sees, they loaded two pages in a process that took as long as our own."""
SIZES: dict[str, tuple[int, int]] = {"laptop": (1280, 800), "phone": (390, 844), "small phone": (360, 640)}
HARMLESS = re.compile(
    r"Failed to load resource|net::ERR_|WebSocket connection to .* failed|WebSocket is already in CLOSING"
    r"|TextSelection endpoint not pointing into a node with inline content \(doc\)"
)
"""What Chromium itself says of an answer over 399, of a server that is down and of a socket that just broke, and what
ProseMirror says of a caret that it sets between two blocks for a moment. The page's own words never are."""

PROVE = """async ([method, path, nonce]) => {
  const database = await new Promise((resolve) => {
    const opening = indexedDB.open("clew-device", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onsuccess = () => resolve(opening.result);
  });
  const asked = database.transaction("keys").objectStore("keys").get("current");
  const kept = await new Promise((resolve) => (asked.onsuccess = () => resolve(asked.result)));
  database.close();
  if (!kept) return {};
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", kept.pair.publicKey);
  const of = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/[+]/g, "-").replace(/[/]/g, "_").replace(/=/g, "");
  const part = (value) => of(new TextEncoder().encode(JSON.stringify(value)));
  const claims = { jti: crypto.randomUUID(), htm: method, htu: location.origin + path, iat: Date.now() / 1000, nonce };
  const signed = `${part({ typ: "dpop+jwt", alg: "ES256", jwk: { kty, crv, x, y } })}.${part(claims)}`;
  const how = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(how, kept.pair.privateKey, new TextEncoder().encode(signed));
  return { dpop: `${signed}.${of(new Uint8Array(signature))}` };
}"""
"""The header by which one request of this browser is its device's; none where it has no key."""

BE_FOCUSED = "() => new Promise((done) => setTimeout(done, 30))"
"""20 ms after it got the focus ProseMirror puts the caret where it last knew it, whatever keys were pressed meanwhile.
Timers of a page go off in order."""

Kind = Literal["laptop", "phone", "small phone"]
Theme = Literal["light", "dark"]


class Device:
    """One browser profile with one tab open, by role and name as its user would find things."""

    def __init__(self, context: BrowserContext, page: Page, server: RunningServer, artifacts: Path) -> None:
        self.context = context
        self.page = page
        self._server = server
        self._artifacts = artifacts
        self._waved_off = page.locator(".toast .plain").first
        page.add_locator_handler(self._waved_off, lambda button: button.evaluate("button => button.click()"))

    def heed_notices(self) -> Self:
        """Leave what is said of new devices on the screen; else it is waved off, wherever it would be in the way."""
        self.page.remove_locator_handler(self._waved_off)
        return self

    def open(self, path: str = "/") -> Self:
        """Go to a path of the server."""
        self.page.goto(self._server.url + path)
        return self

    def sign_in(self, link: str) -> Self:
        """Open a sign-in link and wait for the list of tasks."""
        self.page.goto(link.replace("localhost", "127.0.0.1"))
        expect(self.page.get_by_role("heading", name="Your tasks")).to_be_visible()
        return self

    def start_task(self, name: str) -> Self:
        """Make a task from the list and wait until one can write in it."""
        self.page.get_by_label("New task").fill(name)
        self.page.get_by_role("button", name="Start").click()
        return self.show("Document")

    def open_task(self, name: str) -> Self:
        """Open a task from the list and wait until one can write in it."""
        self.page.get_by_role("link", name=name).click()
        return self.show("Document")

    def show(self, panel: str) -> Self:
        """Wait until the task is there; bring a part of it into view where the window is too narrow for all."""
        expect(self.editor).to_be_attached()
        button = self.page.get_by_role("navigation", name="Parts of the task").get_by_role("button", name=panel)
        if button.is_visible():
            button.click()
        return self

    def invite(self) -> str:
        """A one-time link for another device of whoever is signed in here."""
        link: str = self.ask("POST", "/links").json()["url"]
        return link

    def prove(self, method: str, path: str) -> dict[str, str]:
        """Headers by which one request below the API's prefix, made for this browser, is its device's."""
        origin = self.page.evaluate("location.origin")
        nonce = self.context.request.get(f"{origin}/api/v1/me", ignore_https_errors=True).headers.get("dpop-nonce")
        proof: dict[str, str] = self.page.evaluate(PROVE, [method, f"/api/v1{path.partition('?')[0]}", nonce])
        return {"origin": origin, **proof}

    def ask(self, method: str, path: str, body: object = None) -> APIResponse:
        """One request below the API's prefix with this browser's cookies and key, as its page would make it."""
        headers = self.prove(method, path)
        there = f"{headers['origin']}/api/v1{path}"
        return self.context.request.fetch(there, method=method, headers=headers, data=body, ignore_https_errors=True)

    @property
    def ledger(self) -> Locator:
        """Where the task stands."""
        return self.page.locator("clew-ledger")

    @property
    def talk(self) -> Locator:
        """The conversation."""
        return self.page.locator("clew-conversation")

    @property
    def composer(self) -> Locator:
        """The field to say something in."""
        return self.page.get_by_label("Say something in this task")

    def section(self, title: str) -> Locator:
        """A part of the ledger, by its heading."""
        return self.ledger.locator("section").filter(has=self.page.get_by_role("heading", name=title, exact=True))

    def add(self, what: str, text: str, **more: str) -> Self:
        """Add an entry to the ledger; ``more`` fills other fields of the form by label."""
        self.show("Overview")
        self.page.get_by_role("button", name=what, exact=True).click()
        for label, value in more.items():
            field = self.ledger.get_by_label(label.replace("_", " "), exact=True)
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(label=value)
            else:
                field.fill(value)
        self.ledger.get_by_label(what, exact=True).and_(self.page.locator("input")).fill(text)
        self.ledger.get_by_role("button", name="Save").click()
        return self

    def act(self, entry: str, action: str) -> Self:
        """Open an entry of the ledger by its words and press one of its buttons."""
        self.show("Overview")
        item = self.ledger.locator("[data-entry]").filter(has_text=entry).first
        if item.locator(".entry-text").get_attribute("aria-expanded") != "true":
            item.locator(".entry-text").click()
        item.get_by_role("button", name=action, exact=True).click()
        return self

    @property
    def editor(self) -> Locator:
        """The words of the open document."""
        return self.page.locator(".words")

    @property
    def light(self) -> Locator:
        """The saved light; its ``data-light`` is opening, saved, saving, offline or refused."""
        return self.page.locator("[data-light]")

    @property
    def people(self) -> Locator:
        """Who is here, one entry a person."""
        return self.page.get_by_role("list", name="Who is here").get_by_role("listitem")

    def write(self, words: str) -> Self:
        """Put the caret at the end of the words and type."""
        self.editor.click()
        self.page.evaluate(BE_FOCUSED)
        self.page.keyboard.press("Control+End")
        self.page.keyboard.type(words)
        return self

    def wait_until(self, light: str, within: float = 30.0) -> Self:
        """Wait for a state of the saved light; seconds."""
        expect(self.light).to_have_attribute("data-light", light, timeout=within * 1000)
        return self

    def picture(self, name: str) -> Path:
        """A screenshot for a person to look at; not compared."""
        path = self._artifacts / f"{name}.png"
        self.page.screenshot(path=path, animations="disabled", caret="initial")
        return path

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        width: int = self.page.evaluate("document.scrollingElement.scrollWidth - innerWidth")
        return width


class Home(NamedTuple):
    """A person's laptop and phone, both in one task; shared by the tests of a file, which each add to it."""

    laptop: Device
    phone: Device
    task: str


class Devices:
    """All devices of a test."""

    def __init__(self, browser: Browser, server: RunningServer, artifacts: Path) -> None:
        self._browser = browser
        self._server = server
        self._artifacts = artifacts
        self._contexts: list[BrowserContext] = []
        self._said: list[str] = []
        self._asked: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for context in self._contexts:
            context.close()

    def new(self, kind: Kind = "laptop", theme: Theme = "light", locale: str = "en") -> Device:
        """A fresh profile; ``locale`` is the browser's language."""
        width, height = SIZES[kind]
        touch = kind != "laptop"
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=theme,
            has_touch=touch,
            is_mobile=touch,
            locale=locale,
        )
        context.set_default_timeout(30_000)
        self._contexts.append(context)
        context.on("console", self._hear)
        context.on("weberror", lambda failure: self._said.append(f"uncaught: {failure.error}"))
        context.on("request", self._ask)
        return Device(context, context.new_page(), self._server, self._artifacts)

    def check(self) -> None:
        """No page complained (which is also how a broken content security policy shows), and none left this server."""
        assert self._said == [], self._said
        assert {host for host in self._asked if host} <= {"127.0.0.1", "localhost"}

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not HARMLESS.search(message.text):
            self._said.append(f"{message.type}: {message.text}")

    def _ask(self, request: Request) -> None:
        self._asked.add(urlsplit(request.url).hostname or "")

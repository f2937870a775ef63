"""Tiptap and CodeMirror in Chromium, on unmodified providers with a bearer, against a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from kit.editors import (
    CHROMIUM,
    CHROMIUM_FLAGS,
    Stage,
    build_pages,
    press,
    say,
    say_until_back,
    together,
)
from kit.served import Served
from kit.yjs_oracle import YjsOracle
from playwright.async_api import Browser, async_playwright
from pycrdt import Doc, Text

pytestmark = [pytest.mark.browser, pytest.mark.node, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def built() -> None:
    build_pages()


@pytest.fixture
async def chromium(built: None) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        await browser.close()


def stage_on(served: Served, browser: Browser, stack: AsyncExitStack, task: str, **options: Any) -> Stage:
    protocols = ["clew.v1", f"token.{served.token}"]
    url = "ws://127.0.0.1:{port}/sync"
    return Stage(browser, served.server.port, url, task, {"protocols": protocols, **options}, stack)


async def test_two_tiptaps_write_the_document_of_a_task(served: Served, chromium: Browser, yjs: YjsOracle) -> None:
    """In the body that the server seeded: bold, a list, offline and back over a long wire, and a deleted paragraph."""
    task = served.new_task("Contract")
    document = served.api.json("GET", f"/tasks/{task}/working-set")["documents"][0]["id"]
    async with AsyncExitStack() as stack:
        stage = stage_on(served, chromium, stack, task, editor="tiptap", nested=document)
        stage.roots = [("documents", "map")]
        laptop, phone = await stage.device("owner", "laptop", 0.02), await stage.device("owner", "phone", 0.12)
        a = await stage.tab(laptop)
        await say(a, "Delivery within ")
        await press(a, "Control+b")
        await say(a, "14 days")
        await press(a, "Control+b")
        await say(a, ". 合同 😀\nto be deleted\n- one\ntwo")
        c = await stage.tab(phone)
        await c.evaluate("window.put_caret('to be')")
        await together(say(c, " typed into it"), a.evaluate("window.delete_paragraph('deleted')"))
        phone.wire.cut()
        await c.evaluate("window.focus_end()")
        await together(say(c, " (offline)"), say(a, " meanwhile"))
        phone.wire.mend()
        await together(say_until_back(c, " back"), say(a, " and on"))
        await press(a, "Control+z")
        final = await stage.settled()
        codes = [await tab.evaluate("[window.codes, window.statuses]") for tab in stage.tabs()]
    assert all(code in (1005, 1006) for (code,) in [(c,) for closed, _ in codes for c in closed])
    body = final["roots"]["documents"][document]["body"]
    assert "<bold>14 days</bold>" in body and "<bulletlist>" in body and "(offline)" in body
    stored = yjs.load([served.api.export(task)], {"documents": "map"})
    assert stored.state_vector == {int(client): clock for client, clock in final["sv"].items()}
    markdown = served.api.json("GET", f"/tasks/{task}/working-set")["documents"][0]["markdown"]
    assert "**14 days**" in markdown and "合同 😀" in markdown


async def test_two_tiptaps_on_hocuspocus_providers_of_two_versions_write_together(
    served: Served, chromium: Browser, yjs: YjsOracle
) -> None:
    """And each counts its changes back to none: all of them have been confirmed."""
    task = served.new_task("Offer")
    options = {"editor": "tiptap", "root": "offer", "token": served.token}
    async with AsyncExitStack() as stack:
        stage = Stage(chromium, served.server.port, "ws://127.0.0.1:{port}/hocuspocus", task, options, stack)
        stage.roots = [("offer", "fragment")]
        laptop = await stage.device("owner", "laptop", 0.02, hocuspocus=4)
        phone = await stage.device("owner", "phone", 0.05, hocuspocus=3)
        a, c = await stage.tab(laptop), await stage.tab(phone)
        await say(a, "From four 😀\nfrom three")
        await stage.settled()  # each in a paragraph of its own: in one, their letters would mix
        await a.evaluate("window.put_caret('From four 😀')")
        await c.evaluate("window.focus_end()")
        await together(say(a, ", it says, "), say(c, " as well, "))
        await stage.settled()  # a letter of another's would put the bold off again
        await press(a, "Control+b")
        await say(a, "bold")
        await say(c, "合同")
        final = await stage.settled()
        counted_off = "() => window.provider.unsyncedChanges === 0"
        await together(*(tab.wait_for_function(counted_off) for tab in stage.tabs()))
        present = "() => window.provider.awareness.getStates().size === 2"
        await together(*(tab.wait_for_function(present) for tab in stage.tabs()))
    first, second = "From four 😀, it says, <bold>bold</bold>", "from three as well, 合同"
    assert final["roots"]["offer"] == f"<paragraph>{first}</paragraph><paragraph>{second}</paragraph>"
    stored = yjs.load([served.api.export(task)], {"offer": "fragment"})
    assert stored.state_vector == {int(client): clock for client, clock in final["sv"].items()}


async def test_two_codemirrors_write_in_a_root_of_their_own(served: Served, chromium: Browser) -> None:
    task = served.new_task("Plain")
    async with AsyncExitStack() as stack:
        stage = stage_on(served, chromium, stack, task, editor="codemirror", root="plain")
        stage.roots = [("plain", "text")]
        laptop, phone = await stage.device("owner", "laptop", 0.02), await stage.device("owner", "phone", 0.12)
        a, c = await stage.tab(laptop), await stage.tab(phone)
        b = await stage.tab(laptop)
        await say(a, "one\ntwo\nthree")
        await stage.settled()  # each at a line of its own: at one place, their letters would mix
        for tab, line in ((a, "one"), (b, "two"), (c, "three")):
            await tab.evaluate("line => window.put_caret(line)", line)
        await together(say(a, " first tab"), say(b, " second tab"), say(c, " phone 😀"))
        await stage.settled()
        await a.evaluate("window.focus_end()")
        laptop.wire.cut()
        await together(say(a, "a offline "), say(c, "c goes on "))
        await say(b, "b after a ")
        laptop.wire.mend()
        await together(say_until_back(a, "a back"), say_until_back(b, "b back"), say(c, "still here"))
        await press(a, "Control+z", "Control+y")
        final = await stage.settled()
        present = "() => window.provider.awareness.getStates().size === 3"
        await together(*(tab.wait_for_function(present) for tab in stage.tabs()))
    doc = Doc[Any]()
    text = doc.get("plain", type=Text)
    doc.apply_update(served.api.export(task))
    assert str(text) == final["roots"]["plain"]
    for words in ("one first tab", "two second tab", "three phone 😀", "a offline"):
        assert words in str(text)


async def test_a_page_of_another_origin_gets_no_socket_even_with_a_bearer(served: Served, chromium: Browser) -> None:
    task = served.new_task("Elsewhere")
    context = await chromium.new_context()
    await context.route("http://elsewhere.test/", lambda route: route.fulfill(body="<p>", content_type="text/html"))
    page = await context.new_page()
    await page.goto("http://elsewhere.test/")
    opened = await page.evaluate(
        """([url, protocols]) => new Promise(resolve => {
            const socket = new WebSocket(url, protocols)
            socket.onopen = () => resolve('open')
            socket.onclose = event => resolve(event.code)
        })""",
        [f"ws://127.0.0.1:{served.server.port}/sync/{task}", ["clew.v1", f"token.{served.token}"]],
    )
    assert opened == 1006
    await context.close()

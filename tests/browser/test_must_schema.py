"""What a stock client must not be able to do to a person's paragraph while it is open in a browser.

A browser's editor deletes what its schema does not know, and tells everybody so. So the server lets in none of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from kit.devices import Home
from kit.running_server import RunningServer
from kit.wire import Closed, join
from playwright.sync_api import expect
from pycrdt import Doc, Map, XmlElement, XmlFragment, XmlText

pytestmark = pytest.mark.browser

WORDS = "A paragraph that a person wrote."
Damage = Callable[[XmlFragment], object]


def paragraph(body: XmlFragment) -> Any:
    """The person's paragraph."""
    return next(child for child in body.children if WORDS in str(child))


def nest(body: XmlFragment) -> None:
    inner = paragraph(body).children.append(XmlElement("paragraph"))
    inner.children.append(XmlText("nested"))


def put_words_into_the_body(body: XmlFragment) -> None:
    body.children.append(XmlText("words without a paragraph"))


def put_a_list_item_into_the_body(body: XmlFragment) -> None:
    item = body.children.append(XmlElement("listItem"))
    item.children.append(XmlElement("paragraph"))


DAMAGES: dict[str, Damage] = {
    "an unknown mark": lambda body: paragraph(body).children[0].format(2, 8, {"blink": {"on": True}}),
    "an unknown node": lambda body: body.children.append(XmlElement("marquee")),
    "a paragraph in a paragraph": nest,
    "words without a paragraph": put_words_into_the_body,
    "a list item without a list": put_a_list_item_into_the_body,
}


@pytest.fixture(scope="module")
def token(shared_server: RunningServer) -> str:
    return str(shared_server.new_token("owner")["token"])


def do_damage(port: int, task: str, token: str, damage: Damage) -> Closed | None:
    """By a stock client; how the server closed it, if it did."""

    async def do() -> Closed | None:
        doc: Doc[Any] = Doc()
        documents: Map[Any] = doc.get("documents", type=Map)
        async with join(port, task, token, doc) as peer:
            bodies = [documents[id]["body"] for id in documents.keys()]
            damage(next(body for body in bodies if WORDS in str(body)))
            await peer.push()
            try:
                await peer.barrier()
            except Closed as closed:
                return closed
            return None

    found: list[Closed | None] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(do())))  # Playwright's loop is this thread's
    thread.start()
    thread.join(30)
    return found[0]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_the_schema_does_not_have_is_refused_and_no_browser_deletes_the_paragraph(
    home: Home, shared_server: RunningServer, token: str, damage: str
) -> None:
    laptop, phone = home.laptop, home.phone
    if WORDS not in (laptop.editor.text_content() or ""):
        laptop.write(WORDS).wait_until("saved")
    task = laptop.page.url.rpartition("/")[2]
    before = laptop.editor.inner_html()
    closed = do_damage(shared_server.port, task, token, DAMAGES[damage])
    laptop.page.keyboard.press("End")
    laptop.page.keyboard.type("!")
    for device in (laptop, phone.show("Document")):
        expect(device.editor).to_contain_text("!")
        expect(device.editor).to_contain_text(WORDS)
    laptop.page.keyboard.press("Backspace")
    expect(laptop.editor).not_to_contain_text("!")
    assert laptop.editor.inner_html() == before
    assert closed is not None and closed.code == 4400, closed


def test_17_a_page_that_is_too_old_for_a_document_does_not_open_it_and_changes_nothing(
    home: Home, shared_server: RunningServer, token: str
) -> None:
    laptop = home.laptop
    task = laptop.page.url.rpartition("/")[2]
    export = f"/tasks/{task}/export?format=yjs"
    laptop.wait_until("saved").open()

    async def raise_schema() -> bytes:
        doc: Doc[Any] = Doc()
        meta: Map[Any] = doc.get("meta", type=Map)
        async with join(shared_server.port, task, token, doc) as peer:
            meta["schema"] = 2.0
            await peer.push()
            await peer.barrier()
        return bytes(doc.get_state())

    raised: list[bytes] = []
    thread = threading.Thread(target=lambda: raised.append(asyncio.run(raise_schema())))
    thread.start()
    thread.join(30)
    assert raised
    before = laptop.ask("GET", export).body()
    laptop.open(f"/t/{task}")
    expect(laptop.page.get_by_role("alert")).to_contain_text("newer Clew")
    expect(laptop.editor).to_have_count(0)
    laptop.page.wait_for_timeout(500)
    assert laptop.ask("GET", export).body() == before

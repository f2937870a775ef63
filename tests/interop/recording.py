"""Records what stock clients say, for `tests/system/test_honest_traffic.py`: `python tests/interop/recording.py`.

Owns the scenes: two users, three tabs, a long wire that breaks, and hands on the keyboard. Writes
`tests/fixtures/frames/*.jsonl.gz` and the documents that all clients ended with. Nothing of Clew runs here.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from kit.editors import CHROMIUM, CHROMIUM_FLAGS, NODE, Device, Stage, build_pages, press, say, say_until_back, together
from playwright.async_api import Browser, Page, async_playwright

FRAMES = Path(__file__).parents[1] / "fixtures" / "frames"


async def join(stage: Stage, user: str, name: str, delay: float) -> Device:
    """A device that tells the relay whose it is."""
    return await stage.device(user, name, delay, params={"user": user, "dev": name})


async def pause(low: float, high: float) -> None:
    await asyncio.sleep(random.uniform(low, high))


async def write_first_draft(page: Page, rich: bool) -> None:
    if rich:
        await say(page, "# Acme contract revision\nThe supplier delivers within ")
        await press(page, "Control+b")
        await say(page, "14 days")
        await press(page, "Control+b")
        await say(page, " after the order. 合同条款 😀\n- first item\n- second item\n\n> quoted clause\n\n")
        await say(page, "Liability ends at ")
        await press(page, "Control+i")
        await say(page, "the price paid")
        await press(page, "Control+i")
        await say(page, ".\n```\nsum = 3 * 40\n")
        await press(page, "ArrowDown", "Control+End")
    else:
        await say(page, "# Acme contract revision\n\nThe supplier delivers within **14 days**. 合同条款 😀\n")
        await say(page, "Liability ends at the price paid.\n")
    await say(page, "\nlast line doomed paragraph here\ntail")


async def day(stage: Stage, rich: bool) -> None:
    """A working day: draft, tabs, cuts, offline, undo, paste, deleting under each other's hands."""
    laptop = await join(stage, "wei", "laptop", 0.02)
    phone = await join(stage, "ann", "phone", 0.12)
    a = await stage.tab(laptop)
    await write_first_draft(a, rich)
    c = await stage.tab(phone)
    b = await stage.tab(laptop)

    await c.evaluate("window.put_caret('14 days')")
    await b.evaluate("window.focus_start()")
    await together(say(a, " A types at the end"), say(b, "B at the start "), say(c, " inside"))

    await a.evaluate("window.put_caret('doomed')")
    await c.evaluate("window.put_caret('doomed paragraph')")
    await together(say(c, " and the phone types on in it 😀👍🏽"), doom(a, rich))
    await pause(0.3, 0.6)

    phone.wire.cut()  # the phone writes offline, the laptop goes on, the phone comes back typing
    await c.evaluate("window.put_caret('Liability')")
    await together(say(c, " (offline on the phone)"), say(a, "laptop meanwhile 𠮷\n"))
    phone.wire.mend()
    await together(say_until_back(c, " back, typing on"), say(a, " and the laptop too"))

    laptop.wire.cut()  # two tabs of one browser hear each other first
    await b.evaluate("window.focus_end()")
    await together(say(a, " [a alone]"), say(c, " phone keeps typing"))
    await say(b, " b types after a's words\nand on")
    laptop.wire.mend()
    await together(say_until_back(b, " b types"), say_until_back(a, " a too"))

    await press(c, *["Control+z"] * 4, *["Control+y"] * 2)
    await together(press(a, *["Control+z"] * 3), say(c, " typing during undo"))
    await press(a, "Control+y")

    await a.evaluate("window.put_caret('the price paid')")
    await press(a, "Shift+Home", "Control+c", "End", "Control+v", "Control+v")
    await b.evaluate("window.focus_start()")
    await press(b, "Shift+ArrowDown", "Shift+ArrowDown", "Control+x", "Control+v", "Control+End", "Control+v")

    for _ in range(3):  # a bad road
        phone.wire.cut()
        await say(c, " q")
        phone.wire.mend()
        await together(say_until_back(c, "rst uvw"), say(a, " laptop"))
        await pause(0.1, 0.4)
    await stage.show(laptop, b)
    await say(b, " after reload")

    await press(a, "Control+a", "Delete")  # everything, while both others type into it
    await together(say(a, "A new beginning\nwith two lines"), say(c, " into the void"), say(b, " and b as well"))
    await press(a, "Control+z", "Control+z", "Control+y")


async def doom(page: Page, rich: bool) -> None:
    """Delete the paragraph with the caret in it, a little later than the other begins to type there."""
    await asyncio.sleep(0.5)
    if rich:
        await press(page, "Home", "Shift+End", "Backspace", "Backspace")
    else:
        await press(page, "Control+Shift+k")


async def tables(stage: Stage) -> None:
    """A table under two people's hands: rows added, cells typed into, the whole deleted."""
    laptop = await join(stage, "wei", "laptop", 0.05)
    phone = await join(stage, "wei", "phone", 0.12)
    a = await stage.tab(laptop)
    await say(a, "before\n")
    await a.evaluate("window.editor.chain().focus().insertTable({ rows: 2, cols: 2, withHeaderRow: true }).run()")
    c = await stage.tab(phone)
    await say(a, "head")
    await press(a, "Tab")
    await c.evaluate("window.put_caret('head')")
    await together(say(a, "price 12"), say(c, "er typed on"))
    await a.evaluate("window.editor.chain().focus().addRowAfter().run()")
    phone.wire.cut()
    await say(c, " offline in a cell")
    await a.evaluate("window.editor.chain().focus().addColumnAfter().deleteRow().run()")
    phone.wire.mend()
    await together(say_until_back(c, " back"), say(a, " more"))
    await a.evaluate("window.editor.chain().focus().toggleHeaderColumn().run()")
    await together(say(c, " in a doomed table"), a.evaluate("window.editor.chain().focus().deleteTable().run()"))
    await press(a, "Control+z")


async def kept_offline(stage: Stage) -> None:
    """y-indexeddb: a tab reloaded without a network brings its edits later; a dead wire is noticed and rejoined."""
    laptop = await join(stage, "wei", "laptop", 0.02)
    phone = await join(stage, "ann", "phone", 0.12)
    a = await stage.tab(laptop, keep="room")
    await say(a, "kept on this device\n")
    c = await stage.tab(phone)
    await asyncio.sleep(1)
    laptop.wire.cut()
    await together(say(a, "offline one "), say(c, "phone one "))
    await stage.show(laptop, a, keep="room", sync=False)
    await say(a, "offline two after a reload")
    laptop.wire.mend()
    await together(say_until_back(a, " and back"), say(c, "phone two"))
    await c.evaluate("window.provider.awareness.setLocalState(null)")
    laptop.wire.hang()
    await together(say(a, " into a half-dead socket"), asyncio.sleep(34))
    laptop.wire.mend()
    await together(say_until_back(a, " alive again"), say(c, " phone three"))
    await stage.show(phone, c)
    await say(c, " end")


@asynccontextmanager
async def relay(out: Path) -> AsyncIterator[int]:
    process = await asyncio.create_subprocess_exec(
        "node", str(NODE / "record" / "relay.mjs"), str(out), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin and process.stdout
    yield int(await process.stdout.readline())
    process.stdin.close()
    await process.wait()


Scene = tuple[str, Callable[[Stage], Awaitable[None]], dict[str, Any], list[tuple[str, str]], str | None]
CONTRACT = "0192f3c0-7a11-7abc-8def-000000000001"
SCENES: list[Scene] = [
    ("tiptap", lambda s: day(s, True), {"editor": "tiptap", "root": "draft"}, [("draft", "fragment")], None),
    ("tiptap-clew", lambda s: day(s, True), {"editor": "tiptap", "nested": CONTRACT}, [("documents", "map")], CONTRACT),
    ("tiptap-tables", tables, {"editor": "tiptap", "root": "default", "tables": True}, [("default", "fragment")], None),
    (
        "codemirror",
        lambda s: day(s, False),
        {"editor": "codemirror", "root": "codemirror"},
        [("codemirror", "text")],
        None,
    ),
    ("kept-offline", kept_offline, {"editor": "tiptap", "root": "draft"}, [("draft", "fragment")], None),
]


async def record(browser: Browser, scene: Scene) -> None:
    name, play, options, roots, seeded = scene
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "frames.jsonl"
        async with relay(out) as port, AsyncExitStack() as stack:
            stage = Stage(browser, port, "ws://127.0.0.1:{port}", name, options, stack, roots=roots)
            if seeded:
                await seed(stage, seeded)
            await play(stage)
            final = await stage.settled()
        frames = out.read_bytes()
    FRAMES.mkdir(parents=True, exist_ok=True)
    (FRAMES / f"{name}.jsonl.gz").write_bytes(gzip.compress(frames, 9, mtime=0))
    (FRAMES / f"{name}-final.json.gz").write_bytes(
        gzip.compress(json.dumps([final], ensure_ascii=False).encode(), 9, mtime=0)
    )
    print(name, frames.count(b'"ev":"f"'), "frames", frames.count(b'"res":"gap"'), "gaps")


async def seed(stage: Stage, document: str) -> None:
    device = await join(stage, "wei", "seed", 0)
    page = await device.context.new_page()
    await page.goto(device.page)
    where = [f"ws://127.0.0.1:{device.wire.port}", stage.room, {"user": device.user, "dev": device.name}, document]
    await page.evaluate("where => window.seed_document(...where)", where)
    await page.close()


async def main(wanted: list[str]) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        for scene in SCENES:
            if not wanted or scene[0] in wanted:
                await record(browser, scene)
        await browser.close()


if __name__ == "__main__":
    build_pages()
    asyncio.run(main(sys.argv[1:]))

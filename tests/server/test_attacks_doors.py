"""Attacks on the API's doors: guessed ids, other pages' requests, names that mean something, too much of anything."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import ORIGIN, AppUnderTest, Browser, app_under_test
from kit.intruder import FOREIGN, OPEN, World, fill, new_world, nobodys

from crdt_docs.ids import new_id

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def world(app: AppUnderTest) -> World:
    return await new_world(app)


async def test_attack_10_ids_cannot_be_guessed(world: World) -> None:
    """Each is a UUID of 122 random bits, and its neighbours are nobody's."""
    ids = set(world.ids.values()) | {new_id() for _ in range(1000)}
    assert len(ids) == len(world.ids) + 1000
    for one in ids:
        read = uuid.UUID(one)
        assert read.version == 4 and read.variant == uuid.RFC_4122
    bits = [uuid.UUID(new_id()).int for _ in range(2000)]
    for bit in (0, 40, 61, 64, 75, 80, 127):  # none of them stands still
        assert 0.4 < sum(one >> bit & 1 for one in bits) / len(bits) < 0.6
    for step in (-2, -1, 1, 2):
        near = {kind: str(uuid.UUID(int=uuid.UUID(one).int + step)) for kind, one in world.ids.items()}
        for route, attempt in FOREIGN.items():
            if route[0] == "GET":
                assert (await attempt.by(world.ana, route, near)).status == 404, route


FOREIGN_PAGES: list[dict[str, str | None]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": f"{ORIGIN}.evil.example"},
    {"origin": ORIGIN.replace("http:", "https:")},
    {"origin": ORIGIN.replace(":8484", ":8485")},
    {"origin": None, "sec_fetch_site": "cross-site"},
    {"origin": None, "sec_fetch_site": "same-site"},
    {"origin": None},
]
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain")


async def test_attack_27_no_other_page_changes_anything_by_any_route(app: AppUnderTest, world: World) -> None:
    before = await world.state()
    changing = [row for row in app.rows if row.method in UNSAFE]
    assert len(changing) > 20
    for row in changing:
        route = (row.method, row.path)
        path = row.path.replace("{id}", world.ids[FOREIGN[route].kind if route in FOREIGN else "task"])
        body = fill(FOREIGN[route].body if route in FOREIGN else OPEN.get(route), world.ids)
        for page in FOREIGN_PAGES:
            answer = await world.ana.ask(row.method, path.format_map(world.ids), body or {}, **page)
            assert answer.status == 403 and answer.code == "forbidden", (route, page)
            assert "access-control-allow-origin" not in answer.headers
    for kind in FORMS:  # what a form can send without asking first
        answer = await world.ana.post(f"/tasks/{world.task}/messages", b'{"text": "x"}', content_type=kind)
        assert answer.status == 422
    assert await world.state() == before
    for path in ("//", f"//t/{world.task}", "//s", "//h", f"/tasks/{world.task}"):
        headers = (await world.ana.get(path)).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"


NAMES = [
    "../../etc/passwd", "..\\..\\windows\\system32", "%2e%2e%2f", "CON", "nul.txt", "a/b\\c:d*e?f\"g<h>i|j", ".", "..",
    "~", "name\r", "=cmd|'/c calc'!A1", "$(reboot)", "'; DROP TABLE tasks; --", "a" * 200,
]  # fmt: skip
REFUSED = ["", " ", "a\x00b", "a\nb", "a" * 201, "a" * 4096, "\u202egpj.exe", "\u2066x\u2069", "\x1b[2J", "\ud800"]


async def test_attack_40_a_name_is_only_ever_a_name(app: AppUnderTest, world: World, tmp_path: Path) -> None:
    """In a path, in a header, in a file's name: nothing climbs, hides or runs."""
    files = sorted(os.listdir(tmp_path))
    for name in NAMES:
        task = await world.ana.new_task(name)
        assert (await world.ana.get(f"/tasks/{task}")).json["name"] == name.strip()
        told = (await world.ana.get(f"/tasks/{task}/export?format=yjs")).headers["content-disposition"]
        plain = told.partition('filename="')[2].partition('"')[0]
        assert told.startswith("attachment; ") and told.isascii() and plain.endswith(".yjs")
        assert not set(plain) & set('/\\:*?"<>|\r\n\x00') and not plain.startswith(".") and "%2F" not in told.upper()
    for name in REFUSED:
        for method, path in (
            ("POST", "/tasks"),
            ("PATCH", f"/tasks/{world.task}"),
            ("PATCH", f"/devices/{world.device}"),
        ):
            answer = await world.ana.ask(method, path, {"name": name})
            assert answer.status == 422 and answer.code == "invalid", (name, path)
    for odd in ("..", "%2e%2e%2f%2e%2e", "..%5c", "%00", "CON", "a" * 4096, world.task.upper(), f"{world.task}%0a"):
        for path in (f"/tasks/{odd}", f"/tasks/{odd}/export?format=yjs", f"/tasks/{world.task}/shares/{odd}"):
            answer = await world.ana.ask("DELETE" if "shares" in path else "GET", path)
            assert answer.status in (404, 405, 422), path
    await app.nouns.users.add("Zoë", 0.0)
    for twin in ("zoë", "ZOË", "Zoe\u0308"):  # the same name, cased or composed otherwise
        found = await app.nouns.users.named(twin)
        assert found is not None and found.name == "Zoë"
    assert sorted(os.listdir(tmp_path)) == files


async def test_attack_42_too_much_of_anything_is_refused_soon(app: AppUnderTest, world: World) -> None:
    begun = time.process_time()
    for limit in ("1000000000", "501", "0", "-1", "1e9", "9" * 4000):
        for path in ("/tasks", "/sessions"):
            assert (await world.ana.get(f"{path}?limit={limit}")).status == 422
    evil = ["a" * 4000 + "!", "(" * 4000, "a?" * 2000, "((a+)+)+" * 500, "\\" * 4000, "%" * 4000, "* " * 2000]
    for message in evil:  # what candidates are ranked by, and names are compared with
        asked: dict[str, Any] = {"first_message": message, "lang": "en"}
        assert (await world.ana.post("/sessions", asked)).status in (201, 422)
        assert (await world.ana.post(f"/tasks/{world.task}/members", {"user": message, "role": "viewer"})).status in (
            404,
            422,
        )
    assert (await world.ana.post("/sessions", {"first_message": "x" * (1 << 21)})).status == 413
    assert (await world.ana.get("/tasks", accept_language=",".join(["xx;q=0.1"] * 5000))).status == 200
    for secret in ("A" * (1 << 16), "A" * 10_000_000):
        assert (await Browser(app.app, {"authorization": f"Bearer {secret}"}).get("/me")).status == 401
        assert (await Browser(app.app, {"cookie": f"clew-8484={secret}"}).get("/me")).status == 401
    assert time.process_time() - begun < 10  # a pattern that backtracks takes minutes
    assert (await world.ana.get(f"/tasks/{nobodys(world.ids)['task']}")).status == 404

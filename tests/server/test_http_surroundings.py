"""What stands around the nouns: headers, the document of the API, the web app's files, health."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test

from crdt_docs.ids import new_id
from server.domain.errors import STATUS
from server.http.endpoint import PREFIX


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>Clew</title>")
    (static / "assets" / "main-Ab3dEf9_.js").write_text("export {}")
    (static / "sw.js").write_text("self.addEventListener('fetch', () => {})")
    (tmp_path / "outside.txt").write_text("not served")
    (static / "link.txt").symlink_to(tmp_path / "outside.txt")
    data = tmp_path / "data"
    data.mkdir()
    async with app_under_test(data, static) as app:
        yield app


PAGES = ["//", f"//t/{new_id()}", f"//t/{new_id()}/", "//d", "//settings"]


async def test_attack_28_every_response_carries_the_headers_that_protect_it(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    for path in ("/me", "/nothing", "/openapi.json", "//healthz", "//metrics", "//sw.js", "//nothing.js", *PAGES):
        for who in (owner, app.nobody, Browser(app.app, {"host": "evil.example"})):
            answer = await who.get(path, host=who.headers.get("host", "localhost:8484"))
            headers = answer.headers
            assert headers["referrer-policy"] == "no-referrer" and headers["x-content-type-options"] == "nosniff"
            policy = headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
            scripts = re.search(r"script-src ([^;]*)", policy)
            assert "default-src 'none'" in policy and (scripts is None or scripts[1] == "'self'")
            assert "unsafe" not in policy and "*" not in policy and "http:" not in policy
            assert "access-control-allow-origin" not in headers
            if not path.startswith("//"):
                assert headers["cache-control"] == "no-store"


async def test_every_address_of_the_app_is_its_one_page(app: AppUnderTest) -> None:
    for path in PAGES:
        answer = await app.nobody.get(path)
        assert answer.status == 200 and b"<title>Clew</title>" in answer.body, path
        assert answer.headers["content-type"].startswith("text/html") and answer.headers["cache-control"] == "no-cache"


async def test_built_files_are_served_and_hashed_ones_kept_for_ever(app: AppUnderTest) -> None:
    asset = await app.nobody.get("//assets/main-Ab3dEf9_.js")
    assert asset.status == 200 and "immutable" in asset.headers["cache-control"]
    assert "javascript" in asset.headers["content-type"]
    worker = await app.nobody.get("//sw.js")
    assert worker.status == 200 and worker.headers["cache-control"] == "no-cache"


CLIMBS = [
    "//../outside.txt", "//..%2foutside.txt", "//%2e%2e/outside.txt", "//assets/../../outside.txt", "//link.txt",
    "///etc/passwd", "//%2fetc/passwd", "//assets", "//assets/", "//.", "//..", "//index.html%00.js", "//INDEX.HTML",
    "//..%5coutside.txt", "//t/../../outside.txt",
]  # fmt: skip


async def test_nothing_else_is_a_file(app: AppUnderTest) -> None:
    for path in CLIMBS:
        answer = await app.nobody.get(path)
        assert answer.status == 404 and b"not served" not in answer.body and b"root:" not in answer.body, path


async def test_without_built_files_the_page_says_what_to_do(tmp_path: Path) -> None:
    async with app_under_test(tmp_path, tmp_path / "missing") as app:
        answer = await app.nobody.get("//")
        assert answer.status == 200 and b"make web" in answer.body and b"<script" not in answer.body
        assert (await app.nobody.get("//sw.js")).status == 404


async def test_the_document_describes_every_row_and_only_those(app: AppUnderTest) -> None:
    document = (await app.nobody.get("/openapi.json")).json
    assert document["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    assert described == {(row.method, PREFIX + row.path) for row in app.rows}
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(ids) == len(set(ids)) and all(operation["summary"].endswith(".") for operation in operations)


async def test_every_reference_in_the_document_leads_somewhere(app: AppUnderTest) -> None:
    document = (await app.nobody.get("/openapi.json")).json
    schemas = document["components"]["schemas"]
    found = set(_references(document))
    assert found and {reference.rpartition("/")[2] for reference in found} <= set(schemas)
    for row in app.rows:
        operation = document["paths"][PREFIX + row.path][row.method.lower()]
        named = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", row.path))
        good = str(row.status) if row.gives else "200" if row.media else "204"
        assert {good, *(str(STATUS[code]) for code in row.errors)} <= set(operation["responses"])


def _references(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [ref for value in part.values() for ref in _references(value)]
    return [ref for value in part for ref in _references(value)] if isinstance(part, list) else []


async def test_inputs_in_the_document_admit_nothing_else(app: AppUnderTest) -> None:
    document = (await app.nobody.get("/openapi.json")).json
    bodies = [
        next(iter(operation["requestBody"]["content"].values()))["schema"]["$ref"].rpartition("/")[2]
        for path in document["paths"].values() for operation in path.values() if "requestBody" in operation
    ]  # fmt: skip
    assert bodies
    for name in bodies:
        assert document["components"]["schemas"][name]["additionalProperties"] is False, name


async def test_health_is_told_to_anyone_and_holds_no_secret(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    await owner.new_task("Secret merger")
    assert (await app.nobody.get("//healthz")).body == b"ok\n"
    assert (await app.nobody.get("//readyz")).status == 200
    app.trouble.append("The server cannot store anything at the moment.")
    late = await app.nobody.get("//readyz")
    assert late.status == 503 and late.code == "unavailable"
    assert (await app.nobody.get("//healthz")).status == 200
    metrics = (await app.nobody.get("//metrics")).body.decode()
    assert "# TYPE clew_rooms_open gauge\nclew_rooms_open 1\n" in metrics
    assert 'clew_http_requests_total{method="POST",status="201"} 2' in metrics
    assert "Secret" not in metrics and owner.user not in metrics


async def test_a_device_is_seen_when_it_asks(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    before = (await owner.get("/devices")).json["devices"][0]["seen_at"]
    app.clock.advance(61)
    await owner.get("/me")
    assert (await owner.get("/devices")).json["devices"][0]["seen_at"] > before

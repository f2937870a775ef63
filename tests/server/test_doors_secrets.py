"""A secret is shown once, to whom it is for. It is in no log, no error, no file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from kit.app_under_test import Browser, app_under_test, on_the_wire
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol


async def test_no_secret_is_logged_stored_or_told_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(1)
    secrets: list[str] = []
    told = b""
    async with app_under_test(tmp_path) as app, on_the_wire(app.app) as port:
        for logger in ("uvicorn", "uvicorn.error", "uvicorn.access"):
            logging.getLogger(logger).setLevel(1)  # TRACE, which tells of every connection
        monkeypatch.setattr(logging.getLogger("uvicorn"), "propagate", True)
        key = await app.doors.links.issue_by_name()
        owner = Browser(app.app, {"origin": "http://localhost:8484"})
        signed_in = await owner.post("/signin", {"key": key})
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        owner.headers["cookie"] = cookie
        task = await owner.new_task()
        made = await owner.post("/tokens", {"task": task})
        ticket = await owner.post(f"/tasks/{task}/tickets")
        link = await owner.post("/links")
        secrets += [key, cookie.partition("=")[2], made.json["token"], ticket.json["ticket"]]
        secrets.append(link.json["url"].partition("#k=")[2])
        assert all(len(secret) == 43 for secret in secrets)
        for path in (
            "/me",
            "/tokens",
            "/devices",
            "/sessions",
            "/tasks",
            "/nothing",
            "//metrics",
            "//",
            "/openapi.json",
        ):
            told += (await owner.get(path)).body
        for wrong in ({"key": key}, {"key": key, "x": 1}, {"key": [made.json["token"]]}):
            told += (await owner.post("/signin", wrong)).body
        told += (await app.holding(made.json["token"] + "x").get("/me")).body
        credentials = [
            f"ticket.{ticket.json['ticket']}",
            f"token.{made.json['token']}",
            f"ticket.{ticket.json['ticket']}",
        ]
        for credential in credentials:
            for origin in (f"http://127.0.0.1:{port}", "http://evil.example"):
                await visit(f"ws://127.0.0.1:{port}/sync/{task}", credential, origin)
    heard = [record for record in caplog.records if record.name != "websockets.client"]
    assert any(record.name == "uvicorn.error" and "WebSocket" in record.getMessage() for record in heard)
    logged = "\n".join(f"{record.getMessage()} {record.args}" for record in heard)
    stored = _contents(tmp_path)
    assert [record for record in heard if record.levelno >= logging.ERROR] == []
    for secret in secrets:
        assert secret not in logged
        assert secret.encode() not in told
        assert secret.encode() not in stored


async def visit(url: str, credential: str, origin: str) -> None:
    quiet = logging.getLogger("websockets.client")
    quiet.setLevel(logging.WARNING)
    offered = [Subprotocol("clew.v1"), Subprotocol(credential)]
    try:
        async with connect(url, origin=Origin(origin), subprotocols=offered, proxy=None) as socket:
            assert socket.subprotocol == "clew.v1"
            await socket.send(b"\x00\x00\x01\x00")
            await socket.recv()
    except (ConnectionClosed, InvalidStatus):
        return


def _contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())

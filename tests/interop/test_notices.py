"""Stock clients that hear a notice, which is meant for Clew's own page: they lose nothing by it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.app_under_test import app_under_test, on_the_wire
from kit.node_clients import node_clients

from crdt_docs.messages import Notice
from crdt_docs.messages.ywebsocket import encode
from server.domain.access import Role

pytestmark = pytest.mark.node
NOTICE = {"kind": "device-joined", "id": "1", "device": {"name": "合同 😀"}}


async def test_stock_clients_go_on_after_a_notice_and_hocuspocus_hands_it_to_its_application(tmp_path: Path) -> None:
    async with app_under_test(tmp_path) as app, on_the_wire(app.app) as port:
        owner = await app.sign_in()
        task, now = await owner.new_task(), app.clock.now()
        _, token = await app.nouns.tokens.issue(owner.user, role=Role.OWNER, at=now, expires_at=now + 3600)
        async with node_clients() as websockets, node_clients("hocuspocus.mjs") as providers:
            for version in (3, 1):
                await websockets.open(f"y{version}", port, task, token, version)
            for version in (4, 3):
                url = f"ws://127.0.0.1:{port}/hocuspocus"
                await providers.do("open", f"h{version}", url=url, room=task, version=version, token=token)
            for name, clients in (("y3", websockets), ("y1", websockets), ("h4", providers), ("h3", providers)):
                await clients.until(name, lambda seen: bool(seen["synced"]))
            app.rooms.notify(lambda who: who.user == owner.user, encode(Notice(json.dumps(NOTICE))))
            await websockets.do("insert", "y3", at=0, text="after it")
            for name in ("y3", "y1"):
                seen = await websockets.until(name, lambda seen: seen["text"] == "after it")
                assert seen["connects"] == 1 and seen["codes"] == []
            for name in ("h4", "h3"):
                heard = await providers.until(name, lambda seen: seen["text"] == "after it" and bool(seen["heard"]))
                assert [json.loads(one) for one in heard["heard"]] == [{"clew": "notice", "notice": NOTICE}]
                assert heard["opens"] == 1

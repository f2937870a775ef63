"""Where somebody was in a task, as their page notes it: theirs alone, the latest of all their devices, and no words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test

from crdt_docs.ids import TaskId

CARET = {"type": None, "tname": None, "item": {"client": 7, "clock": 12}, "assoc": -1}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


async def move(who: Browser, task: TaskId, where: dict[str, Any], session: str | None = None) -> int:
    session = session or (await who.post("/sessions", {})).json["id"]
    return (await who.patch(f"/sessions/{session}", {"place": {"task": task, "where": where}})).status


async def test_the_latest_place_of_all_devices_of_a_person_is_told_and_to_nobody_else(app: AppUnderTest) -> None:
    laptop = await app.sign_in("owner", "laptop")
    phone = await app.sign_in("owner", "phone")
    task = await laptop.new_task()
    assert (await phone.get(f"/tasks/{task}/resume")).json["place"] is None
    assert await move(laptop, task, {"panel": "document", "caret": CARET}) == 200
    app.clock.advance(60)
    place = (await phone.get(f"/tasks/{task}/resume")).json["place"]
    assert place["where"] == {"panel": "document", "caret": CARET} and place["device"] == "laptop"
    assert await move(phone, task, {"panel": "talk"}) == 200
    assert (await laptop.get(f"/tasks/{task}/resume")).json["place"]["where"] == {"panel": "talk"}

    wei = await app.sign_in("wei", "tablet")
    assert await move(wei, task, {"panel": "ledger"}) == 404
    await laptop.post(f"/tasks/{task}/members", {"user": "wei", "role": "viewer"})
    assert (await wei.get(f"/tasks/{task}/resume")).json["place"] is None
    assert await move(wei, task, {"panel": "ledger"}) == 200
    assert (await laptop.get(f"/tasks/{task}/resume")).json["place"]["where"] == {"panel": "talk"}


async def test_a_place_is_small_goes_with_the_attachment_and_alone_leaves_it_as_it_is(app: AppUnderTest) -> None:
    owner = await app.sign_in()
    task = await owner.new_task()
    session = (await owner.post("/sessions", {})).json["id"]
    change = {"task_id": task, "place": {"task": task, "where": {"panel": "ledger"}}}
    assert (await owner.patch(f"/sessions/{session}", change)).json["task_id"] == task
    assert await move(owner, task, {"panel": "talk"}, session) == 200
    assert (await owner.get(f"/sessions/{session}")).json["task_id"] == task
    assert await move(owner, task, {"panel": "x" * 1024}, session) == 422
    assert (await owner.patch(f"/sessions/{session}", {})).status == 422
    assert (await owner.get(f"/tasks/{task}/resume")).json["place"]["where"] == {"panel": "talk"}
    assert (await owner.patch(f"/sessions/{session}", {"task_id": None})).json["task_id"] is None

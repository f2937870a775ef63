"""The core of the API as scripts lean on it: paths, bodies, statuses, field names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from kit.app_under_test import AppUnderTest, Browser, app_under_test
from pycrdt import Doc, Map

from crdt_docs.ids import DocName, TaskId, UserId, is_id
from crdt_docs.updates.compose import Composer
from server.domain.access import Principal


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def owner(app: AppUnderTest) -> Browser:
    return await app.sign_in()


async def plant_ledger(app: AppUnderTest, who: Browser, task: TaskId) -> None:
    """A constraint, two decisions of which one superseded the other, two questions and an output."""

    def write(composer: Composer) -> None:
        def entry(root: str, key: str, **fields: object) -> None:
            made = composer.set_map(root, key)
            for name, value in fields.items():
                if name in ("text", "title"):
                    composer.set_text(made, name, str(value))
                else:
                    composer.set(made, name, value)

        entry("constraints", "c1", text="Liability cap stays at\n2 M EUR", severity="critical", by="owner", at=1)
        entry("decisions", "d1", text="Governing law: Delaware", by="owner", at=1)
        entry("decisions", "d2", text="Governing law: Ireland", supersedes="d1", by="owner", at=2)
        entry("questions", "q1", text="Who signs for Acme?", by="owner", at=1)
        entry("questions", "q2", text="Which currency?", by="owner", at=2)
        entry("outputs", "o1", title="Redlined draft", state="draft", at=1)
        answers = composer.set_map("questions", "q3")
        composer.set_text(answers, "text", "Term of notice?")
        given = composer.set_map(answers, "answers")
        composer.set_text(composer.set_map(given, "a1"), "text", "90 days")

    await app.rooms.compose(DocName(task), Principal(who.user, "owner", authenticated_at=1e9), write)


async def test_a_task_is_made_listed_shown_renamed_and_deleted(app: AppUnderTest, owner: Browser) -> None:
    made = await owner.post("/tasks", {"name": "  Acme contract revision ", "goal": "Sign by June"})
    assert made.status == 201
    task = made.json
    assert set(task) == {"id", "name", "named_by", "status", "role", "created_at", "updated_at"}
    assert is_id(task["id"]) and task["name"] == "Acme contract revision"
    assert (task["status"], task["role"]) == ("open", "owner") and task["created_at"].endswith("Z")
    assert (await owner.get("/tasks?status=open")).json == {"tasks": [task], "withheld": 0}
    assert (await owner.get("/tasks?status=done")).json == {"tasks": [], "withheld": 0}
    assert (await owner.get(f"/tasks/{task['id']}")).json == task
    app.clock.advance(5)
    renamed = await owner.patch(f"/tasks/{task['id']}", {"name": "Acme, second round", "status": "paused"})
    assert renamed.status == 200 and renamed.json["name"] == "Acme, second round" and renamed.json["status"] == "paused"
    assert renamed.json["updated_at"] > task["updated_at"]
    shown = (await owner.get(f"/tasks/{task['id']}/working-set")).json
    assert shown["meta"] == {"schema": 1, "name": "Acme, second round", "status": "paused", "goal": "Sign by June"}
    assert (await owner.delete(f"/tasks/{task['id']}")).status == 204
    gone = await owner.get(f"/tasks/{task['id']}")
    assert gone.status == 404 and gone.code == "not_found"
    assert (await owner.get("/tasks")).json == {"tasks": [], "withheld": 0}


async def test_nothing_is_kept_of_a_deleted_task(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/messages", {"text": "the merger is secret"})
    await owner.get(f"/tasks/{task}/working-set")
    await owner.post("/sessions", {"first_message": "merger"})
    engine = app.projections.engine
    assert engine is not None and engine.cached((DocName(task), 1), 2) is not None
    assert (await owner.delete(f"/tasks/{task}")).status == 204
    assert engine.cached((DocName(task), 1), 2) is None
    assert (await owner.delete(f"/tasks/{task}")).status == 404


async def test_a_task_without_a_name_has_one_anyway(owner: Browser) -> None:
    made = await owner.ask("POST", "/tasks")
    assert made.status == 201 and made.json["name"] == "Untitled task"


async def test_a_session_starts_with_candidates_and_attaches_switches_detaches_ends(
    app: AppUnderTest, owner: Browser
) -> None:
    acme, holiday = await owner.new_task("Acme contract revision"), await owner.new_task("Holiday in Norway")
    begun = await owner.post(
        "/sessions", {"device": "phone", "framework": "langgraph", "first_message": "the acme contract again"}
    )
    assert begun.status == 201 and set(begun.json) == {"id", "candidates", "suggestion"}
    assert [c["task"] for c in begun.json["candidates"]] == [
        {"id": acme, "name": "Acme contract revision"},
        {"id": holiday, "name": "Holiday in Norway"},
    ]
    assert begun.json["candidates"][0]["score"] > begun.json["candidates"][1]["score"]
    assert begun.json["candidates"][0]["why"]
    session = begun.json["id"]
    for task in (acme, holiday, None):
        attached = await owner.patch(f"/sessions/{session}", {"task_id": task})
        assert attached.status == 200 and attached.json["task_id"] == task and attached.json["id"] == session
    assert (await owner.post(f"/sessions/{session}/end")).status == 204
    assert (await owner.get(f"/sessions/{session}")).json["ended_at"] is not None
    late = await owner.patch(f"/sessions/{session}", {"task_id": acme})
    assert late.status == 409 and late.code == "conflict"


async def test_the_same_device_name_is_the_same_device(owner: Browser) -> None:
    ids = [(await owner.post("/sessions", {"device": "phone"})).json["id"] for _ in range(2)]
    devices = {(await owner.get(f"/sessions/{session}")).json["device"] for session in ids}
    assert len(devices) == 1
    named = (await owner.get("/devices")).json["devices"]
    assert sorted(device["name"] for device in named) == ["laptop", "phone"]
    by_id = await owner.post("/sessions", {"device": devices.pop()})
    assert by_id.status == 201


async def test_a_message_lands_in_the_document(owner: Browser) -> None:
    task = await owner.new_task()
    session = (await owner.post("/sessions", {})).json["id"]
    said = await owner.post(f"/tasks/{task}/messages", {"text": "  Please keep the cap 合同😀\n", "session": session})
    assert said.status == 201 and set(said.json) == {"id", "seq"}
    working_set = (await owner.get(f"/tasks/{task}/working-set")).json
    assert working_set["seq"] == said.json["seq"] == 2
    [message] = working_set["messages"]
    assert message["id"] == said.json["id"] and message["text"] == "  Please keep the cap 合同😀\n"
    assert message["author"] == "owner" and message["role"] == "user" and message["session"] == session
    assert message["at"] == "2027-01-15T08:00:00.000Z"


async def test_messages_keep_their_order(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task()
    for number in range(5):
        app.clock.advance(0.01)
        said = await owner.post(f"/tasks/{task}/messages", {"text": f"message {number}"})
        assert said.json["seq"] == number + 2
    texts = [m["text"] for m in (await owner.get(f"/tasks/{task}/working-set")).json["messages"]]
    assert texts == [f"message {number}" for number in range(5)]


async def test_the_working_set_has_what_the_contract_names(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task()
    await plant_ledger(app, owner, task)
    shown = (await owner.get(f"/tasks/{task}/working-set")).json
    assert {"seq", "documents", "constraints", "decisions", "questions", "outputs", "messages"} <= set(shown)
    assert [set(document) for document in shown["documents"]] == [{"id", "title", "markdown"}]
    for kind in ("constraints", "decisions", "questions", "outputs"):
        assert shown[kind] and all({"id", "text", "status"} <= set(item) for item in shown[kind])


async def test_the_resumption_tells_what_stands_and_nothing_else(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task("Acme contract revision")
    await plant_ledger(app, owner, task)
    shown = (await owner.get(f"/tasks/{task}/resume")).json
    assert set(shown) == {
        "task", "text", "facts", "covers_seq", "checked", "looked_at", "narrative", "last_edit", "place"
    }  # fmt: skip
    assert shown["task"]["id"] == task and shown["covers_seq"] == 2 and shown["checked"] is True
    text, facts = shown["text"], shown["facts"]
    assert set(facts) == {
        "constraints", "decisions", "questions", "outputs", "pending", "next_steps", "next_step", "changes",
        "not_filed",
    }  # fmt: skip
    for words in (
        "Acme contract revision", "Liability cap stays at 2 M EUR", "Governing law: Ireland", "Who signs for Acme?",
        "Which currency?", "Redlined draft", "“Term of notice?” with “90 days”",
        "Next step: settle “Who signs for Acme?”",
    ):  # fmt: skip
        assert words in text
    assert "Delaware" not in text and [d["id"] for d in facts["decisions"]] == ["d2"]
    assert facts["next_step"]["id"] == "q1" and facts["constraints"][0]["status"] == "active"


async def test_an_exported_update_rebuilds_the_document(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task()
    await owner.post(f"/tasks/{task}/messages", {"text": "kept"})
    file = await owner.get(f"/tasks/{task}/export?format=yjs")
    assert file.status == 200 and file.headers["content-type"] == "application/octet-stream"
    doc: Doc[Any] = Doc()
    doc.apply_update(file.body)
    messages: Map[Any] = doc.get("messages", type=Map)
    assert [str(message["text"]) for message in messages.values()] == ["kept"]


async def test_the_other_exports_are_files(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task('../../etc/"Akme"; 合同')
    await plant_ledger(app, owner, task)
    for kind, start in (("json", b'{"task": {"id"'), ("md", b"# "), ("docx", b"PK")):
        file = await owner.get(f"/tasks/{task}/export?format={kind}")
        assert file.status == 200 and file.body.startswith(start), (kind, file.body[:200])
        shown = file.headers["content-disposition"]
        assert shown.startswith(f'attachment; filename="etc Akme _ _.{kind}"'), shown
        assert shown.endswith(f"{quote('etc Akme ; 合同')}.{kind}"), shown
        assert "sandbox" in file.headers["content-security-policy"]
    assert b"Liability cap stays at" in (await owner.get(f"/tasks/{task}/export?format=md")).body
    assert (await owner.get(f"/tasks/{task}/export?format=exe")).status == 422


async def test_tickets_members_and_tokens_answer_as_the_contract_says(app: AppUnderTest, owner: Browser) -> None:
    task = await owner.new_task()
    ana = await app.sign_in("ana")
    ticket = await owner.post(f"/tasks/{task}/tickets", {})
    assert (
        ticket.status == 201
        and set(ticket.json) == {"ticket", "expires_at", "generation"}
        and len(ticket.json["ticket"]) == 43
    )
    added = await owner.post(f"/tasks/{task}/members", {"user": "ana", "role": "viewer"})
    assert added.status == 201 and added.json["user"] == ana.user and added.json["role"] == "viewer"
    assert (await ana.get(f"/tasks/{task}")).json["role"] == "viewer"
    by_id = await owner.post(f"/tasks/{task}/members", {"user": ana.user, "role": "editor"})
    assert by_id.status == 201 and (await ana.get(f"/tasks/{task}")).json["role"] == "editor"
    assert [m["name"] for m in (await ana.get(f"/tasks/{task}/members")).json["members"]] == ["ana", "owner"]
    made = await owner.post("/tokens", {"task": task, "role": "viewer", "ttl": 60})
    assert made.status == 201 and set(made.json) == {"id", "token", "expires_at"}
    script = app.holding(made.json["token"])
    assert (await script.get(f"/tasks/{task}")).json["role"] == "viewer"
    assert (await owner.delete(f"/tokens/{made.json['id']}")).status == 204
    assert (await script.get(f"/tasks/{task}")).status == 401
    listed = (await owner.get("/tokens")).json["tokens"]
    assert [t["id"] for t in listed] == [made.json["id"]] and "token" not in listed[0]
    assert await app.nouns.audit.broken_at() is None
    assert UserId(ana.user) != owner.user

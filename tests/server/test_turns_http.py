"""Turns over HTTP: what makes one, what hosts and people do with it, and who is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from kit.app_under_test import HOST, Answered, AppUnderTest, Browser, app_under_test
from kit.rooms import Peer

from crdt_docs.ids import DocName, TaskId, TokenId, TurnId, UserId
from crdt_docs.updates.compose import Composer
from server.domain.access import Principal, Role
from server.domain.agent import BUILT_IN
from server.domain.credential import Token
from server.domain.errors import Unavailable
from server.domain.turn import AWAY, HEAD_START, LEASE_LIFE, Turn
from server.store.tokens import Tokens
from server.store.turns import Turns
from server.turns.offers import MOST, STREAMS, Listener


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[AppUnderTest]:
    async with app_under_test(tmp_path) as app:
        yield app


@pytest.fixture
async def ann(app: AppUnderTest) -> Browser:
    return await app.sign_in("ann")


@pytest.fixture
async def host(app: AppUnderTest) -> Browser:
    """The built-in agent's host."""
    agent = await app.nouns.agents.ensure(None, BUILT_IN, app.clock.now())
    _, secret = app.built_in.admit(agent)
    return app.holding(secret)


async def own_host(app: AppUnderTest, who: Browser, task: TaskId | None = None) -> tuple[Browser, str]:
    """A host of the user's own agent, and its token's id."""
    now = app.clock.now()
    agent = await app.nouns.agents.ensure(who.user, "Mine", now)
    token, secret = await app.nouns.tokens.issue(
        who.user, role=Role.EDITOR, at=now, expires_at=now + 3600, task=task, agent=agent.id
    )
    return app.holding(secret, who.user), token.id


async def say(who: Browser, task: str, text: str = "Never below 150 k€.") -> str:
    made = await who.post(f"/tasks/{task}/messages", {"text": text})
    assert made.status == 201, made.body
    message: str = made.json["id"]
    return message


async def turns(who: Browser, task: str) -> list[dict[str, Any]]:
    listed = await who.get(f"/tasks/{task}/turns")
    assert listed.status == 200
    found: list[dict[str, Any]] = listed.json["turns"]
    return found


async def queued(who: Browser, task: str) -> str:
    """A new turn's id, from one message."""
    await say(who, task)
    turn: str = (await turns(who, task))[0]["id"]
    return turn


async def leased(app: AppUnderTest, who: Browser, host: Browser, task: str) -> tuple[dict[str, Any], Browser]:
    """A lease of a new turn, and who holds its grant."""
    lease = await host.post(f"/turns/{await queued(who, task)}/lease", {})
    assert lease.status == 200, lease.body
    return lease.json, app.holding(lease.json["grant"]["token"])


async def principal(app: AppUnderTest, who: Browser) -> Principal:
    from starlette.datastructures import Headers

    return await app.doors.authentication.of_request(Headers({"host": HOST, **who.headers}))


async def heard(listener: Listener) -> list[tuple[str, str]]:
    """All that a stream was told so far."""
    found: list[tuple[str, str]] = []
    while (offer := await listener.next(0.05)) is not None:
        found.append((offer.event, offer.turn))
    return found


async def test_a_message_makes_a_turn_and_the_answer_s_id_is_there(ann: Browser) -> None:
    task = await ann.new_task()
    message = await say(ann, task)
    (turn,) = await turns(ann, task)
    assert (turn["status"], turn["messages"], turn["attempt"]) == ("queued", [message], 1)
    assert turn["user"] == {"id": ann.user, "name": "ann"} and turn["why"] is None and turn["ended_at"] is None
    assert turn["answer"] is None  # or somebody could write there before the agent does


async def test_what_an_agent_says_itself_makes_no_turn(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    _, agent = await leased(app, ann, host, task)
    app.clock.advance(1)
    spoken = await agent.post(f"/tasks/{task}/messages", {"text": "Noted."})
    assert spoken.status == 201
    assert [turn["status"] for turn in await turns(ann, task)] == ["running"]
    said = (await ann.get(f"/tasks/{task}/working-set")).json["messages"]
    assert [(m["author"], m["role"]) for m in said] == [("ann", "user"), ("Clew", "agent")]


async def test_keys_of_other_roots_and_of_the_margin_make_no_turn(app: AppUnderTest, ann: Browser) -> None:
    task = await ann.new_task()
    who = await principal(app, ann)

    def note(root: str) -> Any:
        return lambda composer: composer.set_map(root, "0198c0de-0000-7000-8000-000000000000")

    for root in ("decisions", "slots", "anything"):
        await app.rooms.compose(DocName(task), who, note(root))
    await app.rooms.compose(DocName(task, "margin"), who, note("messages"))
    await app.rooms.compose(DocName(task), who, lambda c: c.set("messages", "x" * 65, 1))
    assert await turns(ann, task) == []


async def test_a_message_that_comes_deleted_already_makes_none(app: AppUnderTest, ann: Browser) -> None:
    from pycrdt import Doc, Map

    from crdt_docs.updates.parse import parse
    from server.rooms.hearing import keys_set

    doc: Doc[Any] = Doc()
    messages: Map[Any] = doc.get("messages", type=Map)
    messages["kept"] = Map()
    messages["gone"] = Map()
    del messages["gone"]
    named = [key.key for key in keys_set(parse(doc.get_update()), None)]  # type: ignore[arg-type]
    assert named == ["kept"]


async def test_a_lease_gives_all_that_an_answer_takes(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task("Acme")
    message = await say(ann, task)
    (turn,) = await turns(ann, task)
    lease = (await host.post(f"/turns/{turn['id']}/lease", {})).json
    grant = lease.pop("grant")
    agent = lease.pop("agent")
    assert agent["name"] == BUILT_IN and grant["token"] and grant["expires_at"] <= "2027-01-15T08:15:00.000Z"
    assert lease == {
        "turn": turn["id"], "task": task, "attempt": 1, "lease_until": "2027-01-15T08:00:30.000Z",
        "user": {"id": ann.user, "name": "ann"}, "messages": [message], "answer": lease["answer"], "named": True,
        "language": None,
    }  # fmt: skip
    (running,) = await turns(ann, task)
    assert running["status"] == "running" and running["answer"] == lease["answer"] > message
    other, _ = await own_host(app, ann)
    taken = await other.post(f"/turns/{turn['id']}/lease", {})
    assert taken.status == 409 and taken.code == "conflict"


async def test_a_lease_says_which_language_its_person_chose(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    assert (await ann.patch("/me/account", {"language": "zh"})).status == 200
    lease, _ = await leased(app, ann, host, await ann.new_task())
    assert lease["language"] == "zh"


async def test_a_host_that_asks_again_has_its_lease_anew_unless_another_process_of_its_bearer_may_be_at_it(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    lease, agent = await leased(app, ann, host, task)
    who = await principal(app, host)
    async with app.desk.listen(who):
        again = (await host.post(f"/turns/{lease['turn']}/lease", {})).json
        assert (again["attempt"], again["answer"]) == (1, lease["answer"])
        assert (await agent.get(f"/tasks/{task}")).status == 401
        assert (await app.holding(again["grant"]["token"]).get(f"/tasks/{task}")).status == 200
        async with app.desk.listen(who):
            assert (await host.post(f"/turns/{lease['turn']}/lease", {})).status == 409


async def test_a_turn_that_could_not_be_had_is_offered_again_when_it_can(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    bob = await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    theirs, _ = await own_host(app, bob)
    async with app.desk.listen(await principal(app, theirs)) as stream:
        first, second = await queued(ann, task), await queued(bob, task)
        assert await heard(stream) == [("offer", second)]
        assert (await host.post(f"/turns/{first}/lease", {})).status == 200
        assert (await theirs.post(f"/turns/{second}/lease", {})).status == 409
        assert (await host.post(f"/turns/{first}/end", {"outcome": "done"})).status == 204
        assert await heard(stream) == [("offer", second)]


async def test_an_end_may_say_where_the_answer_stands_in_truth(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    lease, _ = await leased(app, ann, host, task)
    elsewhere = {"outcome": "done", "answer": "0198c0de-0000-7000-8000-000000000002"}
    assert (await host.post(f"/turns/{lease['turn']}/end", elsewhere)).status == 204
    assert (await turns(ann, task))[0]["answer"] == elsewhere["answer"]


async def test_a_renewal_tells_what_was_said_meanwhile_and_the_end_covers_it(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    lease, _ = await leased(app, ann, host, task)
    later = await say(ann, task, "And not before May.")
    assert [(t["status"], t["messages"]) for t in await turns(ann, task)] == [
        ("queued", [later]), ("running", lease["messages"]),
    ]  # fmt: skip
    app.clock.advance(10)
    renewed = (await host.post(f"/turns/{lease['turn']}/renew", {})).json
    assert renewed["messages"] == [later] and renewed["stop"] is False and renewed["grant"]["token"] is None
    assert renewed["lease_until"] == "2027-01-15T08:00:40.000Z"
    ended = await host.post(f"/turns/{lease['turn']}/end", {"outcome": "done", "covered": [*lease["messages"], later]})
    assert ended.status == 204
    assert [(t["status"], t["messages"]) for t in await turns(ann, task)] == [("done", [*lease["messages"], later])]


async def test_a_grant_lives_as_long_as_its_lease_is_renewed(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    lease, agent = await leased(app, ann, host, task)
    for _ in range(40):
        app.clock.advance(LEASE_LIFE - 5)
        assert (await host.post(f"/turns/{lease['turn']}/renew", {})).json["stop"] is False
    assert (await agent.get(f"/tasks/{task}")).json["role"] == "editor"
    assert (await host.post(f"/turns/{lease['turn']}/end", {"outcome": "done"})).status == 204
    assert (await agent.get(f"/tasks/{task}")).json["role"] == "viewer"
    app.clock.advance(61)
    assert (await agent.get(f"/tasks/{task}")).status == 401


async def test_a_host_without_a_word_loses_its_turn_to_the_next(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    lease, agent = await leased(app, ann, host, task)
    app.clock.advance(LEASE_LIFE + 1)
    await app.desk.beat()
    (turn,) = await turns(ann, task)
    assert (turn["status"], turn["attempt"]) == ("queued", 2) and turn["why"]
    assert (await agent.get(f"/tasks/{task}")).status == 401
    assert (await host.post(f"/turns/{lease['turn']}/renew", {})).status == 409
    assert (await host.post(f"/turns/{lease['turn']}/end", {"outcome": "done"})).status == 409
    again = (await host.post(f"/turns/{lease['turn']}/lease", {})).json
    assert (again["attempt"], again["answer"]) == (2, lease["answer"])


async def test_a_stopped_turn_is_over_for_everybody(app: AppUnderTest, ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    lease, agent = await leased(app, ann, host, task)
    stopped = await ann.post(f"/turns/{lease['turn']}/stop", {})
    assert stopped.status == 200 and stopped.json["status"] == "stopped"
    assert (await agent.post(f"/tasks/{task}/messages", {"text": "and"})).status == 401
    assert (await host.post(f"/turns/{lease['turn']}/renew", {})).json["stop"] is True
    assert (await host.post(f"/turns/{lease['turn']}/end", {"outcome": "done"})).status == 204
    assert (await ann.post(f"/turns/{lease['turn']}/stop", {})).json == (await turns(ann, task))[0]
    assert (await turns(ann, task))[0]["status"] == "stopped"


async def test_a_queued_turn_can_be_stopped_before_anybody_takes_it(ann: Browser, host: Browser) -> None:
    task = await ann.new_task()
    turn = await queued(ann, task)
    assert (await ann.post(f"/turns/{turn}/stop", {})).json["status"] == "stopped"
    assert (await host.post(f"/turns/{turn}/lease", {})).status == 409


@pytest.mark.parametrize("role", ["viewer", "commenter"])
async def test_who_may_not_write_may_look_on_and_not_stop(
    app: AppUnderTest, ann: Browser, host: Browser, role: str
) -> None:
    task = await ann.new_task()
    bob = await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": role})
    lease, _ = await leased(app, ann, host, task)
    assert (await turns(bob, task))[0]["status"] == "running"
    refused = await bob.post(f"/turns/{lease['turn']}/stop", {})
    assert refused.status == 403 and (await turns(ann, task))[0]["status"] == "running"


async def test_a_demoted_user_s_agent_writes_no_more_and_a_removed_one_s_is_nobody(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    bob = await app.sign_in("bob")
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    lease, agent = await leased(app, bob, host, task)
    waiting = await queued(ann, task)
    async with app.desk.listen(await principal(app, host)) as stream:
        await ann.patch(f"/tasks/{task}/members/{bob.user}", {"role": "viewer"})
        assert (await agent.post(f"/tasks/{task}/messages", {"text": "x"})).status == 401
        assert await heard(stream) == [("stop", lease["turn"]), ("offer", waiting)]
    (mine, theirs) = await turns(ann, task)
    assert (mine["status"], theirs["status"]) == ("queued", "failed") and theirs["why"]
    assert (await host.post(f"/turns/{lease['turn']}/renew", {})).status == 409
    assert (await ann.post(f"/turns/{waiting}/stop", {})).status == 200
    await ann.patch(f"/tasks/{task}/members/{bob.user}", {"role": "editor"})
    _, agent = await leased(app, bob, host, task)
    await ann.delete(f"/tasks/{task}/members/{bob.user}")
    assert (await agent.get(f"/tasks/{task}")).status == 401


async def test_an_agent_s_name_for_the_task_stands_until_a_person_s(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    made = await ann.post("/tasks", {})
    task = made.json["id"]
    assert made.json["named_by"] == "none"
    lease, agent = await leased(app, ann, host, task)
    assert lease["named"] is False
    named = await agent.ask("PUT", f"/tasks/{task}/proposed-name", {"name": "Acme revision"})
    assert named.status == 200 and (named.json["name"], named.json["named_by"]) == ("Acme revision", "agent")
    assert (await ann.get(f"/tasks/{task}/working-set")).json["meta"]["name"] == "Acme revision"
    assert (await ann.patch(f"/tasks/{task}", {"name": "Acme"})).json["named_by"] == "user"
    late = await agent.ask("PUT", f"/tasks/{task}/proposed-name", {"name": "Something else"})
    assert late.status == 409 and (await ann.get(f"/tasks/{task}")).json["name"] == "Acme"


async def test_a_stream_tells_what_waits_what_comes_and_what_to_let_be(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    first, second = await ann.new_task(), await ann.new_task()
    one = await queued(ann, first)
    async with app.desk.listen(await principal(app, host)) as stream:
        assert await heard(stream) == [("offer", one)]
        other = await queued(ann, second)
        assert await heard(stream) == [("offer", other)]
        await host.post(f"/turns/{one}/lease", {})
        await say(ann, first)
        assert await heard(stream) == []  # one at a time for each task
        await host.post(f"/turns/{one}/end", {"outcome": "failed"})
        assert await heard(stream) == [("offer", one)]
        await host.post(f"/turns/{one}/lease", {})
        await ann.post(f"/turns/{one}/stop", {})
        following = (await turns(ann, first))[0]["id"]
        assert await heard(stream) == [("stop", one), ("offer", following)]


async def test_the_stream_is_told_to_stop_before_the_agent_s_connections_are_ended(
    app: AppUnderTest, ann: Browser, host: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await ann.new_task()
    told: list[list[tuple[str, str]]] = []
    end_connections = app.rooms.revoke
    async with app.desk.listen(await principal(app, host)) as stream:
        lease, _ = await leased(app, ann, host, task)
        await heard(stream)

        async def revoke(matches: Any, code: int, why: str) -> None:
            told.append(await heard(stream))
            await end_connections(matches, code, why)

        monkeypatch.setattr(app.rooms, "revoke", revoke)
        assert (await ann.post(f"/turns/{lease['turn']}/stop", {})).status == 200
    assert told == [[("stop", lease["turn"])]]


async def test_turns_of_others_are_not_offered_to_a_user_s_own_agent_nor_leased_by_it(
    app: AppUnderTest, ann: Browser
) -> None:
    bob = await app.sign_in("bob")
    task, other = await ann.new_task(), await ann.new_task()
    await ann.post(f"/tasks/{task}/members", {"user": "bob", "role": "editor"})
    bobs, _ = await own_host(app, bob)
    anns, _ = await own_host(app, ann, TaskId(other))
    async with (
        app.desk.listen(await principal(app, bobs)) as to_bob,
        app.desk.listen(await principal(app, anns)) as to_ann,
    ):
        turn = await queued(ann, task)
        assert await heard(to_bob) == [] == await heard(to_ann)
        for method, body in (("lease", {}), ("renew", {}), ("end", {"outcome": "done"})):
            for who in (bobs, anns):
                assert (await who.post(f"/turns/{turn}/{method}", body)).status == 404
        mine = await queued(ann, other)
        assert await heard(to_ann) == [("offer", mine)] and await heard(to_bob) == []
        assert (await anns.post(f"/turns/{mine}/lease", {})).json["agent"]["name"] == "Mine"


async def test_a_user_s_own_agent_hears_of_a_turn_before_the_built_in_one(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    mine, _ = await own_host(app, ann)
    async with (
        app.desk.listen(await principal(app, host)) as built_in,
        app.desk.listen(await principal(app, mine)) as own,
    ):
        turn = await queued(ann, task)
        assert await heard(own) == [("offer", turn)] and await heard(built_in) == []
        app.clock.advance(HEAD_START)
        await app.desk.beat()
        assert await heard(built_in) == [("offer", turn)] and await heard(own) == []


async def test_what_a_host_had_is_offered_again_when_it_went_and_did_not_come_back(
    app: AppUnderTest, ann: Browser, host: Browser
) -> None:
    task = await ann.new_task()
    who = await principal(app, host)
    async with app.desk.listen(who):
        await leased(app, ann, host, task)
    app.clock.advance(AWAY - 0.5)
    async with app.desk.listen(who):
        app.clock.advance(5)
        await app.desk.beat()
        assert (await turns(ann, task))[0]["status"] == "running"
    app.clock.advance(AWAY + 0.5)
    await app.desk.beat()
    (turn,) = await turns(ann, task)
    assert (turn["status"], turn["attempt"]) == ("queued", 2)


async def test_a_gone_host_is_taken_from_by_whoever_beats_and_in_spite_of_a_store_that_fails_once(
    app: AppUnderTest, ann: Browser, host: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await ann.new_task()
    async with app.desk.listen(await principal(app, host)):
        await leased(app, ann, host, task)
    abandon, well = Turns.abandon, False

    async def unwell(of: Turns, hosts: Collection[TokenId], now: float) -> list[tuple[Turn, Turn]]:
        nonlocal well
        await anyio.sleep(0.05)
        if hosts and not well:
            well = True
            raise Unavailable("The disk is full.")
        return await abandon(of, hosts, now)

    async def beat() -> None:
        with suppress(Unavailable):
            await app.desk.beat()

    monkeypatch.setattr(Turns, "abandon", unwell)
    app.clock.advance(AWAY + 0.5)
    await beat()
    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        await anyio.sleep(0.01)
        await beat()
        assert (await turns(ann, task))[0]["status"] == "queued"


async def test_agents_of_a_gone_host_write_no_more_though_the_store_failed_while_they_were_ended(
    app: AppUnderTest, ann: Browser, host: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = []
    async with app.desk.listen(await principal(app, host)):
        for number in range(2):
            task = await ann.new_task()
            _, agent = await leased(app, ann, host, task)
            agents.append(Peer(number + 1))
            await app.rooms.join(DocName(task), await principal(app, agent), Role.EDITOR, agents[-1])
    revoke, failures = Tokens.revoke, 0

    async def unwell(of: Tokens, user: UserId, token: TokenId, at: float) -> Token | None:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise Unavailable("The disk is full.")
        return await revoke(of, user, token, at)

    monkeypatch.setattr(Tokens, "revoke", unwell)
    app.clock.advance(AWAY + 0.5)
    for _ in range(2):
        with suppress(Unavailable):
            await app.desk.beat()
    assert failures and [agent.closed is not None for agent in agents] == [True, True]


async def test_a_stream_that_nobody_reads_is_bounded_and_ends(app: AppUnderTest, host: Browser) -> None:
    async with app.desk.listen(await principal(app, host)) as stream:
        from server.turns.offers import Offer

        for number in range(MOST + 1):
            stream.tell(Offer("stop", TurnId(str(number)), TaskId("t"), 1))
        assert stream.over and await stream.next(0.1) is None


async def test_streams_end_with_their_bearer_and_with_the_server(app: AppUnderTest, ann: Browser) -> None:
    mine, token = await own_host(app, ann)
    who = await principal(app, mine)
    async with app.desk.listen(who) as stream:
        assert (await ann.delete(f"/tokens/{token}")).status == 204
        assert stream.over
    refused = await call_stream(mine)
    assert refused.status == 401
    with pytest.raises(Exception, match="revoked"):
        async with app.desk.listen(who):
            pass
    other, _ = await own_host(app, ann)
    async with app.desk.listen(await principal(app, other)) as stream:
        app.clock.advance(3601)
        app.desk.offers.sweep()
        assert stream.over


async def call_stream(who: Browser) -> Answered:
    with anyio.fail_after(20):
        return await who.get("/turns/offers")


async def test_a_bearer_has_only_so_many_streams(app: AppUnderTest, host: Browser) -> None:
    who = await principal(app, host)
    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            async with app.desk.listen(who):
                await anyio.sleep_forever()

        for _ in range(STREAMS):
            tasks.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Exception, match="streams"):
            async with app.desk.listen(who):
                pass
        answer = await call_stream(host)
        assert answer.status == 409 and answer.code == "conflict"
        tasks.cancel_scope.cancel()


async def test_a_composer_s_message_by_a_script_of_a_user_s_makes_a_turn(app: AppUnderTest, ann: Browser) -> None:
    task = await ann.new_task()
    script, _ = await app.with_bearer(ann)

    def write(composer: Composer) -> None:
        composer.set_map("messages", "0198c0de-0000-7000-8000-000000000001")

    await app.rooms.compose(DocName(task), await principal(app, script), write)
    assert [turn["messages"] for turn in await turns(ann, task)] == [["0198c0de-0000-7000-8000-000000000001"]]

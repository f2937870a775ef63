"""Turns in SQL: one running a task, one person a turn, one turn a message, and a grant that dies with its attempt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from crdt_docs.ids import AgentId, MessageId, TaskId, TokenId, TurnId, UserId, new_id, new_ordered_id
from server.domain.access import Role
from server.domain.errors import Conflict, NotFound
from server.domain.turn import (
    GONE,
    GRANT_LIFE,
    LEASE_LIFE,
    LOSSES,
    MOST_MESSAGES,
    REST,
    Host,
    Leased,
    Said,
    Turn,
)
from server.store.nouns import Nouns, open_nouns

NOW = 1_800_000_000.0


@dataclass
class Scene:
    """Ann's task, on which Bob may write, and the built-in agent's host."""

    nouns: Nouns
    ann: UserId
    bob: UserId
    task: TaskId
    host: Host

    async def say(self, *messages: str, by: UserId | None = None, at: float = NOW) -> Turn:
        said = [Said(MessageId(message), by or self.ann) for message in messages]
        return (await self.nouns.turns.file(self.task, said, 1, at))[-1]

    async def lease(self, turn: Turn, at: float = NOW) -> Leased:
        return await self.nouns.turns.lease(turn.id, self.host, at)

    async def end(self, turn: Turn, outcome: str = "done", covered: tuple[str, ...] = (), at: float = NOW) -> Turn:
        ids = [MessageId(message) for message in covered]
        _, after = await self.nouns.turns.end(turn.id, self.host, outcome, ids, None, at)  # type: ignore[arg-type]
        return after

    async def all(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """Status, attempt and messages of the task's turns, the oldest first."""
        turns = await self.nouns.turns.of_task(self.task)
        return [(turn.status, turn.attempt, turn.messages) for turn in reversed(turns)]

    async def lives(self, leased: Leased, at: float = NOW) -> Role | None:
        """As what its grant is let in."""
        assert leased.given.token is not None
        token = await self.nouns.tokens.find(leased.given.token, at)
        return token.role if token is not None else None


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with open_nouns(tmp_path) as nouns:
        ann, bob = [await nouns.users.add(name, NOW) for name in ("ann", "bob")]
        task = await nouns.tasks.create(ann.id, "Acme", NOW)
        await nouns.tasks.add_member(task.id, bob.id, Role.OWNER, NOW)
        agent = await nouns.agents.ensure(None, "Clew", NOW)
        yield Scene(nouns, ann.id, bob.id, task.id, Host(TokenId(new_id()), agent.id, "Clew"))


async def test_what_is_said_before_anybody_answers_is_one_turn(scene: Scene) -> None:
    first = await scene.say("a")
    second = await scene.say("b", "c", "b")
    assert second.id == first.id and second.user == scene.ann
    assert await scene.all() == [("queued", 1, ("a", "b", "c"))]
    assert await scene.nouns.turns.file(scene.task, [Said(MessageId("b"), scene.ann)], 2, NOW) == []
    assert await scene.all() == [("queued", 1, ("a", "b", "c"))]


async def test_a_turn_is_one_person_s_and_the_oldest_waits_first(scene: Scene) -> None:
    said = [(scene.bob, "a"), (scene.ann, "b"), (scene.bob, "c")]
    await scene.nouns.turns.file(scene.task, [Said(MessageId(message), user) for user, message in said], 1, NOW)
    await scene.say("d")
    bobs, anns = await scene.nouns.turns.queued(NOW)
    assert (bobs.user, anns.user) == (scene.bob, scene.ann)
    assert await scene.all() == [("queued", 1, ("a", "c")), ("queued", 1, ("b", "d"))]
    await scene.lease(bobs)
    assert await scene.nouns.turns.queued(NOW) == []
    await scene.end(bobs)
    assert [turn.id for turn in await scene.nouns.turns.queued(NOW)] == [anns.id]


async def test_a_long_backlog_waits_in_turns_of_which_none_is_too_long_and_nothing_is_left_out(scene: Scene) -> None:
    messages = [MessageId(new_ordered_id(int(NOW * 1000) + number)) for number in range(3000)]
    await scene.say("first")
    filed = await scene.nouns.turns.file(scene.task, [Said(message, scene.ann) for message in messages], 2, NOW)
    assert max(len(turn.messages) for turn in filed) == MOST_MESSAGES
    assert [message for turn in filed for message in turn.messages] == ["first", *messages]
    answers = [turn.answer for turn in filed]
    assert answers == sorted(answers) and all(turn.answer > turn.messages[-1] for turn in filed)
    for turn in filed[:3]:
        (waiting,) = await scene.nouns.turns.queued(NOW)
        assert waiting.id == turn.id
        assert (await scene.lease(waiting)).turn.messages == turn.messages
        assert (await scene.nouns.turns.renew(turn.id, scene.host, NOW)).messages == ()
        await scene.end(turn)


async def test_what_is_folded_into_a_turn_leaves_it_within_its_bound(scene: Scene) -> None:
    turn = await scene.say("a")
    await scene.lease(turn)
    messages = [f"m{number}" for number in range(40)]
    await scene.say(*messages)
    renewed = await scene.nouns.turns.renew(turn.id, scene.host, NOW)
    assert list(renewed.messages) == messages[: MOST_MESSAGES - 1]
    await scene.end(turn, covered=("a", *renewed.messages))
    assert [len(turn[2]) for turn in await scene.all()] == [MOST_MESSAGES, 1, 15]


async def test_what_somebody_said_who_is_gone_makes_no_turn_and_holds_nobody_up(scene: Scene) -> None:
    await scene.nouns.users.delete(scene.bob)
    both = [Said(MessageId("a"), scene.bob), Said(MessageId("b"), scene.ann)]
    (turn,) = await scene.nouns.turns.file(scene.task, both, 1, NOW)
    assert turn.messages == ("b",) and turn.user == scene.ann
    assert await scene.nouns.turns.file(TaskId(new_id()), both, 1, NOW) == []


async def test_of_two_who_lease_at_once_one_gets_it(scene: Scene) -> None:
    turn = await scene.say("a")
    won: list[str] = []
    lost: list[str] = []

    async def lease(host: Host) -> None:
        try:
            won.append((await scene.nouns.turns.lease(turn.id, host, NOW)).turn.host or "")
        except Conflict:
            lost.append(host.id)

    hosts = [Host(TokenId(f"h{number}"), scene.host.agent, "Clew") for number in range(5)]
    async with anyio.create_task_group() as tasks:
        for host in hosts:
            tasks.start_soon(lease, host)
    assert len(won) == 1 and len(lost) == 4
    assert await scene.all() == [("running", 1, ("a",))]


async def test_what_is_said_during_a_turn_waits_in_the_next_and_leaves_it_when_it_is_covered(scene: Scene) -> None:
    turn = await scene.say("a")
    await scene.lease(turn)
    waiting = await scene.say("b", "c")
    await scene.say("x", by=scene.bob)
    assert await scene.all() == [("running", 1, ("a",)), ("queued", 1, ("b", "c")), ("queued", 1, ("x",))]
    assert await scene.nouns.turns.queued(NOW) == []
    with pytest.raises(Conflict):
        await scene.lease(waiting)
    renewed = await scene.nouns.turns.renew(turn.id, scene.host, NOW + 10)
    assert renewed.messages == ("b", "c") and renewed.turn.lease_until == NOW + 10 + LEASE_LIFE
    await scene.say("d")
    await scene.end(turn, covered=("a", "b", "x", "never said"))
    assert await scene.all() == [("done", 1, ("a", "b")), ("queued", 1, ("c", "d")), ("queued", 1, ("x",))]
    left, other = await scene.nouns.turns.queued(NOW)
    assert left.id == waiting.id and (await scene.lease(left)).turn.messages == ("c", "d")
    assert other.user == scene.bob


async def test_a_queued_turn_of_which_all_is_covered_is_gone(scene: Scene) -> None:
    turn = await scene.say("a")
    await scene.lease(turn)
    await scene.say("b")
    await scene.end(turn, covered=("b",))
    assert await scene.all() == [("done", 1, ("a", "b"))]


async def test_a_lost_turn_goes_back_and_stands_before_what_was_queued_meanwhile(scene: Scene) -> None:
    turn = await scene.say("a")
    leased = await scene.lease(turn)
    await scene.say("b")
    assert await scene.nouns.turns.age(NOW + LEASE_LIFE - 1) == []
    ((before, after),) = await scene.nouns.turns.age(NOW + LEASE_LIFE + 1)
    assert before.status == "running" and after.answer == leased.turn.answer
    assert await scene.all() == [("queued", 2, ("a",)), ("queued", 1, ("b",))]
    assert [turn.id for turn in await scene.nouns.turns.queued(NOW + LEASE_LIFE + 1)] == [turn.id]
    assert await scene.lives(leased) is None
    again = await scene.lease(after)
    assert (again.turn.attempt, again.turn.answer) == (2, leased.turn.answer)
    with pytest.raises(Conflict):
        await scene.nouns.turns.renew(turn.id, Host(TokenId("another"), scene.host.agent, "Clew"), NOW)


async def test_after_the_third_attempt_it_has_failed_and_what_came_later_is_still_answered(scene: Scene) -> None:
    turn = await scene.say("a")
    for _ in range(3):
        await scene.lease(turn)
        last = await scene.end(turn, "failed")
    assert last.status == "failed" and last.why
    later = await scene.say("b")
    assert later.id != turn.id
    assert await scene.all() == [("failed", 3, ("a",)), ("queued", 1, ("b",))]


async def test_a_turn_that_nobody_takes_for_a_day_expires(scene: Scene) -> None:
    await scene.say("a")
    await scene.say("b", at=NOW + 80_000)
    assert await scene.nouns.turns.age(NOW + 90_000) == []
    await scene.nouns.turns.age(NOW + 170_000)
    assert await scene.all() == [("expired", 1, ("a", "b"))]


async def test_what_failed_or_expired_is_told_as_unanswered_and_nothing_else_is(scene: Scene) -> None:
    turn = await scene.say("a", "b")
    for _ in range(3):
        assert await scene.nouns.turns.unanswered(scene.task) == []
        await scene.lease(turn)
        await scene.end(turn, "failed")
    answered = await scene.say("c")
    await scene.lease(answered)
    await scene.end(answered)
    await scene.say("d")
    assert await scene.nouns.turns.unanswered(scene.task) == ["a", "b"]
    await scene.nouns.turns.age(NOW + 90_000)
    assert await scene.nouns.turns.unanswered(scene.task) == ["a", "b", "d"]
    assert await scene.nouns.turns.unanswered(TaskId(new_id())) == []


async def test_a_grant_is_the_lesser_of_editor_and_the_user_s_role_for_minutes(scene: Scene) -> None:
    leased = await scene.lease(await scene.say("a"))
    token = await scene.nouns.tokens.find(leased.given.token or "", NOW)
    assert token is not None
    assert (token.kind, token.role, token.task, token.user) == ("grant", Role.EDITOR, scene.task, scene.ann)
    assert (token.agent, token.agent_name) == (scene.host.agent, "Clew")
    assert token.expires_at == NOW + GRANT_LIFE <= NOW + 15 * 60
    assert await scene.lives(leased, NOW + GRANT_LIFE + 1) is None
    assert await scene.nouns.tokens.of_user(scene.ann) == []


async def test_who_may_not_write_any_more_gets_no_agent_to_write(scene: Scene) -> None:
    turn = await scene.say("a", by=scene.bob)
    await scene.nouns.tasks.set_role(scene.task, scene.bob, Role.COMMENTER, NOW)
    with pytest.raises(Conflict):
        await scene.lease(turn)
    assert await scene.all() == [("failed", 1, ("a",))]


async def test_a_renewal_after_a_demotion_ends_the_turn(scene: Scene) -> None:
    turn = await scene.say("a", by=scene.bob)
    leased = await scene.lease(turn)
    await scene.nouns.tasks.set_role(scene.task, scene.bob, Role.VIEWER, NOW)
    assert (await scene.nouns.turns.renew(turn.id, scene.host, NOW)).given is None
    assert await scene.all() == [("failed", 1, ("a",))] and await scene.lives(leased) is None


async def test_only_the_turns_of_who_may_not_write_any_more_are_ended(scene: Scene) -> None:
    bobs, anns = await scene.say("a", by=scene.bob), await scene.say("b")
    leased = await scene.lease(bobs)
    await scene.say("c", by=scene.bob)
    assert await scene.nouns.turns.dismiss(NOW) == []
    await scene.nouns.tasks.set_role(scene.task, scene.bob, Role.COMMENTER, NOW)
    ended = await scene.nouns.turns.dismiss(NOW)
    assert [(before.status, after.status, after.why) for before, after in ended] == [
        ("running", "failed", GONE), ("queued", "failed", GONE),
    ]  # fmt: skip
    assert await scene.lives(leased) is None
    assert [turn.id for turn in await scene.nouns.turns.queued(NOW)] == [anns.id]


async def test_a_host_that_did_not_hear_that_it_has_a_turn_gets_it_again_under_another_secret(scene: Scene) -> None:
    turn = await scene.say("a")
    first = await scene.lease(turn)
    again = await scene.lease(turn, NOW + 5)
    assert (again.turn.attempt, again.turn.answer, again.given.id) == (1, first.turn.answer, first.given.id)
    assert await scene.lives(first) is None and await scene.lives(again) is Role.EDITOR
    with pytest.raises(Conflict):
        await scene.nouns.turns.lease(turn.id, scene.host, NOW, again=False)
    with pytest.raises(Conflict):
        await scene.nouns.turns.lease(turn.id, replace(scene.host, id=TokenId("another")), NOW)


async def test_a_turn_that_is_lost_often_waits_longer_and_longer_and_is_given_up_late(scene: Scene) -> None:
    turn, at = await scene.say("a"), NOW
    pauses = []
    for _ in range(LOSSES):
        await scene.lease(turn, at)
        ((_, after),) = await scene.nouns.turns.abandon([scene.host.id], at)
        pauses.append(after.due_at - at)
        assert (after.due_at <= at) == (after in await scene.nouns.turns.queued(at)) or after.status == "failed"
        at = max(at, after.due_at)
    assert after.status == "failed" and after.failures == 0
    assert pauses[:4] == [0, 1, 2, 4] and pauses[:-1] == sorted(pauses[:-1])


async def test_what_was_released_counts_as_no_failure_and_a_loss_counts_apart(scene: Scene) -> None:
    turn = await scene.say("a")
    for _ in range(2):
        await scene.lease(turn)
        await scene.end(turn, "failed")
        for _ in range(2):
            await scene.lease(turn)
            await scene.end(turn, "released")
            await scene.lease(turn)
            await scene.nouns.turns.abandon([scene.host.id], NOW)
    await scene.lease(turn)
    last = await scene.end(turn, "failed")
    assert (last.status, last.failures, last.losses) == ("failed", 3, 4)


async def test_an_answer_that_was_written_elsewhere_is_known_by_where_it_is(scene: Scene) -> None:
    turn = await scene.say("a")
    await scene.lease(turn)
    _, after = await scene.nouns.turns.end(turn.id, scene.host, "done", [], None, NOW, MessageId("elsewhere"))
    found = await scene.nouns.turns.get(turn.id)
    assert found is not None and found.answer == after.answer == "elsewhere"


async def test_after_an_answer_the_grant_rests_and_the_next_turn_wakes_it_under_a_new_secret(scene: Scene) -> None:
    turn = await scene.say("a")
    first = await scene.lease(turn)
    await scene.end(turn)
    assert await scene.lives(first) is Role.VIEWER
    assert await scene.lives(first, NOW + REST + 1) is None
    second = await scene.lease(await scene.say("b"))
    assert second.given.id == first.given.id and second.given.token != first.given.token
    assert await scene.lives(first) is None and await scene.lives(second) is Role.EDITOR


async def test_a_grant_that_rests_for_one_user_is_not_woken_for_another(scene: Scene) -> None:
    turn = await scene.say("a")
    first = await scene.lease(turn)
    await scene.end(turn)
    second = await scene.lease(await scene.say("b", by=scene.bob))
    assert second.given.id != first.given.id and await scene.lives(first) is None


async def test_to_end_a_turn_again_does_not_put_the_next_one_to_rest(scene: Scene) -> None:
    turn = await scene.say("a")
    await scene.lease(turn)
    await scene.end(turn)
    second = await scene.lease(await scene.say("b"))
    await scene.end(turn)
    assert await scene.lives(second) is Role.EDITOR


async def test_stopping_ends_the_grant_in_the_same_transaction(scene: Scene) -> None:
    turn = await scene.say("a")
    leased = await scene.lease(turn)
    before, after = await scene.nouns.turns.stop(turn.id, NOW + 1)
    assert (before.status, after.status) == ("running", "stopped") and await scene.lives(leased) is None
    assert (await scene.nouns.turns.stop(turn.id, NOW + 2))[1] == after
    assert (await scene.end(turn)).status == "stopped"
    with pytest.raises(NotFound):
        await scene.nouns.turns.stop(TurnId(new_id()), NOW)


async def test_what_a_revoked_host_was_given_ends_with_it(scene: Scene) -> None:
    agent = await scene.nouns.agents.ensure(scene.ann, "Mine", NOW)
    token, _ = await scene.nouns.tokens.issue(scene.ann, role=Role.EDITOR, at=NOW, expires_at=NOW + 99, agent=agent.id)
    host = Host(token.id, agent.id, "Mine", scene.ann)
    leased = await scene.nouns.turns.lease((await scene.say("a")).id, host, NOW)
    assert await scene.lives(leased) is Role.EDITOR
    await scene.nouns.tokens.revoke(scene.ann, token.id, NOW)
    assert await scene.lives(leased) is None
    assert await scene.nouns.tokens.given_by(token.id) == [leased.given.id]


async def test_what_a_host_had_that_no_row_knows_is_taken_back_at_start(scene: Scene) -> None:
    await scene.lease(await scene.say("a"))
    assert len(await scene.nouns.turns.abandon_strays(NOW)) == 1
    assert await scene.all() == [("queued", 2, ("a",))]


async def test_a_host_hears_of_no_turn_of_another_user(scene: Scene) -> None:
    turn = await scene.say("a")
    bobs = Host(TokenId("b"), AgentId("b"), "Bob's", scene.bob)
    with pytest.raises(NotFound):
        await scene.nouns.turns.lease(turn.id, bobs, NOW)
    with pytest.raises(NotFound):
        await scene.nouns.turns.renew(turn.id, bobs, NOW)
    with pytest.raises(NotFound):
        await scene.nouns.turns.end(turn.id, bobs, "done", [], None, NOW)


async def test_registrations_are_one_a_name_and_user(scene: Scene) -> None:
    agents = scene.nouns.agents
    own = await agents.ensure(None, "Clew", NOW)
    assert await agents.ensure(None, "CLEW", NOW + 1) == own == await agents.get(own.id)
    anns, bobs = await agents.ensure(scene.ann, "clew", NOW), await agents.ensure(scene.bob, "clew", NOW)
    assert len({own.id, anns.id, bobs.id}) == 3
    assert await agents.names([own.id, anns.id]) == {own.id: "Clew", anns.id: "clew"}


async def test_a_person_s_name_for_the_task_stands_and_an_agent_s_yields(scene: Scene) -> None:
    tasks = scene.nouns.tasks
    task = await tasks.create(scene.ann, "Untitled task", NOW, named_by="none")
    assert (await tasks.propose_name(task.id, "Acme revision", NOW)) is not None
    named = await tasks.propose_name(task.id, "Acme contract", NOW)
    assert named is not None and (named.name, named.named_by) == ("Acme contract", "agent")
    changed = await tasks.patch(scene.ann, task.id, NOW, status="paused")
    assert changed is not None and changed[0].named_by == "agent"
    changed = await tasks.patch(scene.ann, task.id, NOW, name="Ours")
    assert changed is not None and changed[0].named_by == "user"
    with pytest.raises(Conflict):
        await tasks.propose_name(task.id, "Theirs", NOW)
    assert await tasks.propose_name(TaskId(new_id()), "Nobody's", NOW) is None

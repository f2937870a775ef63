"""A clock that is set back by an hour: nothing that was in order gets out of it, and leases end when they were to."""

from __future__ import annotations

from pathlib import Path

from kit.clock import FakeClock
from kit.data_folder import fill

from crdt_docs.ids import DocName, MessageId
from crdt_docs.updates.compose import Composer
from server.config import Config
from server.domain.access import Principal
from server.domain.clock import SystemClock
from server.domain.turn import LEASE_LIFE, Host, Said
from server.services import open_services
from server.store.log import SqliteLog

HOUR = 3600.0


def machine() -> tuple[FakeClock, SystemClock]:
    """A machine whose clock a test sets, and what the server makes of it."""
    fake = FakeClock()
    return fake, SystemClock(fake.now, fake.monotonic)


def test_time_goes_on_from_where_it_was_when_the_machine_steps_back() -> None:
    fake, clock = machine()
    began = clock.now()
    fake.step(-HOUR)
    assert clock.now() == began
    fake.advance(10)
    assert clock.now() == began + 10
    fake.step(HOUR)
    assert clock.now() == began + 10
    fake.step(HOUR)
    assert clock.now() == began + HOUR + 10, "a step forwards is followed: the machine has slept"
    assert SystemClock().now() > 1_700_000_000


async def test_seq_and_times_go_on_and_a_lease_ends_when_it_was_to(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    task = await fill(folder, 2, None)
    fake, clock = machine()
    async with open_services(Config(data=folder, durability="process"), clock) as services:
        user = await services.nouns.users.named("owner")
        assert user is not None
        who, name = Principal(user.id, user.name), DocName(task)

        async def edit(key: str) -> int:
            def build(composer: Composer) -> None:
                composer.set("notes", key, key)

            return await services.rooms.compose(name, who, build)

        first = await edit("before")
        (turn,) = await services.nouns.turns.file(task, [Said(MessageId("m"), user.id)], first, clock.now())
        agent = await services.nouns.agents.ensure(None, "Ada", clock.now())
        issued, _ = await services.nouns.tokens.issue(
            user.id, role=who.cap, at=clock.now(), expires_at=clock.now() + HOUR, agent=agent.id
        )
        await services.nouns.turns.lease(turn.id, Host(issued.id, agent.id, "Ada"), clock.now())
        fake.step(-HOUR)
        assert await edit("after") == first + 1
        fake.advance(LEASE_LIFE - 1)
        assert await services.nouns.turns.age(clock.now()) == []
        fake.advance(2)
        ((_, after),) = await services.nouns.turns.age(clock.now())
        assert (after.status, after.attempt) == ("queued", 2)
        assert await edit("later") == first + 2
    with SqliteLog(folder / "log.db") as log:
        opened = log.open(name)
    tail = opened.tail
    assert [logged.seq for logged in tail] == list(range(1, first + 3))
    assert [logged.at for logged in tail[-3:]] == sorted(logged.at for logged in tail[-3:])

"""A snapshot made in a worker says what the log says, in yrs as in bytes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from crdt_docs.schema import seed_update
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced, state_vector
from crdt_docs.working_set import WorkingSet
from server.domain.garbage import LITTLE_BYTES, let_go_of
from server.engine import compaction
from server.engine.compaction import Unequal, compact
from server.engine.failures import EngineFailed, Verdict
from server.engine.lanes import Lane
from server.engine.pool import Engine
from server.engine.records import Parts

DOCUMENT = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
async def engine() -> AsyncIterator[Engine]:
    async with Engine(finish="kit.engine_jobs:count_sections", workers={"read": 1}) as made:
        yield made


def typing_log(rng: random.Random, length: int) -> list[bytes]:
    """A task's log: seed, then people typing, deleting and deciding, one update each."""
    doc: Doc[Any] = Doc(client_id=rng.getrandbits(32))
    log: list[bytes] = []
    doc.observe(lambda event: log.append(event.update))
    doc.apply_update(seed_update(1, name="Acme", document=DOCUMENT))
    people = WorkingSet(doc, "Ann", lambda: 1_764_000_000_000)
    key = people.decide("first")
    goal = doc.get("meta", type=Map)["goal"]
    assert isinstance(goal, Text)
    while len(log) < length:
        match rng.randrange(4):
            case 0:
                goal.insert(0, rng.choice(("a", "合同", "😀")))
            case 1 if len(goal):
                goal.clear()
            case 2:
                people.add_message("hi 😀 " * rng.randint(1, 5))
            case _:
                people.edit_words("decisions", key, "text", 0, delete=0, insert="x")
    return log


async def test_snapshot_and_tail_become_one_smaller_update_that_reads_the_same(engine: Engine) -> None:
    log = typing_log(random.Random(3), 400)
    first = await engine.compact(b"", log[:300])
    second = await engine.compact(first.update, log[300:], first.splice_index)
    whole = await engine.compact(b"", log)
    assert second.update == whole.update
    assert len(second.update) < sum(map(len, log))
    merged = Spliced()
    for update in log:
        merged.add(parse(update))
    assert state_vector(second.update) == merged.state_vector
    assert await engine.project(second.update) == await engine.project(merged.full())
    loaded = Spliced.load(second.update, second.splice_index)
    assert loaded.full() == second.update


async def test_the_state_is_made_by_the_function_that_the_server_names(engine: Engine) -> None:
    made = await engine.compact(b"", typing_log(random.Random(4), 10))
    assert made.state == str(len(parse(made.update).sections)).encode()


async def test_a_tail_that_does_not_follow_is_refused_and_nothing_comes_back(engine: Engine) -> None:
    log = typing_log(random.Random(5), 20)
    with pytest.raises(EngineFailed) as failed:
        await engine.compact(b"", log[10:])
    assert failed.value.verdict is Verdict.REFUSED


def test_a_trim_that_loses_a_clock_or_a_deletion_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    log = typing_log(random.Random(6), 60)
    shorter = Spliced()
    for update in log[:-1]:
        shorter.add(parse(update))
    monkeypatch.setattr(compaction, "trim", lambda update: shorter.full())
    with pytest.raises(Unequal, match="state vector"):
        compact(b"", b"", log, None)

    def forgets_deletes(update: bytes) -> bytes:
        parsed = parse(update)
        kept = Parsed(update, parsed.sections, [])
        whole = Spliced()
        whole.add(kept)
        return whole.full()

    monkeypatch.setattr(compaction, "trim", forgets_deletes)
    with pytest.raises(Unequal, match="deletion"):
        compact(b"", b"", log, None)


async def test_a_reply_in_parts_reads_as_in_one_piece() -> None:
    whole = bytes(range(256)) * 40
    for size in (1, 7, 1000, 4096, 20_000):
        reply = Parts(whole[at : at + size] for at in range(0, len(whole), size))
        assert reply.take(5) + reply.take(0) + reply.take(995) == whole[:1000]
        assert await reply.take_long(6000) == whole[1000:7000]
        assert b"".join(reply.rest()) == whole[7000:]
        assert not reply
        with pytest.raises(IndexError):
            reply.take(1)


@pytest.mark.parametrize(
    "said", [b"", b"short", bytes([0, 0, 0, 9] * 4)], ids=["nothing", "too little", "wrong lengths"]
)
async def test_a_reply_that_is_no_snapshot_fails_as_an_engine_does(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(*_: object, **__: object) -> list[bytes]:
        return [said]

    monkeypatch.setattr(Lane, "run", run)
    with pytest.raises(EngineFailed) as failed:
        await Engine().compact(b"", [])
    assert failed.value.verdict is Verdict.CRASHED


async def test_what_was_read_is_let_go_of_a_little_at_a_time() -> None:
    class Piece:
        gone = 0

        def __del__(self) -> None:
            Piece.gone += 1

    pieces = tuple(Piece() for _ in range(40))
    let_go_of(pieces, 10 * LITTLE_BYTES)
    del pieces
    seen = []
    while Piece.gone < 40:
        await asyncio.sleep(0)
        seen.append(Piece.gone)
    assert seen == list(range(seen[0], 41, 4))
    assert seen[0] <= 4

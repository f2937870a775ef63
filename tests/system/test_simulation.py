"""Thousands of small disasters: every schedule ends with one document, and with nothing confirmed that is not logged.

A schedule is drawn from its seed alone (``kit.simulation``). A failure names its seed: ``pytest --seed N``, or
CLEW_SEED=N, plays that one again, here and in this process.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from kit.simulation import ROOTS, Outcome, play, play_seed
from kit.virtual_time import virtual_loop
from kit.yjs_oracle import YjsOracle

SCHEDULES = 1_000
PORTION = 250
SOAKED = 50_000
SHOWN_TO_YJS = 25
"""Every so many schedules' logs are shown to yjs."""


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int | None:
    asked: str | None = request.config.getoption("--seed") or os.environ.get("CLEW_SEED")
    return None if asked is None else int(asked)


def play_all(pool: ProcessPoolExecutor, seeds: Sequence[int]) -> list[Outcome]:
    """Play these schedules; fail with what the first broken one says."""
    outcomes = []
    for seed, outcome in zip(seeds, pool.map(play_seed, seeds, chunksize=10), strict=True):
        if isinstance(outcome, str):
            pytest.fail(f"seed {seed}\n{outcome}", pytrace=False)
        outcomes.append(outcome)
    return outcomes


def compare_in_yjs(yjs: YjsOracle, outcomes: Sequence[Outcome]) -> None:
    """I3 in the other engine: the log one by one, and snapshot with tail, are the same document.

    Its tidying of formats is off: which of two equal ones it deletes depends on how updates were batched.
    """
    logs = [updates for outcome in outcomes for updates in (outcome.journal, outcome.stored)]
    loaded = yjs.load_each(logs, ROOTS, cleanup=False)
    for outcome, journal, stored in zip(outcomes, loaded[::2], loaded[1::2], strict=True):
        where = f"seed {outcome.seed}"
        assert not journal.pending and not stored.pending, where
        assert journal.state_vector == stored.state_vector, where
        assert journal.json == stored.json, where
        assert journal.deletes == stored.deletes, where
        for root in ("m", "a"):
            assert plain(journal.json[root]) == outcome.view[root], f"{where}: yjs and pycrdt part in {root}"


def plain(value: Any) -> Any:
    """What ``view.mjs`` shows of a type, as pycrdt's ``to_py`` does."""
    match value:
        case {"map": dict(entries)}:
            return {key: plain(one) for key, one in entries.items()}
        case {"array": list(items)}:
            return [plain(one) for one in items]
        case {"text": list(pieces)}:
            return "".join(piece["insert"] for piece in pieces)
    return value


def test_a_seed_that_is_asked_for_plays_again(seed: int | None) -> None:
    if seed is None:
        pytest.skip("no --seed was given")
    with virtual_loop() as loop:
        play(loop, seed)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, SCHEDULES, PORTION))
def test_every_schedule_converges_and_keeps_the_invariants(
    pool: ProcessPoolExecutor, seed: int | None, first: int
) -> None:
    if seed is not None:
        pytest.skip("one seed was asked for")
    happened: Counter[str] = Counter()
    for outcome in play_all(pool, range(first, first + PORTION)):
        happened.update(outcome.happened)
    rare = {"crash", "commit fails", "compaction", "composed", "revoked", "role changes", "cut", "reload", "forgery"}
    assert rare <= happened.keys(), "the schedules have grown tame"


@pytest.mark.node
def test_yjs_reads_what_the_schedules_logged_as_pycrdt_does(
    pool: ProcessPoolExecutor, seed: int | None, yjs: YjsOracle
) -> None:
    if seed is not None:
        pytest.skip("one seed was asked for")
    compare_in_yjs(yjs, play_all(pool, range(0, SCHEDULES, SHOWN_TO_YJS)))


@pytest.mark.soak
@pytest.mark.node
@pytest.mark.parametrize("first", range(SCHEDULES, SCHEDULES + SOAKED, 10 * PORTION))
def test_tens_of_thousands_of_schedules(pool: ProcessPoolExecutor, yjs: YjsOracle, first: int) -> None:
    outcomes = play_all(pool, range(first, first + 10 * PORTION))
    compare_in_yjs(yjs, outcomes[::SHOWN_TO_YJS])


def test_the_same_seed_plays_the_same_schedule() -> None:
    for seed in range(8):
        with virtual_loop() as loop:
            one = play(loop, seed)
        with virtual_loop() as loop:
            other = play(loop, seed)
        assert one == other

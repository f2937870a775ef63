"""A model in a file, run by its own engine on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from kit.briefs import Murmur, brief, thoughts_of, working_set

from agent.mind import FellBack, Filed, Proposal, Said
from agent.models import Limits, open_mind
from agent.models.exchange import Asked, Exchange
from agent.models.local import LocalModel
from agent.models.mind import ModelMind
from agent.models.turn import Turn, asking, parameters

MODEL = Path(__file__).resolve().parents[2] / ".stamps" / "smollm2.gguf"
FILED = Filed((Proposal("constraint", "No calls.", "m1", "No calls."),))
CLERK = (FILED, Said("The clerk's answer."))
LIMITS = Limits(first_token=100, between_tokens=60, answer_tokens=400)
BARE = working_set(constraints=[], decisions=[], questions=[], slots=[], documents=[])

pytestmark = pytest.mark.skipif(
    not MODEL.exists() and "CI" not in os.environ, reason=f"{MODEL.name} is not there: make .stamps/smollm2.gguf"
)


@pytest.fixture(scope="module")
async def local() -> AsyncIterator[LocalModel]:
    async with LocalModel(MODEL, LIMITS) as model:
        yield model


def asked(text: str) -> Asked:
    return Asked([asking([text])], parameters("Be brief."), 30)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def is_alive(pid: int | None) -> bool:
    return Path(f"/proc/{pid}").exists()


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


async def test_its_words_come_as_they_are_made(local: LocalModel) -> None:
    engine = await local.engine()
    exchange = Exchange(engine.model, LIMITS, engine.settings)
    pieces = [text async for text in exchange.say(asked("Say hello."))]
    assert len(pieces) > 3
    assert "hello" in "".join(pieces).lower()
    assert exchange.response.usage.output_tokens >= len(pieces)
    assert local.pid is not None and resident_mb(local.pid) < 600


async def test_its_notes_are_in_the_form_asked_for_however_poor(local: LocalModel) -> None:
    about = brief("We go with Postgres for the ledger.", contents=BARE)
    notes = await Turn(await local.engine(), about, LIMITS, ()).notes([])
    assert all(entry.message == "M1" for entry in notes.entries)


async def test_stopping_ends_its_work_at_once(local: LocalModel) -> None:
    engine = await local.engine()
    pid = local.pid
    assert pid is not None
    with anyio.CancelScope() as scope:
        async with aclosing(Exchange(engine.model, LIMITS, engine.settings).say(asked("Count to 900."))) as said:
            async for _ in said:
                stopped = anyio.current_time()
                scope.cancel()
    assert scope.cancelled_caught
    assert anyio.current_time() - stopped < 2
    with anyio.fail_after(5):  # 400 words would take it longer
        used = 0.0
        while cpu_seconds(pid) - used > 0.05:
            used = cpu_seconds(pid)
            await anyio.sleep(0.5)
    assert local.pid == pid


async def test_a_crash_costs_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = Limits(first_token=100, between_tokens=60, answer_tokens=24, retries=0)
    async with LocalModel(MODEL, limits) as model:
        mind = ModelMind("local:test", model.engine, Murmur(CLERK), limits, ())
        thoughts, killed = [], None
        async for thought in mind.think(brief("Count to 900. No calls.", contents=BARE)):
            thoughts.append(thought)
            if isinstance(thought, Said) and killed is None:
                killed = model.pid
                assert killed is not None
                os.kill(killed, signal.SIGKILL)
        assert FellBack("The connection to the model broke off or did not come about.") in thoughts
        assert thoughts[0] == FILED
        assert thoughts[-1] == Said("\n\nThe clerk's answer.")
        # who is being killed hangs up before the system says that it has ended
        monkeypatch.setattr("agent.models.local._is_running", lambda process: True)
        again = await thoughts_of(mind, brief("No calls.", contents=BARE))
        assert sum(isinstance(thought, Said) for thought in again) > 3, again
        last = model.pid
    assert last not in (None, killed)
    assert not is_alive(last)


async def test_nothing_is_loaded_before_the_first_turn() -> None:
    before = children()
    async with open_mind(f"local:{MODEL}", Murmur(CLERK), environ={}) as mind:
        assert mind.name == "local:smollm2.gguf"
        assert children() == before

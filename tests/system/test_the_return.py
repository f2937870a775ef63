"""Somebody says things on the laptop, closes it, opens the phone, is offered the right task and told where it stands.

The same story for every mind: the clerk, a model in a file, and a model at either of the services' wires. Nothing is
played but what the services would answer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from kit.anthropic_wire import anthropic_wire
from kit.conversation import device, host_bearer
from kit.model_script import KEY, Answer, Form, Step, Wire
from kit.openai_wire import openai_wire
from kit.running_server import PATIENCE, ROOT, environment
from kit.served import Served, serve

FIRST = (
    "Let's revise the Acme contract. The liability cap must never go below 150 k€. We'll go with net 30."
    " We still need to find out which law governs."
)
SECOND = "Let's use net 45 instead of net 30. Next I'll send the redline to Dana."
FROM_THE_PHONE = "The notice period must be at least 90 days."
BACK = "did the redline for Dana go out, and is the liability wording in it?"
GGUF = ROOT / ".stamps" / "smollm2.gguf"
SLOW = 120.0
"""Seconds that a model on a busy machine may take for a turn."""


@dataclass
class Thinker:
    """Who thinks. ``answers`` are what the answer of each turn must hold, where that is known."""

    model: str | None
    answers: tuple[str, ...] = ("", "", "")
    settings: dict[str, str] = field(default_factory=dict)
    patience: float = SLOW


@asynccontextmanager
async def the_clerk() -> AsyncIterator[Thinker]:
    yield Thinker(None, ("The liability cap must never go below 150 k€", "net 45", "The notice period"))


@asynccontextmanager
async def a_model_in_a_file() -> AsyncIterator[Thinker]:
    if not GGUF.exists() and "CI" not in os.environ:
        pytest.skip("make .stamps/smollm2.gguf")
    yield Thinker(f"local:{GGUF}", patience=SLOW)


def _script() -> list[Step]:
    nothing = Form({"entries": [], "name": "", "narrative": ""})
    name = Form({"entries": [], "name": "Acme contract revision", "narrative": ""})
    return [
        *(Answer(("Noted: ", "the cap ", "stands.")), name),
        *(Answer(("Net 45 ", "it is.")), nothing),
        *(Answer(("Ninety ", "days.")), nothing),
    ]


@asynccontextmanager
async def _at(wire: Callable[[], AbstractAsyncContextManager[Wire]], model: str) -> AsyncIterator[Thinker]:
    async with wire() as playing:
        playing.steps[:] = _script()
        settings = {"CLEW_MODEL_URL": playing.url, "CLEW_MODEL_KEY": KEY}
        yield Thinker(model, ("Noted: the cap stands.", "Net 45 it is.", "Ninety days."), settings)
    assert playing.faults == []
    assert playing.steps == []


def openai() -> AbstractAsyncContextManager[Thinker]:
    return _at(openai_wire, "openai:gpt-4.1-mini")


def anthropic() -> AbstractAsyncContextManager[Thinker]:
    return _at(anthropic_wire, "anthropic:claude-haiku-5-5")


@pytest.fixture(params=[the_clerk, a_model_in_a_file, openai, anthropic], ids=["clerk", "local", "openai", "anthropic"])
async def thinker(request: pytest.FixtureRequest) -> AsyncIterator[Thinker]:
    made: AbstractAsyncContextManager[Thinker] = request.param()
    async with made as found:
        yield found


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Served]:
    """A server without the other minds' tasks, which would say the very same."""
    with serve(tmp_path / "served") as running:
        yield running


@contextmanager
def agent_of(served: Served, thinker: Thinker, log: Path) -> Iterator[None]:
    """``clew agent``, as its README has it."""
    settings = {**environment(), **thinker.settings, "CLEW_TOKEN": host_bearer(served)}
    command = [sys.executable, "-m", "agent", "--server", served.server.url]
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [*command, *(["--model", thinker.model] if thinker.model else [])], cwd=ROOT, env=settings, stderr=errors
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


async def offered(served: Served) -> str:
    """The task that a new session is offered; asked again while a busy machine has not read the tasks yet."""
    for _ in range(20):
        begun = await anyio.to_thread.run_sync(served.api.json, "POST", "/sessions", {"first_message": BACK})
        if begun["suggestion"] is not None:
            break
        await anyio.sleep(0.5)
    assert begun["candidates"][0]["task"]["id"] == begun["suggestion"]
    return str(begun["suggestion"])


@pytest.mark.timeout(400)
async def test_who_comes_back_on_the_phone_is_told_all_that_stands(
    alone: Served, thinker: Thinker, tmp_path: Path
) -> None:
    served = alone
    for name, goal in (("Kitchen renovation", "A new floor by May."), ("Hiring a designer", "Three talks, one offer.")):
        served.api.json("POST", "/tasks", {"name": name, "goal": goal})
    task = served.api.json("POST", "/tasks", {})["id"]
    with agent_of(served, thinker, tmp_path / "agent.log"):
        async with device(served, task) as laptop:
            for said, expected in zip((FIRST, SECOND), thinker.answers, strict=False):
                turn = await laptop.turn_of(await laptop.say(said), "done", within=thinker.patience)
                await laptop.until(lambda: turn["answer"] in [m["id"] for m in laptop.contents.messages])  # noqa: B023
                assert expected in laptop.words(turn["answer"]) != ""
            saying = served.api.json("POST", f"/tasks/{task}/messages", {"text": FROM_THE_PHONE})
            await laptop.until(lambda: saying["id"] in [message["id"] for message in laptop.contents.messages])
            turn = await laptop.turn_of(saying["id"], "done", within=thinker.patience)
            await laptop.until(lambda: "notice period" in str(laptop.contents.constraints))
            assert thinker.answers[2] in laptop.words(turn["answer"]) != ""
            assert [one["status"] for one in await laptop.turns()] == ["done"] * 3
    assert await offered(served) == task
    resumption = await anyio.to_thread.run_sync(served.api.json, "GET", f"/tasks/{task}/resume")
    told, _, since = resumption["text"].partition("Since you last looked")
    for standing in ("never go below 150 k€", "at least 90 days", "net 45", "which law governs", "redline to Dana"):
        assert standing in told
    assert "We'll go with net 30" not in told
    assert resumption["checked"] is True
    assert resumption["task"]["name"] != "Untitled task"
    assert (tmp_path / "agent.log").read_text() == ""

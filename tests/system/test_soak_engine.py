"""Workers that are killed at every step of every job: each attempt costs itself, and nobody else anything.

A job that dies once is done again and nobody notices. One that dies twice costs its request: a document that cannot be
read is set aside, goes on being edited, and is mended by ``clew repair`` without what was deadly in it; a compaction is
put off. The workers are real and are killed for real (``kit.engine_deaths``).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from kit import running_server
from kit.disk_faults import read_words, text_of, write_word
from kit.engine_deaths import IN_REPLY, Deaths, mortal
from kit.returning import GONE, until
from kit.running_server import environment
from kit.served import Served, serve
from kit.wire import ApiError
from pycrdt import Doc

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

STEPS = [*(tenth / 10 for tenth in range(11)), IN_REPLY]
"""At which share of a job's calls its worker dies: at once, … with its result in hand, in the middle of its reply."""
READS = {
    "project": "/tasks/{task}/working-set",
    "export": "/tasks/{task}/export?format=docx",
}
TAIL, PIECE = 1_300_000, 60_000
"""What makes a document be compacted, and in what portions it is written."""


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deaths]:
    with mortal(tmp_path_factory.mktemp("orders")) as orders:
        yield orders


@pytest.fixture(scope="module")
def served(deaths: Deaths, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("mortal")) as running:
        yield running


async def fetch(served: Served, path: str) -> int:
    """The status of a request."""
    try:
        await asyncio.to_thread(served.api.ask, "GET", path)
    except ApiError as error:
        return error.status
    return 200


def clew(served: Served, *arguments: str) -> str:
    """What a command says, whether or not something must be seen to; it may take minutes on a busy machine."""
    command = [*running_server.CLEW, *arguments, "--data", str(served.server.data)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment(), cwd=running_server.ROOT, check=False
    )
    assert done.stdout, done.stderr
    return done.stdout


def document(served: Served, task: str) -> dict[str, Any]:
    """What ``clew verify`` says of it."""
    said = json.loads(clew(served, "verify", "--json"))
    assert said["sound"]
    (found,) = (line for line in said["documents"] if line["document"] == task)
    return dict(found)


@pytest.mark.parametrize("job", READS)
async def test_a_reading_that_is_killed_once_is_done_again_whatever_the_step(
    served: Served, deaths: Deaths, job: str
) -> None:
    task = await asyncio.to_thread(served.new_task)
    for step in STEPS:
        mark = f"{job} killed at {step}."
        await write_word(served, task, mark)
        deaths.order(job, mark.encode(), step, 1)
        assert await fetch(served, READS[job].format(task=task)) == 200, mark
        assert deaths.died(job, mark.encode()) == 1, mark
        deaths.lift(job, mark.encode())
    assert document(served, task)["quarantined"] is None


@pytest.mark.parametrize("job", READS)
async def test_a_document_whose_reading_is_killed_twice_is_set_aside_alone_and_mended(
    served: Served, deaths: Deaths, job: str
) -> None:
    other, path = await asyncio.to_thread(served.new_task), READS[job]
    for step in (0.0, 0.5, IN_REPLY):
        mark = f"{job} always killed at {step}."
        task = await asyncio.to_thread(served.new_task)
        await write_word(served, task, "before ")
        await write_word(served, task, mark)
        deaths.order(job, mark.encode(), step, 1_000)
        assert await fetch(served, path.format(task=task)) == 503
        assert deaths.died(job, mark.encode()) == 2, "once, and once more"
        assert await fetch(served, path.format(task=other)) == 200
        assert document(served, task)["quarantined"]
        said = await asyncio.to_thread(clew, served, "doctor")
        assert f"repair --task {task}" in said and other not in said
        await write_word(served, task, " after")
        assert await read_words(served, task) == f"before {mark} after"
        mended = json.loads(await asyncio.to_thread(clew, served, "repair", "--task", task, "--json"))
        assert mended["repaired"] and "crashed" in mended["left_out"][0]
        assert await fetch(served, path.format(task=task)) == 200
        words = await read_words(served, task)
        assert mark not in words and "before " in words
        found = document(served, task)
        assert (found["generation"], found["set_aside"], found["quarantined"]) == (2, 1, None)
        assert task not in await asyncio.to_thread(clew, served, "doctor")


async def test_a_large_frame_whose_parsing_is_killed_is_never_lost(served: Served, deaths: Deaths) -> None:
    """Once: nobody notices. Twice: the socket is closed, and whoever comes back brings it again."""
    task = await asyncio.to_thread(served.new_task)
    doc, told = Doc[Any](), 0
    for times in (1, 2):
        for step in STEPS:
            mark = f"frame killed {times} times at {step}."
            deaths.order("parse", mark.encode(), step, times)
            text_of(doc).__iadd__(mark + "x" * 20_000)
            while not await confirmed(served, task, doc):
                told += 1
            assert deaths.died("parse", mark.encode()) == times
            deaths.lift("parse", mark.encode())
    assert len(STEPS) <= told <= 2 * len(STEPS), "closed each time that it died twice, and never else"
    assert await read_words(served, task) == str(text_of(doc))


async def confirmed(served: Served, task: str, doc: Doc[Any]) -> bool:
    """Come, bring what the server lacks, and have it confirmed, if the socket holds so long."""
    with suppress(*GONE):
        async with served.join(task, doc) as peer:
            await peer.barrier()
            return True
    await asyncio.sleep(0.1)
    return False


async def fill(served: Served, task: str, mark: str) -> str:
    """So much that the document wants to be compacted; the words."""
    doc = Doc[Any]()
    async with served.join(task, doc) as peer:
        for n in range(TAIL // PIECE):
            text_of(doc).__iadd__(f"{mark if not n else n}" + "x" * PIECE)
            await peer.push()
            await peer.barrier()
    return str(text_of(doc))


@pytest.mark.parametrize("times", [1, 2])
async def test_a_compaction_that_is_killed_loses_nothing_and_is_made_up_for(
    served: Served, deaths: Deaths, times: int
) -> None:
    """Splicing, trimming, reading back, the index, the reply: twelve documents, each killed at another step."""
    marks = {await asyncio.to_thread(served.new_task): f"compacted and killed {times} at {step}." for step in STEPS}
    for (_, mark), step in zip(marks.items(), STEPS, strict=True):
        deaths.order("compact", mark.encode(), step, times)
    words = {task: await fill(served, task, mark) for task, mark in marks.items()}
    await until(lambda: all(deaths.died("compact", mark.encode()) == times for mark in marks.values()), 300)
    if times > 1:
        for task in marks:
            assert await read_words(served, task) == words[task], "put off, and nothing else"
        await asyncio.sleep(31)
        for task in marks:
            await write_word(served, task, " after")
            words[task] += " after"
    await until(lambda: all(document(served, task)["snapshot"] for task in marks), 300)
    served.server.kill()
    served.server.start()
    for task in marks:
        assert await read_words(served, task) == words[task]

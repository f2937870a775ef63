"""What is kept of resumptions, what a narrative must pass, and what is said of a document that can't be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from kit.resuming import Bench, Device, bench_over
from pycrdt import Map, Text

from crdt_docs.working_set import WorkingSet
from server.domain.errors import Unavailable
from server.engine.failures import EngineFailed, Verdict

GOOD = "The liability cap of 200 k€ is agreed. Still open: which law governs?"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_over(tmp_path) as made:
        yield made


async def open_task(bench: Bench) -> Device:
    laptop = await (await bench.person("Ann", "laptop")).open()
    await laptop.do(lambda work: work.decide("The liability cap is 200 k€"))
    await laptop.do(lambda work: work.ask("Which law governs?"))
    return laptop


def narrate(text: str) -> Any:
    def write(work: WorkingSet) -> None:
        root: Map[Any] = work.doc.get("summary", type=Map)
        root["text"] = Text(text)

    return write


async def test_asking_again_takes_no_engine_and_a_change_takes_one_projection(bench: Bench) -> None:
    laptop = await open_task(bench)
    await laptop.leave()
    bench.engine.asked.clear()
    wei = await (await bench.person("Wei", "phone")).open()
    await wei.do(lambda work: work.decide("Irish law"))
    first = await bench.resume(laptop)
    assert bench.engine.asked == ["project", "changes", "changes"]
    bench.clock.advance(7200)
    again = await bench.resume(laptop)
    assert bench.engine.asked == ["project", "changes", "changes"]
    assert again.resumption.facts == first.resumption.facts and "(2 hours ago)" in again.resumption.text
    assert (await bench.resume(laptop, "zh")).resumption.text.startswith("您")
    assert (await bench.resume(wei)).resumption.facts.changes == []
    assert bench.engine.asked == ["project", "changes", "changes"]
    await wei.do(lambda work: work.ask("Who signs?"))
    assert [one["text"] for one in (await bench.resume(laptop)).resumption.facts.changes] == ["Irish law", "Who signs?"]
    assert bench.engine.asked == ["project", "changes", "changes"] * 2


async def test_what_is_kept_of_one_task_or_person_is_no_others(bench: Bench) -> None:
    laptop = await open_task(bench)
    assert (await bench.resumptions.of(bench.task, "Another name", "en")).resumption.text.startswith(
        "You were working on “Another name”."
    )
    sam = await bench.person("Sam", "phone")
    assert (await bench.resume(sam)).looked_at is None
    await laptop.leave()
    assert (await bench.resume(laptop)).looked_at is not None


async def test_a_narrative_is_shown_while_it_is_true_to_the_ledger(bench: Bench) -> None:
    laptop = await open_task(bench)
    assert (await bench.resume(laptop)).narrative is None
    await laptop.do(narrate(GOOD))
    assert (await bench.resume(laptop)).narrative == GOOD
    for false in (
        "The liability cap of 250 k€ is agreed. Still open: which law governs?",
        "The liability cap of 200 k€ is agreed. Irish law governs.",
        "The liability cap of 200 k€ is agreed.",
    ):
        await laptop.do(narrate(false))
        assert (await bench.resume(laptop)).narrative is None, false
    await laptop.do(narrate(GOOD))
    assert (await bench.resume(laptop)).narrative == GOOD
    await laptop.do(lambda work: work.add_constraint("Never sign on a Friday", severity="critical"))
    assert (await bench.resume(laptop)).narrative is None


async def test_a_document_that_is_set_aside_still_has_its_name_and_an_honest_sentence(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = await open_task(bench)

    async def crash(*_: object) -> dict[str, Any]:
        raise EngineFailed(Verdict.CRASHED)

    monkeypatch.setattr(bench.engine, "project", crash)
    for language, told in (
        ("en", "You were working on “Acme contract revision”. Continue? What stands in it, and what has changed,"),
        ("zh", "您之前在处理“Acme contract revision”。要继续吗？其中的内容和变更目前无法读取。"),
    ):
        for _ in range(2):
            answer = await bench.resume(laptop, "zh" if language == "zh" else "en")
            assert answer.resumption.text.startswith(told) and not answer.resumption.checked
            assert answer.covers_seq == (await bench.rooms.read(bench.name)).seq
    assert (await bench.rooms.read(bench.name)).quarantined is not None


async def test_an_engine_that_is_busy_is_no_reason_to_tell_less(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop = await open_task(bench)

    async def busy(*_: object) -> dict[str, Any]:
        raise EngineFailed(Verdict.BUSY)

    monkeypatch.setattr(bench.engine, "project", busy)
    with pytest.raises(Unavailable):
        await bench.resume(laptop)
    monkeypatch.undo()
    await laptop.leave()
    wei = await (await bench.person("Wei", "phone")).open()
    await wei.do(lambda work: work.decide("Irish law"))
    monkeypatch.setattr(bench.engine, "changes", busy)
    told = (await bench.resume(laptop)).resumption
    assert told.checked and "“Irish law”" in told.text and "last looked" not in told.text
    assert {one["by"] for one in told.facts.decisions} == {None}  # nobody is named on the word of the document
    monkeypatch.undo()
    told = (await bench.resume(laptop)).resumption
    assert {one["text"]: one["by"] for one in told.facts.decisions}["Irish law"] == "Wei"

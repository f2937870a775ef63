"""An agent in a real task: real server, real host, real workers; only what it thinks is written down beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from kit.agent_process import AgentProcess, running_agent
from kit.conversation import Device, device, host_bearer
from kit.served import Served
from kit.turn_host import turn_host
from pycrdt import Map, Text

from agent.filing import entry_id

EVERYTHING = """Hello.
decide We ship on Friday
demand Nobody knows before
unsure perhaps in May
fall the model was away
narrate So far, so good.
name Shipping"""


@pytest.fixture(scope="module")
def agent(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    log = tmp_path_factory.mktemp("agent") / "log"
    with running_agent(served.server.url, host_bearer(served), log) as running:
        running.wait_until_loaded()
        yield running


async def test_what_is_said_is_answered_filed_named_and_narrated(served: Served, agent: AgentProcess) -> None:
    task = served.api.json("POST", "/tasks", {})["id"]
    async with device(served, task) as laptop:
        said = await laptop.say(EVERYTHING)
        turn = await laptop.turn_of(said, "done")
        contents = laptop.contents
        answer = next(item for item in contents.messages if item["id"] == turn["answer"])
        assert answer["text"] == "Heard: Hello..\n"
        assert (answer["role"], answer["author"], answer["turn"]) == ("agent", "Helper", turn["id"])
        decision = entry_id("decision", said, "We ship on Friday")
        assert {"filed": "decision", "id": decision, "source": said} in answer["refs"]
        assert {"unfiled": "perhaps in May", "source": said} in answer["refs"]
        assert {"fell_back": "the model was away"} in answer["refs"]
        assert [(item["id"], item["text"], item["by"]) for item in contents.decisions] == [
            (decision, "We ship on Friday", "owner")
        ]
        assert [item["text"] for item in contents.constraints] == ["Nobody knows before"]
        assert (contents.summary["text"], contents.summary["by"]) == ("So far, so good.", "scripted")
        await laptop.until(lambda: laptop.contents.meta["name"] == "Shipping")


async def test_others_see_what_it_is_at_and_it_shows_nothing_when_it_is_done(
    served: Served, agent: AgentProcess, tmp_path: Path
) -> None:
    async with device(served, served.new_task()) as laptop:
        said = await laptop.say(f"count 20 every 5\nhold {tmp_path / 'seen'}")
        turn = await laptop.turn_of(said, "running")
        await laptop.until(lambda: laptop.agents() == [{"state": "writing", "turn": turn["id"], "queued": 0}])
        (tmp_path / "seen").touch()
        await laptop.turn_of(said, "done")
        await laptop.until(lambda: laptop.agents() == [{}])
        assert laptop.words(turn["answer"]).split() == [str(number) for number in range(1, 21)]


async def test_a_message_during_a_turn_is_shown_waiting_folded_in_and_covered(
    served: Served, agent: AgentProcess, tmp_path: Path
) -> None:
    async with device(served, served.new_task()) as laptop:
        first = await laptop.say(f"count 30 every 5\nhold {tmp_path / 'waiting'}")
        turn = await laptop.turn_of(first, "running")
        await laptop.until(lambda: len(laptop.words(turn["answer"])) > 10)
        second = await laptop.say("And the second one")
        await laptop.until(lambda: any(shown.get("queued") == 1 for shown in laptop.agents()))
        (tmp_path / "waiting").touch()
        await laptop.turn_of(first, "done")
        assert laptop.words(turn["answer"]).endswith("30 \n\nHeard: And the second one.\n")
        assert [(one["id"], one["status"]) for one in await laptop.turns()] == [(turn["id"], "done")]
        assert second not in turn["messages"]
        third = await laptop.say("And the third")
        assert (await laptop.turn_of(third, "done"))["messages"] == [third]


async def test_after_stop_returned_not_a_character_is_added(
    served: Served, agent: AgentProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    async with device(served, served.new_task()) as laptop, device(served, laptop.task) as phone:
        for _ in range(3):
            said = await laptop.say("count 2000 every 5")
            turn = await laptop.turn_of(said, "running")
            await laptop.until(lambda: len(laptop.words(turn["answer"])) > 30)  # noqa: B023
            began = anyio.current_time()
            stopped = await phone.stop(turn["id"])
            took = anyio.current_time() - began
            assert stopped["status"] == "stopped"
            await laptop.client.barrier()
            text = laptop.words(turn["answer"])
            await laptop.until(lambda: laptop.agents() == [])
            gone = anyio.current_time() - began
            with capsys.disabled():
                print(f"\nstop returned after {1000 * took:.0f} ms, the agent had left after {1000 * gone:.0f} ms")
            assert took < 5  # what a loaded machine is given; a quiet one takes some 20 ms, and the count ten seconds
            await anyio.sleep(0.3)
            await laptop.client.barrier()
            await phone.client.barrier()
            assert laptop.words(turn["answer"]) == phone.words(turn["answer"]) == text
        said = await laptop.say("Still there?")
        await laptop.turn_of(said, "done")


async def test_a_worker_that_does_not_obey_is_killed(served: Served, agent: AgentProcess) -> None:
    async with device(served, served.new_task()) as laptop:
        said = await laptop.say("say Wait.\nblock 30")
        turn = await laptop.turn_of(said, "running")
        await laptop.until(lambda: laptop.agents() != [])
        began = anyio.current_time()
        await laptop.stop(turn["id"])
        await laptop.until(lambda: laptop.agents() == [])
        assert anyio.current_time() - began < 7  # of its own it would be found silent after ten seconds


async def test_two_people_on_three_devices_see_one_answer_and_the_same_order(
    served: Served, agent: AgentProcess, tmp_path: Path
) -> None:
    task = served.new_task()
    bo = served.new_user("bo")
    served.api.add_member(task, "bo", "editor")
    async with (
        device(served, task) as laptop,
        device(served, task) as phone,
        device(served, task, "bo", bo) as other,
    ):
        with running_agent(served.server.url, host_bearer(served, "bo"), tmp_path / "log"):
            await _talk(laptop, phone, other)


async def _talk(laptop: Device, phone: Device, other: Device) -> None:
    names = ("Heard: From Bo.", "Heard: From the phone.")
    running: list[int] = []

    async def watch() -> None:
        while True:
            running.append(sum(turn["status"] == "running" for turn in await laptop.turns()))
            await anyio.sleep(0.05)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        first = await laptop.say("count 15 every 30")
        await laptop.turn_of(first, "running")
        await other.say("From Bo")
        await phone.say("From the phone")
        for device_ in (laptop, phone, other):
            await device_.until(lambda: all(name in _answers(device_) for name in names))  # noqa: B023
        await laptop.settle()
        tasks.cancel_scope.cancel()
    assert max(running) == 1
    order = [item["id"] for item in laptop.contents.messages]
    await phone.until(lambda: [item["id"] for item in phone.contents.messages] == order)
    await other.until(lambda: [item["id"] for item in other.contents.messages] == order)
    answers = _answers(laptop)
    assert [answers.count(name) for name in names] == [1, 1]
    assert answers.count("15 ") == 1


def _answers(device: Device) -> str:
    return "".join(item["text"] for item in device.contents.messages if item["role"] == "agent")


async def test_a_mind_that_fails_costs_its_own_turn_and_says_so(served: Served, agent: AgentProcess) -> None:
    async with device(served, served.new_task()) as laptop:
        said = await laptop.say("say Let me see.\ncount 6 every 60\nfail")
        turn = await laptop.turn_of(said, "failed")
        assert turn["attempt"] == 3
        assert "mistake" in turn["why"]
        assert laptop.words(turn["answer"]).split() == ["Let", "me", "see.", *"123456"]
        again = await laptop.say("Better now?")
        await laptop.turn_of(again, "done")


async def test_an_answer_that_somebody_takes_away_stays_away(served: Served, agent: AgentProcess) -> None:
    async with device(served, served.new_task()) as laptop:
        said = await laptop.say("count 100 every 20")
        turn = await laptop.turn_of(said, "running")
        await laptop.until(lambda: len(laptop.words(turn["answer"])) > 10)
        del laptop.client.doc.get("messages", type=Map)[turn["answer"]]
        await laptop.client.barrier()
        assert (await laptop.turn_of(said, "done"))["attempt"] == 1
        assert turn["answer"] not in laptop.client.doc.get("messages", type=Map)


async def test_what_a_message_says_of_its_author_is_not_believed(served: Served, agent: AgentProcess) -> None:
    async with device(served, served.new_task(), "somebody else") as laptop:
        said = await laptop.say("decide We sell the company")
        await laptop.turn_of(said, "done")
        await laptop.until(lambda: laptop.contents.decisions != [])
        assert [item["by"] for item in laptop.contents.decisions] == ["owner"]


async def test_a_message_that_is_deleted_before_it_is_answered_holds_nothing_up(
    served: Served, agent: AgentProcess
) -> None:
    async with device(served, served.new_task()) as laptop:
        first = await laptop.say("say Wait.\nblock 1")
        await laptop.turn_of(first, "running")
        gone = await laptop.say("Never mind")
        del laptop.client.doc.get("messages", type=Map)[gone]
        await laptop.client.barrier()
        began = anyio.current_time()
        turn = await laptop.turn_of(gone, "done")
        assert anyio.current_time() - began < 15  # held up, it would wait for the end of a lease
        assert "Never mind" not in laptop.words(turn["answer"])


async def test_an_answer_whose_place_is_taken_is_written_elsewhere_and_the_turn_says_where(
    served: Served, tmp_path: Path
) -> None:
    task, cy = served.new_task(), served.new_user("cy")
    served.api.add_member(task, "cy", "editor")
    bearer = host_bearer(served, "cy")
    async with device(served, task, "cy", cy) as laptop:
        said = await laptop.say("Who is there?")
        (turn,) = await laptop.turns()
        assert turn["answer"] is None
        async with turn_host(served.server.port, bearer) as host:
            place = (await host.lease(turn["id"]))["answer"]
            taken = Map({"author": "Helper", "role": "agent", "text": Text("Pay Bob."), "at": 1.0})
            laptop.client.doc.get("messages", type=Map)[place] = taken
            await laptop.client.barrier()
            assert (await host.ask("end", turn["id"], {"outcome": "released"})).status_code == 204
        with running_agent(served.server.url, bearer, tmp_path / "log"):
            done = await laptop.turn_of(said, "done")
        assert done["answer"] != place
        await laptop.until(lambda: laptop.words(done["answer"]).startswith("Heard: Who is there?."))
        assert laptop.words(place) == "Pay Bob."


async def test_a_long_backlog_is_answered_whole_and_in_order(served: Served, agent: AgentProcess) -> None:
    async with device(served, served.new_task()) as laptop:
        texts = [f"decide number {number} stands" for number in range(60)]
        with laptop.client.doc.transaction():
            said = [laptop.working_set.add_message(text) for text in texts]
        await laptop.client.barrier()
        await laptop.turn_of(said[-1], "done")
        turns = await laptop.turns()
        assert [message for turn in turns for message in turn["messages"]] == said
        assert {turn["status"] for turn in turns} == {"done"} and max(len(turn["messages"]) for turn in turns) == 25
        await laptop.until(lambda: len(laptop.contents.decisions) == len(texts))


async def test_people_write_into_the_answer_while_it_is_written_and_lose_nothing(
    served: Served, agent: AgentProcess
) -> None:
    async with device(served, served.new_task()) as laptop:
        said = await laptop.say("count 40 every 20")
        turn = await laptop.turn_of(said, "running")
        await laptop.until(lambda: len(laptop.words(turn["answer"])) > 20)
        laptop.working_set.edit_words("messages", turn["answer"], "text", 0, insert="(Ana: 😀 great) ")
        end = len(laptop.words(turn["answer"]))
        laptop.working_set.edit_words("messages", turn["answer"], "text", end, insert="(Ana: at the end)")
        await laptop.turn_of(said, "done")
        words = laptop.words(turn["answer"])
        assert words.startswith("(Ana: 😀 great) ") and "(Ana: at the end)" in words
        rest = words.replace("(Ana: 😀 great) ", "").replace("(Ana: at the end)", "")
        assert rest.split() == [str(number) for number in range(1, 41)]

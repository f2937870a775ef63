"""What changed since a person last looked: exactly that, by whom and on which device, whatever the document claims."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from kit.resuming import Bench, Device, bench_over

from crdt_docs import entries
from crdt_docs.ids import MessageId
from crdt_docs.richtext import Node, Span
from crdt_docs.updates.compose import Composer
from crdt_docs.working_set import WorkingSet, put_entry
from server.domain.turn import QUEUE_LIFE, Said
from server.rooms.attribution import Attribution

Change = Callable[[WorkingSet], object]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_over(tmp_path) as made:
        yield made


async def seen(bench: Bench, *planted: Change) -> tuple[Device, list[str]]:
    """Ann's phone, which put these into the task and was closed; and their ids."""
    phone = await (await bench.person("Ann", "phone")).open()
    made = [str(await phone.do(change)) for change in planted]
    await phone.leave()
    bench.clock.advance(600)
    return phone, made


def reword(root: str, key: str, old: str, new: str) -> Change:
    def change(work: WorkingSet) -> None:
        words = str(work._entry(root, key)["text"])
        work.edit_words(root, key, "text", words.index(old), len(old), new)

    return change


def type_into_document(work: WorkingSet) -> None:
    work.append("d1", [Node("paragraph", {}, [Span("Clause 4.")])])


async def test_who_comes_back_is_told_exactly_what_others_did_and_on_which_device(bench: Bench) -> None:
    phone, (kept, old, question) = await seen(
        bench,
        lambda work: work.add_constraint("Never below 150 k€", severity="critical"),
        lambda work: work.decide("Cap at 200 k€", topic="cap"),
        lambda work: work.ask("Which law governs?"),
    )
    laptop = await (await bench.person("Wei", "laptop")).open()
    tablet = await (await bench.person("Wei", "tablet")).open()
    clerk = await (await bench.agent("Clerk", laptop)).open()
    await laptop.do(lambda work: work.decide("Cap at 180 k€", topic="cap", supersedes=[old]))
    await tablet.do(lambda work: work.answer(question, "Swiss law"))
    await tablet.do(lambda work: work.retire(kept))
    bench.clock.advance(60)
    await clerk.do(lambda work: work.ask("Who signs?"))
    for _ in range(2):  # reading a resumption is no look
        assert await bench.changes(phone) == [
            ("retired", "constraint", "Never below 150 k€", "Wei", "tablet", None),
            ("superseded", "decision", "Cap at 200 k€", "Wei", "laptop", None),
            ("added", "decision", "Cap at 180 k€", "Wei", "laptop", None),
            ("answered", "question", "Which law governs?", "Wei", "tablet", None),
            ("added", "question", "Who signs?", "Wei", None, "Clerk"),
        ]
    told = (await bench.resume(phone)).resumption
    assert told.checked and told.text.endswith(
        " Since you last looked (11 minutes ago): “Wei” on “tablet” answered the question “Which law governs?” and"
        " retired the constraint “Never below 150 k€” (critical) (1 minute ago); “Wei” on “laptop” added the decision"
        " “Cap at 180 k€” and replaced the decision “Cap at 200 k€” (1 minute ago); the agent “Clerk” (for “Wei”) added"
        " the question “Who signs?” (just now)."
    )
    zh = (await bench.resume(phone, "zh")).resumption
    assert (
        zh.checked
        and "“Wei”在“tablet”上回答了问题“Which law governs?”，撤销了约束“Never below 150 k€”（关键）" in zh.text
    )
    assert (await bench.resume(phone)).looked_at == bench.clock.now() - 660


async def test_a_document_that_somebody_took_away_is_told_by_its_title(bench: Bench) -> None:
    phone, (draft,) = await seen(bench, lambda work: work.add_document("Cover letter", "Dear all,"))
    laptop = await (await bench.person("Wei", "laptop")).open()
    await laptop.do(lambda work: work.retire_document(draft))
    assert await bench.changes(phone) == [("removed", "document", "Cover letter", "Wei", "laptop", None)]
    told = (await bench.resume(phone)).resumption
    assert told.text.endswith(": “Wei” on “laptop” removed the document “Cover letter” (just now).")
    assert "删除了文档“Cover letter”" in (await bench.resume(phone, "zh")).resumption.text


async def test_compaction_and_a_restart_and_anothers_edit_lose_nothing_of_it(tmp_path: Path) -> None:
    async with bench_over(tmp_path) as bench:
        phone, (old,) = await seen(bench, lambda work: work.decide("Net 30"))
        laptop = await (await bench.person("Wei", "laptop")).open()
        await laptop.do(lambda work: work.decide("Net 45", supersedes=[old]))
        await laptop.do(type_into_document)
        told = await bench.changes(phone)
        assert [one[:3] for one in told] == [
            ("superseded", "decision", "Net 30"), ("added", "decision", "Net 45"), ("edited", "document", "Draft"),
        ]  # fmt: skip
        await bench.rooms.compact(bench.name)
        bench.forget()
        assert await bench.changes(phone) == told
        task, clock = bench.task, bench.clock
    async with bench_over(tmp_path, task, clock) as bench:
        assert await bench.changes(phone) == told
        clock.advance(60)
        tablet = await (await bench.person("Sam", "tablet", client=77)).open()
        await tablet.do(lambda work: work.ask("Who pays?"))
        await bench.rooms.compact(bench.name)
        assert await bench.changes(phone) == [*told, ("added", "question", "Who pays?", "Sam", "tablet", None)]


async def test_what_one_does_and_sees_live_is_no_change_and_anothers_look_is_apart(bench: Bench) -> None:
    phone, _ = await seen(bench, lambda work: work.ask("Who signs?"))
    laptop = await (await bench.person("Wei", "laptop")).open()
    await laptop.do(lambda work: work.decide("Wei signs"))
    assert await bench.changes(laptop) == []
    await phone.open()
    await phone.do(lambda work: work.decide("Ann signs"))
    assert [one[2] for one in await bench.changes(phone)] == ["Wei signs"]
    await phone.leave()
    assert await bench.changes(phone) == []
    assert (await bench.resume(phone)).resumption.text.endswith("Nothing has changed since you last looked (just now).")
    await laptop.do(lambda work: work.decide("Sam signs"))
    await laptop.leave()
    assert [one[2] for one in await bench.changes(phone)] == ["Sam signs"]
    assert await bench.changes(laptop) == []


async def test_what_was_sent_to_a_laptop_with_its_lid_shut_was_not_seen(bench: Bench) -> None:
    laptop = await (await bench.person("Ann", "laptop")).open()
    clerk = await (await bench.agent("Clerk", laptop)).open()
    await clerk.do(lambda work: work.decide("shown"))
    await laptop.speak()
    await clerk.do(lambda work: work.decide("sent to the dark"))
    await laptop.leave(abruptly=True)
    phone = await bench.person("Ann", "phone")
    assert await bench.changes(phone) == [("added", "decision", "sent to the dark", "Ann", None, "Clerk")]


async def test_of_two_devices_at_once_what_one_shows_the_other_need_not_tell(bench: Bench) -> None:
    laptop = await (await bench.person("Ann", "laptop")).open()
    await laptop.do(lambda work: work.ask("Who signs?"))
    sam = await (await bench.person("Sam", "laptop")).open()
    await sam.do(lambda work: work.decide("Sam signs"))
    await laptop.speak()
    phone = await bench.person("Ann", "phone")
    assert await bench.changes(phone) == []
    await phone.open()
    assert await bench.changes(phone) == []
    await sam.do(lambda work: work.decide("Sam pays"))
    assert [one[2] for one in await bench.changes(phone)] == ["Sam pays"]  # the laptop said nothing since
    await phone.leave()
    await laptop.leave(abruptly=True)
    assert await bench.changes(phone) == []


async def test_an_agent_sees_nothing_for_its_user(bench: Bench) -> None:
    phone, _ = await seen(bench, lambda work: work.ask("Who signs?"))
    wei = await (await bench.person("Wei", "laptop")).open()
    await wei.do(lambda work: work.decide("Wei signs"))
    clerk = await (await bench.agent("Clerk", phone)).open()
    await clerk.leave()
    assert [one[2] for one in await bench.changes(phone)] == ["Wei signs"]
    told = await bench.resume(clerk)
    assert told.looked_at is None and told.resumption.facts.changes == []


async def test_a_script_of_ones_own_sees_nothing_for_one_and_has_a_look_of_its_own(bench: Bench) -> None:
    phone, _ = await seen(bench, lambda work: work.ask("Who signs?"))
    wei = await (await bench.person("Wei", "laptop")).open()
    script, other = await bench.script(phone), await bench.script(phone)
    assert (await bench.resume(script)).looked_at is None
    await wei.do(lambda work: work.decide("Wei signs"))
    await script.open()
    await script.do(lambda work: work.decide("Pay by card"))
    await bench.looking.spoke(script.who, bench.task)
    await script.leave()
    missed = [
        ("added", "decision", "Pay by card", "Ann", None, None),
        ("added", "decision", "Wei signs", "Wei", "laptop", None),
    ]
    assert sorted(await bench.changes(phone)) == missed
    assert await bench.changes(script) == []
    await wei.do(lambda work: work.decide("Wei pays"))
    assert {one[2] for one in await bench.changes(script)} == {"Wei pays"}
    assert (await bench.resume(other)).looked_at is None
    await other.open()
    await other.do(lambda work: work.decide("Pay by cheque"))
    assert {one[2] for one in await bench.changes(script)} == {"Wei pays", "Pay by cheque"}
    assert {one[2] for one in await bench.changes(phone)} == {"Wei signs", "Pay by card", "Wei pays", "Pay by cheque"}
    assert await bench.nouns.looks.get(phone.who.user, bench.task, script.who.token) is not None
    await phone.open()
    await phone.leave()
    assert await bench.changes(phone) == []
    assert {one[2] for one in await bench.changes(script)} == {"Wei pays", "Pay by cheque"}


async def test_who_never_looked_is_told_of_no_changes(bench: Bench) -> None:
    await seen(bench, lambda work: work.ask("Who signs?"))
    told = await bench.resume(await bench.person("Sam", "phone"))
    assert told.looked_at is None and "you last looked" not in told.resumption.text


async def test_what_a_client_writes_about_itself_is_not_believed(bench: Bench) -> None:
    phone, _ = await seen(bench)
    laptop = await (await bench.person("Wei", "laptop")).open()
    forged = entries.decision("Pay twice", by=phone.who.user, at=0)
    await laptop.do(lambda work: put_entry(work._root("decisions"), "d", forged))
    [told] = (await bench.resume(phone)).resumption.facts.changes
    assert (told["by"], told["device"], told["you"], told["at"]) == ("Wei", "laptop", False, "2027-01-15T08:10:00.000Z")


async def test_deleted_words_are_an_edit_and_a_deleted_entry_is_told_without_words(bench: Bench) -> None:
    phone, (kept, decided, unasked) = await seen(
        bench,
        lambda work: work.add_constraint("Never pay late"),
        lambda work: work.decide("Irish law"),
        lambda work: work.ask("Who signs?"),
    )
    laptop = await (await bench.person("Wei", "laptop")).open()
    await laptop.do(reword("constraints", kept, "Never ", ""))
    clerk = await (await bench.agent("Clerk", laptop)).open()
    await clerk.do(lambda work: work._root("decisions").pop(decided))
    await clerk.do(lambda work: work._root("questions").pop(unasked))
    expected = [
        ("edited", "constraint", "pay late", "Wei", "laptop", None),
        ("removed", "decision", "", "Wei", None, "Clerk"),
        ("removed", "question", "", "Wei", None, "Clerk"),
    ]
    assert await bench.changes(phone) == expected
    assert (
        "the agent “Clerk” (for “Wei”) removed a decision and a question" in (await bench.resume(phone)).resumption.text
    )
    await bench.rooms.compact(bench.name)
    bench.forget()
    assert await bench.changes(phone) == expected


async def test_what_came_and_went_in_between_is_no_change(bench: Bench) -> None:
    phone, _ = await seen(bench)
    laptop = await (await bench.person("Wei", "laptop")).open()
    first = await laptop.do(lambda work: work.decide("Net 30"))
    await laptop.do(lambda work: work.decide("Net 45", supersedes=[first]))
    rule = await laptop.do(lambda work: work.add_constraint("No Fridays"))
    await laptop.do(lambda work: work.retire(rule))
    asked = await laptop.do(lambda work: work.ask("Why?"))
    await laptop.do(lambda work: work.drop(asked))
    await laptop.do(lambda work: work._root("decisions").pop(work.decide("never mind")))
    assert await bench.changes(phone) == [("added", "decision", "Net 45", "Wei", "laptop", None)]


async def test_whose_words_a_neighbour_carried_is_told_by_their_claim(bench: Bench) -> None:
    phone, _ = await seen(bench)
    ann = await (await bench.person("Sam", "laptop")).open()
    await ann.leave()
    await ann.do(lambda work: work.decide("Sam, while offline"))
    tab = await bench.person("Wei", "laptop")
    tab.doc.apply_update(ann.doc.get_update())
    await tab.open()
    assert [one[3:5] for one in await bench.changes(phone)] == [("Wei", "laptop")]  # nobody knows better yet
    await ann.open()
    await ann.do(lambda work: work.ask("Sam, online"))
    bench.forget()
    assert [one[2:4] for one in await bench.changes(phone)] == [("Sam, while offline", "Sam"), ("Sam, online", "Sam")]


async def test_two_devices_that_write_without_a_socket_are_told_apart(bench: Bench) -> None:
    phone, _ = await seen(bench)
    for device in ("laptop", "tablet"):

        def say(composer: Composer, words: str = device) -> None:
            entries.compose_entry(composer, "messages", words, entries.message(words, author="Wei", at=1))

        await bench.rooms.compose(bench.name, (await bench.person("Wei", device)).who, say)
    assert [one[:1] + one[3:5] for one in await bench.changes(phone)] == [
        ("added", "Wei", "laptop"), ("added", "Wei", "tablet"),
    ]  # fmt: skip
    assert "“Wei” on “tablet” wrote 1 message" in (await bench.resume(phone)).resumption.text
    await phone.open()
    await phone.leave()
    tablet = await (await bench.person("Wei", "tablet")).open()
    await tablet.do(lambda work: work._root("messages").pop("laptop"))
    assert "“Wei” on “tablet” removed a message (just now)" in (await bench.resume(phone)).resumption.text


async def test_every_root_of_the_ledger_is_told_of(bench: Bench) -> None:
    phone, (output, step) = await seen(
        bench,
        lambda work: work.add_output("Redline", "text"),
        lambda work: work._add("slots", entries.next_step("Send it", by="Ann", at=1), "n1"),
    )
    laptop = await (await bench.person("Wei", "laptop")).open()
    await laptop.do(lambda work: work._entry("outputs", output).__setitem__("state", "final"))
    await laptop.do(lambda work: work._entry("slots", step).__setitem__("state", "done"))
    await laptop.do(lambda work: work._add("calls", {"tool": "send_mail", "status": "proposed"}, "k1"))
    await laptop.do(lambda work: work._root("meta")["goal"].__iadd__("Sign by June"))
    await laptop.do(lambda work: work.add_message("Done."))
    await laptop.do(lambda work: work.add_document("Cover letter", "Dear all"))
    told = await bench.changes(phone)
    assert [one[:3] for one in told] == [
        ("edited", "output", "Redline"), ("added", "document", "Cover letter"), ("retired", "next_step", "Send it"),
        ("added", "call", "send_mail"), ("added", "message", "Done."), ("edited", "goal", "Sign by June"),
    ]  # fmt: skip


async def test_typing_into_a_document_is_noted_once_an_hour(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    phone, _ = await seen(bench)
    laptop = await (await bench.person("Wei", "laptop")).open()
    noted: list[object] = []
    admit = Attribution.admit

    def counting(*given: object) -> object:
        made = admit(*given)  # type: ignore[arg-type]
        noted.extend((*made.begun, *made.cut))
        return made

    monkeypatch.setattr(Attribution, "admit", counting)
    for hour in range(3):
        for _ in range(20):
            await laptop.do(type_into_document)
            await laptop.do(lambda work: work.body("documents", "d1").children.__delitem__(0))
        assert len(noted) == hour + 1
        bench.clock.advance(3600)
    await laptop.do(type_into_document)
    assert [one[:3] for one in await bench.changes(phone)] == [("edited", "document", "Draft")]


async def test_facts_name_who_made_an_entry_and_not_whom_it_names(bench: Bench) -> None:
    ann = await (await bench.person("Ann", "phone")).open()
    said = await ann.do(lambda work: work.add_message("Never sign on Fridays, please."))
    forger = await (await bench.person("Wei", "laptop")).open()
    forger.work.by = "Ann"
    await forger.do(lambda work: work.add_constraint("Pay Wei", source=said))
    await forger.do(lambda work: work.decide("Wei decides"))
    question = await ann.do(lambda work: work.ask("Who signs?"))
    await forger.do(lambda work: work.answer(question, "Wei"))
    await forger.do(lambda work: work.add_output("Redline", "text"))
    clerk = await (await bench.agent("Clerk", forger)).open()
    clerk.work.by = "Ann"
    await clerk.do(lambda work: work.add_constraint("never sign on fridays", source=said))
    await clerk.do(lambda work: work.add_constraint("Ann pays", source=said))
    for _ in range(2):
        facts = (await bench.resume(ann)).resumption.facts
        told = {
            one["text"]: (one["by"], one["device"], one["agent"])
            for kind in (facts.constraints, facts.decisions, facts.questions, facts.outputs)
            for item in kind
            for one in (item, *item.get("answers", ()))
        }
        assert told == {
            "Pay Wei": ("Wei", "laptop", None), "Wei decides": ("Wei", "laptop", None),
            "Who signs?": ("Ann", "phone", None), "Wei": ("Wei", "laptop", None), "Redline": ("Wei", "laptop", None),
            "never sign on fridays": ("Ann", None, "Clerk"), "Ann pays": ("Wei", None, "Clerk"),
        }  # fmt: skip
        await bench.rooms.compact(bench.name)
        bench.forget()


async def test_what_no_agent_answered_is_told_until_somebody_files_it(bench: Bench) -> None:
    ann = await (await bench.person("Ann", "phone")).open()
    first = await ann.do(lambda work: work.add_message("We settled on Irish law."))
    second = await ann.do(lambda work: work.add_message("And what of the fee?"))
    said = [Said(MessageId(str(one)), ann.who.user) for one in (first, second)]
    await bench.nouns.turns.file(bench.task, said, 1, bench.clock.now())
    assert (await bench.resume(ann)).resumption.facts.not_filed == []
    bench.clock.advance(2 * QUEUE_LIFE)
    await bench.nouns.turns.age(bench.clock.now())
    told = (await bench.resume(ann)).resumption
    assert told.checked and told.text.endswith("Not answered: “We settled on Irish law.” and “And what of the fee?”")
    await ann.do(lambda work: work.decide("We settled on Irish law"))
    told = (await bench.resume(ann)).resumption
    assert [(one["id"], one["text"], one["status"]) for one in told.facts.not_filed] == [
        (second, "And what of the fee?", "not_answered")
    ]


async def test_the_last_edit_is_a_persons_by_the_log_also_ones_own(bench: Bench) -> None:
    phone = await (await bench.person("Ann", "phone")).open()
    await phone.do(lambda work: work.ask("Who signs?"))
    first = (await bench.resume(phone)).last_edit
    assert first is not None and (first["kind"], first["text"]) == ("question", "Who signs?")
    bench.clock.advance(60)
    laptop = await (await bench.person("Ann", "laptop")).open()
    await laptop.do(type_into_document)
    clerk = await (await bench.agent("Clerk", phone)).open()
    bench.clock.advance(60)
    await clerk.do(lambda work: work.ask("Which law governs?"))
    last = (await bench.resume(phone)).last_edit
    assert last is not None
    assert {name: last[name] for name in ("kind", "text", "by", "device", "you")} == {
        "kind": "document", "text": "Draft", "by": "Ann", "device": "laptop", "you": True,
    }  # fmt: skip

"""The clerk as a mind: what it files, what it hands back, what it answers, and that it says it once."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from kit.clerk_briefs import brief, constraint, contents, decision, filed, question, said, step, unfiled

from agent.clerk import Clerk
from agent.clerk.clerk import consider
from agent.clerk.rules import read_patterns, read_table
from agent.mind import FellBack, Language, Message, Mind, Named

NET_30 = decision("d1", "Payment is due net 30", "payment terms")
LAW = decision("d2", "Governing law is Delaware", "governing law")
HOSTILE = 200_000


async def test_the_clerk_is_a_mind() -> None:
    mind: Mind = Clerk()
    given = brief("let's go with Postgres", needs_name=True)
    assert mind.name == "clerk"
    assert [thought async for thought in mind.think(given)] == consider(given)


def test_what_is_stated_is_filed_with_its_own_words() -> None:
    text = "Long call. We go with the Lisbon office, travel can't exceed 900, who books the flights? I'll email Inês."
    proposals = filed(consider(brief(text)))
    assert [(p.kind, p.severity) for p in proposals] == [
        ("decision", "normal"),
        ("constraint", "critical"),
        ("question", "normal"),
        ("next_step", "normal"),
    ]
    assert all(p.quote == p.text and p.quote in text and p.source == "m1" for p in proposals)


def test_a_choice_instead_of_another_takes_its_place_and_keeps_its_topic() -> None:
    holding = contents(decisions=[NET_30, LAW])
    (proposal,) = filed(consider(brief("We decided on net 45 instead of net 30.", holding=holding)))
    assert proposal.supersedes == ("d1",) and proposal.topic == "payment terms"


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("use net 45 instead of net 30", "d1"),
        ("switch the newsletter to biweekly", "d3"),
        ("Let's go with Postgres", None),
        ("We're closing the Leeds warehouse in March", None),
    ],
)
def test_only_a_decision_about_the_same_thing_is_replaced(text: str, old: str | None) -> None:
    holding = contents(decisions=[NET_30, LAW, decision("d3", "Newsletter goes out weekly", "newsletter")])
    (proposal,) = filed(consider(brief(text, holding=holding)))
    assert proposal.supersedes == ((old,) if old else ())


def test_of_two_decisions_that_fit_alike_none_is_replaced() -> None:
    alike = [decision("d1", "Pilot in Hamburg", "pilot"), decision("d2", "Pilot in Bremen", "pilot")]
    (proposal,) = filed(consider(brief("We move the pilot to Munich", holding=contents(decisions=alike))))
    assert proposal.supersedes == ()


def test_an_answer_finds_its_question() -> None:
    holding = contents(questions=[question("q1", "Who signs on Acme's side?"), question("q2", "Which hotel is near?")])
    (proposal,) = filed(consider(brief("Katrin Vogel signs for them", holding=holding)))
    assert (proposal.kind, proposal.answers) == ("answer", "q1")


def test_an_answer_that_fits_two_questions_is_handed_back() -> None:
    alike = [question("q1", "Does the venue have a projector?"), question("q2", "Has the venue got a projector?")]
    thoughts = consider(brief("the venue has a projector", holding=contents(questions=alike)))
    assert not filed(thoughts) and unfiled(thoughts) == ["the venue has a projector"]


@pytest.mark.parametrize(
    "text",
    [
        "I think we must cap it at 20 people",
        "does it include VAT?",
        "we should probably drop the index",
        "我觉得必须限20个人",
    ],
)
def test_what_may_be_a_statement_is_handed_back_and_said(text: str) -> None:
    thoughts = consider(brief(text))
    assert not filed(thoughts)
    (quote,) = unfiled(thoughts)
    assert quote in text and quote in said(thoughts)


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ("let's go with Postgres!", contents(decisions=[decision("d1", "Let’s go with postgres")])),
        ("max 12 pages", contents(constraints=[constraint("c1", "Max 12 pages")])),
        ("who signs for Acme?", contents(questions=[question("q1", "Who signs for Acme?")])),
        ("I'll call the plumber", contents(slots=[step("s1", "I'll call the plumber")])),
        ("面试官最多四个人", contents(constraints=[constraint("c1", "面试官最多四个人")])),
    ],
)
def test_what_the_ledger_holds_is_not_filed_twice_and_that_is_said(text: str, holding: object) -> None:
    thoughts = consider(replace(brief(text), contents=holding))  # type: ignore[arg-type]
    assert not filed(thoughts)
    assert "Already in the ledger" in said(thoughts)


def test_another_number_or_a_negation_is_another_statement() -> None:
    holding = contents(constraints=[constraint("c1", "Max 12 pages"), constraint("c2", "We can ship on Friday")])
    kinds = [p.text for p in filed(consider(brief("max 13 pages. we can't ship on Friday", holding=holding)))]
    assert kinds == ["max 13 pages", "we can't ship on Friday"]


def test_a_retired_constraint_may_be_stated_again() -> None:
    holding = contents(constraints=[constraint("c1", "Max 12 pages", status="retired")])
    assert len(filed(consider(brief("max 12 pages", holding=holding)))) == 1


def test_the_same_words_twice_in_a_turn_are_filed_once() -> None:
    assert len(filed(consider(brief("max 12 pages", "as I said: max 12 pages")))) == 1


def test_what_a_later_message_of_the_turn_replaces_is_handed_back() -> None:
    thoughts = consider(brief("We move the pilot to Munich", "no, we move the pilot to Bremen"))
    assert [p.text for p in filed(thoughts)] == ["we move the pilot to Bremen"]
    assert unfiled(thoughts) == ["We move the pilot to Munich"]


def test_a_question_asked_and_answered_in_one_turn_loses_nothing() -> None:
    thoughts = consider(brief("who signs the lease?", "Petra signs the lease"))
    assert [p.kind for p in filed(thoughts)] == ["question"]
    assert unfiled(thoughts) == ["Petra signs the lease"]


FULL = contents(
    decisions=[
        decision("d0", "Payment is due net 60", "payment terms", status="superseded"),
        decision("d1", "Payment is due net 45", "payment terms", supersedes=["d0"]),
        LAW,
    ],
    constraints=[constraint("c1", "Liability cap must be 2x", "critical"), constraint("c2", "Max 12 pages")],
    questions=[question("q1", "Who signs for Acme?"), question("q2", "Which bank?", status="answered", answers=[])],
    slots=[step("s1", "Send the redline to Dana")],
)
EVERYTHING = ["net 45", "Delaware", "Liability cap", "12 pages", "Who signs", "redline"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("what did we decide about payment?", ["net 45"]),
        ("did we decide on the governing law?", ["Delaware"]),
        ("what have we agreed on so far?", ["net 45", "Delaware"]),
        ("remind me what we decided on payment terms", ["net 45"]),
        ("what is still open?", ["Who signs"]),
        ("any open questions?", ["Who signs"]),
        ("what must hold?", ["Liability cap", "12 pages"]),
        ("show all critical constraints", ["Liability cap"]),
        ("what's next?", ["redline"]),
        ("where were we?", EVERYTHING),
        ("summary please", EVERYTHING),
        ("我们目前都定了哪些事？", ["net 45", "Delaware"]),
        ("还有什么没定？", ["Who signs"]),
        ("有哪些约束？", ["Liability cap", "12 pages"]),
        ("显示所有关键约束", ["Liability cap"]),
        ("下一步是什么？", ["redline"]),
        ("上次说到哪了", EVERYTHING),
        ("总结一下", EVERYTHING),
    ],
)
def test_a_query_is_answered_from_the_ledger_alone(asked: str, told: list[str]) -> None:
    thoughts = consider(brief(asked, holding=FULL))
    assert not filed(thoughts) and not unfiled(thoughts)
    assert {part for part in EVERYTHING if part in said(thoughts)} == set(told)


def test_what_was_decided_before_is_told_beside_what_stands() -> None:
    assert "(before that: Payment is due net 60)" in said(consider(brief("what did we decide?", holding=FULL)))


def test_what_nobody_decided_is_not_made_up() -> None:
    assert "“the logo”" in said(consider(brief("what did we decide about the logo?", holding=FULL)))
    assert "net 45" not in said(consider(brief("what did we decide about the logo?", holding=FULL)))


def test_who_said_what_is_quoted_from_the_conversation() -> None:
    before = [Message("a", "Ben", "user", "Dana wants net 60", 1), Message("b", "Ana", "user", "lunch?", 2)]
    assert said(consider(brief("who said net 60?", before=before))) == "- Ben: “Dana wants net 60”"
    assert "Nobody" in said(consider(brief("who said net 90?", before=before)))


@pytest.mark.parametrize(("language", "word"), [("en", "clerk"), ("zh", "文书")])
@pytest.mark.parametrize("text", ["thanks!", "谢谢", "lol"])
def test_small_talk_gets_one_honest_sentence_in_the_language_of_the_brief(
    text: str, language: Language, word: str
) -> None:
    answer = said(consider(brief(text, language=language)))
    assert word in answer and "\n" not in answer


def test_the_answer_says_what_was_filed_and_what_it_replaces() -> None:
    holding = contents(decisions=[NET_30])
    answer = said(consider(brief("use net 45 instead of net 30. max 12 pages", holding=holding)))
    assert "decision: “use net 45 instead of net 30”; replaces “Payment is due net 30”" in answer
    assert "constraint (important): “max 12 pages”" in answer


def test_a_name_is_proposed_only_where_one_is_needed() -> None:
    needed = consider(brief("I need to revise the Acme contract", needs_name=True))
    assert needed[0] == Named("Acme contract revision")
    assert not any(isinstance(t, Named) for t in consider(brief("I need to revise the Acme contract")))


def test_the_name_comes_from_the_first_thing_said() -> None:
    first = Message("a", "Ana", "user", "Kitchen renovation", 1)
    assert consider(brief("max 3 weeks", before=[first], needs_name=True))[0] == Named("Kitchen renovation")


TEXT = "We decided on net 45. Max 12 pages. Who pays? what did we decide?"


def whole() -> str:
    return said(consider(brief(TEXT, holding=FULL)))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_a_second_attempt_goes_on_where_the_first_stopped(share: float) -> None:
    begun = whole()[: int(len(whole()) * share)]
    assert begun + said(consider(brief(TEXT, holding=FULL, begun=begun))) == whole()


def test_what_the_first_attempt_filed_is_no_news_to_the_second() -> None:
    asked = brief("use net 45 instead of net 30. who pays? max 12 pages", holding=contents(decisions=[NET_30]))
    first = consider(asked)
    since: dict[str, Any] = {"source": "m1", "at": asked.now}
    after = contents(
        decisions=[
            {**NET_30, "status": "superseded"},
            decision("n1", "use net 45 instead of net 30", "payment terms", supersedes=["d1"], **since),
        ],
        constraints=[constraint("n2", "max 12 pages", **since)],
        questions=[question("n3", "who pays?", at=asked.now)],
    )
    assert consider(replace(asked, contents=after)) == first


def test_what_was_begun_otherwise_is_corrected_and_nothing_said_twice() -> None:
    begun = "Decided:\n- Payment is due net 30\n"
    rest = said(consider(brief("what did we decide?", holding=FULL, begun=begun)))
    assert rest.startswith("\n\nCorrection")
    assert "net 45" in rest and rest.count("Decided:") == 0


def test_an_agents_own_messages_state_nothing() -> None:
    spoken = Message("m1", "clerk", "agent", "We decided on net 45", 1)
    assert not filed(consider(replace(brief(), asked=(spoken,))))


ALPHABETS = [
    "abc ,.;:!?\"'`>\n\t-()",
    "我们必须不能就定了谁吗？，。“”\n ",
    "".join(map(chr, range(0x20, 0x250))) + "\u200d\ufeff\u2028\U0001f600İıſ\ud800",
]
WORDS = [
    "we must ",
    "let's ",
    "who ",
    "if ",
    "“",
    "```",
    "> ",
    "必须",
    "就用",
    "还没定",
    "1. ",
    "Dana: ",
    "\n",
    "? ",
    ", ",
]


@pytest.mark.parametrize("seed", range(120))
def test_no_text_is_too_strange(seed: int) -> None:
    dice = random.Random(seed)
    pool = list(ALPHABETS[seed % len(ALPHABETS)]) + WORDS
    text = "".join(dice.choice(pool) for _ in range(dice.randrange(1, 300)))
    thoughts = consider(brief(text, holding=FULL, needs_name=True, language="zh" if seed % 2 else "en"))
    assert said(thoughts)
    for quote in [p.quote for p in filed(thoughts)] + unfiled(thoughts):
        assert quote and quote in text
    assert thoughts == consider(brief(text, holding=FULL, needs_name=True, language="zh" if seed % 2 else "en"))


@pytest.mark.parametrize(
    "piece",
    [
        " ", "a", "'a ", '"', "```", "(", "> a\n", "we must ", "must, ", "a: ", "we must ship\n", "1. ", "if ", "谁",
        "我们必须，", "的话", "明天我去", "Dana: must go\n", "tomorrow, ", "Ann and Bob ", "\t", "😂 ", "说", "不",
    ],
)  # fmt: skip
def test_hostile_text_takes_no_time_that_grows_with_its_square(piece: str) -> None:
    read_table("english")
    read_table("chinese")
    read_patterns("queries")
    given = brief((piece * HOSTILE)[:HOSTILE], holding=FULL, needs_name=True)
    begun = time.process_time()
    consider(given)
    assert time.process_time() - begun < 20  # some 0.5 on a quiet machine; minutes where anything backtracks


def test_a_long_message_is_read_at_its_beginning_and_that_is_said() -> None:
    thoughts = consider(brief("Max 12 pages. " + "word " * 10_000))
    assert len(filed(thoughts)) == 1
    assert "I read its first 20000 characters" in said(thoughts)


def test_a_big_ledger_costs_little() -> None:
    holding = contents(
        questions=[question(f"q{n}", f"Who pays for item {n} and when?") for n in range(2_000)],
        decisions=[decision(f"d{n}", f"Item {n} is blue", f"item {n}") for n in range(2_000)],
    )
    given = brief("The landlord pays for item 7. We decided on net 45. " * 50, holding=holding)
    begun = time.process_time()
    consider(given)
    assert time.process_time() - begun < 2


def test_the_clerk_never_falls_back() -> None:
    thoughts = consider(brief("let's go with Postgres", "谢谢", "???"))
    assert not any(isinstance(thought, FellBack) for thought in thoughts)


def test_that_there_is_nothing_to_file_is_said_once_in_an_answer() -> None:
    nothing = said(consider(brief("Wonderful!")))
    so_far = Message("a", "Clew", "agent", nothing, 0)
    assert nothing and said(consider(replace(brief("Thanks.", before=[so_far]), follows=True))) == ""
    assert said(consider(brief("Thanks.", before=[so_far]))) == nothing
    assert "net 30" in said(consider(replace(brief("We decided on net 30.", before=[so_far]), follows=True)))

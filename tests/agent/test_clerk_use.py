"""The clerk in use: choices that take each other's place, limits that are changed, and what only looks stated."""

from __future__ import annotations

import pytest
from kit.clerk_briefs import brief, constraint, contents, decision, filed, question, said, unfiled

from agent.clerk.clerk import consider

SHOP = decision("d1", "Let's go with Shopify instead of building our own shop", "shop")
DAY = decision("d2", "We launch on 8 December", "launch")
PAY = decision("d3", "We're going with Stripe for payments", "payments")
PLACE = decision("d4", "我们决定在杭州办", None)
TIME = decision("d5", "时间定在12月18日", "时间")


@pytest.mark.parametrize(
    ("text", "decisions", "old"),
    [
        ("Let's use WooCommerce instead", [SHOP, DAY], "d1"),
        ("Shopify's fees are crazy. Let's use WooCommerce instead.", [SHOP, DAY, PAY], "d1"),
        ("Stripe wants a new account. Let's use Adyen instead.", [SHOP, DAY, PAY], "d3"),
        ("改到苏州吧", [PLACE, TIME], "d4"),
        ("杭州的酒店都满了，改到苏州吧", [PLACE, TIME], "d4"),
        ("改到12月20日吧", [PLACE, TIME], "d5"),
    ],
)
def test_a_choice_that_names_no_topic_replaces_the_one_decision_it_can_mean(
    text: str, decisions: list[dict[str, object]], old: str
) -> None:
    (proposal,) = filed(consider(brief(text, holding=contents(decisions=decisions))))
    assert proposal.supersedes == (old,)
    assert proposal.topic == next(item["topic"] for item in decisions if item["id"] == old)


@pytest.mark.parametrize(
    ("text", "decisions"),
    [
        ("Let's use WooCommerce instead", [SHOP, PAY]),
        ("改到苏州吧", [PLACE, decision("d6", "晚宴在西湖边举行", "晚宴")]),
    ],
)
def test_where_more_than_one_can_be_meant_it_is_handed_back(text: str, decisions: list[dict[str, object]]) -> None:
    thoughts = consider(brief(text, holding=contents(decisions=decisions)))
    assert not filed(thoughts) and unfiled(thoughts) == [text.rstrip("。")]


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("Let's use WooCommerce instead", "Let's not do the newsletter"),
        ("改成12页吧", "我们就订两间吧"),
        ("改到苏州吧", "时间定在12月18日"),
    ],
)
def test_a_choice_of_another_sort_replaces_nothing(text: str, standing: str) -> None:
    (proposal,) = filed(consider(brief(text, holding=contents(decisions=[decision("d1", standing)]))))
    assert proposal.supersedes == ()


@pytest.mark.parametrize(
    ("text", "asked", "first", "second"),
    [
        (
            "Actually, let's go back to Shopify after all.",
            "What did we decide about the shop?",
            SHOP,
            decision("n1", "Let's use WooCommerce instead", "shop", supersedes=["d1"]),
        ),
        (
            "还是回到杭州办吧，酒店有空房了。",
            "地点是怎么定的？",
            PLACE,
            decision("n1", "改到苏州吧", None, supersedes=["d4"]),
        ),
    ],
)
def test_there_and_back_again(text: str, asked: str, first: dict[str, object], second: dict[str, object]) -> None:
    old = {**first, "status": "superseded"}
    told = said(consider(brief(asked, holding=contents(decisions=[old, second, PAY, TIME]))))
    assert f"- {second['text']} (" in told and f"- {first['text']}" not in told
    back = consider(brief(text, holding=contents(decisions=[old, second, PAY, TIME])))
    assert [proposal.supersedes for proposal in filed(back)] == [("n1",)]


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("Raise the budget to 15k.", "Budget is 12k"),
        ("The budget is now 15k", "Budget is 12k"),
        ("预算加到25万。", "预算不能超过20万"),
        ("改成12页吧", "报告不能超过10页"),
    ],
)
def test_a_changed_limit_is_handed_back_beside_the_constraint_that_stands(text: str, old: str) -> None:
    holding = contents(
        constraints=[constraint("c1", old)], questions=[question("q1", "What's our budget? 预算是多少？")]
    )
    thoughts = consider(brief(text, holding=holding))
    assert not filed(thoughts) and len(unfiled(thoughts)) == 1
    assert said(thoughts).count(unfiled(thoughts)[0]) == 1 and f"“{old}”" in said(thoughts)


@pytest.mark.parametrize(
    "text",
    [
        "Tom claims that we decided to use MySQL, which is false.",
        "It would be a mistake to say we decided to use MySQL.",
        "Once we decide to use MySQL we must pay.",
        "As soon as we agree on a bank, we must sign.",
        "Last year we decided to use MySQL, but that is history.",
        "Nobody decided to use MySQL.",
        "Filed:\n- decision: “We decided to use MySQL”; replaces “We decided to use Oracle”",
        "已记录：\n- 决定：“我们用腾讯会议直播”",
        "Decision: “We decided to use MySQL”",
        "<!-- We decided to use MySQL. -->",
        "<!--\nWe must never use MySQL.\n-->",
        "昨天小王说“我们决定去三亚”，我反对。",
        "Dana said the database will be MySQL. I disagree.",
        "等决定用中餐了，就必须另找厨师。",
    ],
)
def test_what_is_denied_supposed_quoted_or_over_is_neither_filed_nor_an_answer(text: str) -> None:
    asked = [question("q1", "Which database do we use, MySQL or Oracle?"), question("q2", "我们去哪里，三亚还是大理？")]
    thoughts = consider(brief(text, holding=contents(questions=asked)))
    assert not filed(thoughts)


HELD = contents(
    decisions=[decision("d1", "We're launching on 8 December"), decision("d2", "年会定在12月20日", "年会")],
    constraints=[constraint("c1", "Budget is 12k"), constraint("c2", "总预算不能超过20万")],
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("When do we launch?", "8 December"),
        ("What's our budget?", "12k"),
        ("总预算是多少？", "20万"),
        ("年会是哪天？", "12月20日"),
    ],
)
def test_a_question_that_the_ledger_settles_is_answered_and_not_opened(text: str, told: str) -> None:
    thoughts = consider(brief(text, holding=HELD))
    assert not filed(thoughts) and not unfiled(thoughts) and told in said(thoughts)


@pytest.mark.parametrize("text", ["When does the band arrive?", "What's our budget for the band?", "乐队几点到？"])
def test_a_question_about_something_else_is_opened(text: str) -> None:
    assert [p.kind for p in filed(consider(brief(text, holding=HELD)))] == ["question"]


def test_a_summary_of_where_things_stand_is_given() -> None:
    assert "8 December" in said(consider(brief("Summarize where we are.", holding=HELD)))


@pytest.mark.parametrize("text", ["We decided on net 45", "改到苏州吧", "We're launching on 8 December", "不请乐队了"])
def test_the_whole_sentence_or_only_a_value_is_no_topic(text: str) -> None:
    (proposal,) = filed(consider(brief(text)))
    assert proposal.topic is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Open question: which law governs?", "question"),
        ("Next step: send Jonas the list", "next_step"),
        ("下一步：把名单发给李娜", "next_step"),
    ],
)
def test_a_label_states_and_does_not_ask_the_ledger(text: str, kind: str) -> None:
    thoughts = consider(brief(text))
    assert [p.kind for p in filed(thoughts)] == [kind] and "No question" not in said(thoughts)


@pytest.mark.parametrize(
    "text", ["We must not ship " + "to some country and " * 30, "必须先通过审核" + "和另外那个部门的同意" * 50]
)
def test_a_clause_too_long_to_judge_is_handed_back(text: str) -> None:
    thoughts = consider(brief(text))
    assert not filed(thoughts) and [quote in text for quote in unfiled(thoughts)] == [True]


@pytest.mark.parametrize(
    ("text", "kind", "quote"),
    [
        ("Launch date: 1 December.", "decision", "Launch date: 1 December"),
        ("Budget: 12k", "constraint", "Budget: 12k"),
        ("预算：一万二", "constraint", "预算：一万二"),
        ("Scrap the 1 December date", "decision", "Scrap the 1 December date"),
        ("Actually Hamburg instead.", "decision", "Hamburg instead"),
    ],
)
def test_terse_statements_are_filed_with_what_they_are_about(text: str, kind: str, quote: str) -> None:
    assert [(p.kind, p.quote) for p in filed(consider(brief(text)))] == [(kind, quote)]


def test_a_corrected_answer_takes_the_place_of_the_one_before() -> None:
    given = [{"id": "a1", "text": "The deposit is 400", "at": 1, "supersedes": [], "source": None}]
    asked = [question("q1", "How much is the deposit?", status="answered", answers=given)]
    thoughts = consider(brief("Correction, the deposit is 500", holding=contents(questions=asked)))
    (proposal,) = filed(thoughts)
    assert (proposal.kind, proposal.answers, proposal.supersedes) == ("answer", "q1", ("a1",))
    assert "replaces “The deposit is 400”" in said(thoughts)


def test_without_a_word_of_correction_an_answered_question_stays_answered() -> None:
    given = [{"id": "a1", "text": "The deposit is 400", "at": 1, "supersedes": [], "source": None}]
    asked = [question("q1", "How much is the deposit?", status="answered", answers=given)]
    thoughts = consider(brief("the deposit is back on our account", holding=contents(questions=asked)))
    assert not any(p.kind == "answer" for p in filed(thoughts))

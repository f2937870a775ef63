"""Names that the clerk gives tasks, by the first thing said in them."""

from __future__ import annotations

import pytest

from agent.clerk.naming import LONGEST, name_from

CASES = [
    ("I need to revise the Acme contract, can you help?", {"Acme contract revision", "Acme contract"}),
    ("Hi! We're planning the team offsite in Lisbon for September.", {"Team offsite in Lisbon for September"}),
    ("Draft a job ad for a senior backend engineer", {"Job ad for a senior backend engineer"}),
    ("can you help me write the grant application? Deadline is May 3", {"Grant application"}),
    ("Let's organise Mia's 40th birthday party", {"Mia's 40th birthday party"}),
    ("I'm working on my thesis chapter about coral reefs", {"Thesis chapter about coral reefs"}),
    ("We need to migrate the billing database before June", {"Billing database migration"}),
    ("Kitchen renovation: water must be back on before the 20th", {"Kitchen renovation"}),
    ("translate the user manual into Polish please", {"User manual translation into Polish"}),
    ("hey, so I want to book a trip to Japan in April", {"Trip to Japan in April"}),
    ("need help with the Q3 budget", {"Q3 budget"}),
    ("help me prepare for the interview at Siemens on Monday", {"Interview at Siemens on Monday"}),
    ("The landlord wants to raise the rent. I have to answer by Friday.", {"Landlord wants to raise the rent"}),
    ("Set up CI for the mobile app", {"CI for the mobile app"}),
    ("compare the two quotes for the roof", {"Quotes comparison for the roof"}),
    ("We decided to launch the newsletter in June", {"Newsletter launch in June"}),
    ("I'd like to figure out which heat pump to buy", {"Which heat pump to buy"}),
    ("working on the Clew launch announcement", {"Clew launch announcement"}),
    ("new task: onboarding for Rohit", {"Onboarding for Rohit"}),
    ("ok so we have to renegotiate the lease with Hansen & Co", {"Lease renegotiation with Hansen & Co"}),
    ("Good morning all. The website redesign starts today!", {"Website redesign"}),
    ("How do I best plan a vegetable garden for a small balcony?", {"Vegetable garden for a small balcony"}),
    ("Hi, I'm trying to write a wedding speech for my brother Tom", {"Wedding speech for my brother Tom"}),
    ("> old mail\n> we must go\nPlan menu for Christmas dinner", {"Menu for Christmas dinner"}),
    ("我要修订一下和Acme的合同", {"Acme的合同修订", "Acme合同修订"}),
    ("帮我写一份高级后端工程师的招聘启事", {"高级后端工程师的招聘启事"}),
    ("我们准备九月去里斯本团建", {"九月去里斯本团建", "里斯本团建"}),
    ("大家好，我们要把官网迁移到新服务器", {"官网迁移到新服务器"}),
    ("把用户手册翻译成波兰语", {"用户手册翻译成波兰语"}),
    ("需要准备三季度预算", {"三季度预算"}),
    ("我在写关于珊瑚礁的毕业论文", {"关于珊瑚礁的毕业论文"}),
    ("下周一要去西门子面试，帮我准备一下", {"西门子面试"}),
    ("厨房装修：20号之前必须通水", {"厨房装修"}),
    ("请帮忙总结一下董事会纪要", {"董事会纪要总结"}),
    ("我们要跟房东重新谈租约", {"租约谈判", "跟房东重新谈租约"}),
    ("对比一下屋顶的两份报价", {"屋顶的两份报价对比"}),
    ("策划小美的40岁生日派对", {"小美的40岁生日派对"}),
    ("新任务：罗希特入职", {"罗希特入职"}),
    ("发布会的新闻稿得写了，周五前要", {"发布会的新闻稿"}),
    ("预算绝对不能超过五万，我们要组织莫干山的团建", {"莫干山的团建"}),
    ("预算绝对不能超过五万", {"预算"}),
    ("The budget must not exceed 50k. We're planning the offsite in Lisbon.", {"Offsite in Lisbon"}),
]


@pytest.mark.parametrize(("said", "names"), CASES, ids=[said for said, _ in CASES])
def test_a_first_message_gives_a_name_that_its_people_know(said: str, names: set[str]) -> None:
    assert name_from(said) in names


@pytest.mark.parametrize("said", ["Hello", "hi there!", "你好", "在吗", "```\nx = 1\n```", "", "?!", "“quoted”"])
def test_nothing_to_go_by_gives_no_name(said: str) -> None:
    assert name_from(said) is None


def test_a_long_name_ends_at_a_word() -> None:
    name = name_from("Write the comprehensive retrospective documentation concerning photovoltaic installations")
    assert name is not None and len(name) <= LONGEST and name == name.rstrip()
    assert "Comprehensive retrospective documentation".startswith(name)

"""Which task first messages are about, measured on what was written before the ranking was tuned, a third held out."""

from __future__ import annotations

import random
from functools import cache

import pytest
from kit.first_messages import First, Part, ask, continuations, prior, priors, something_new, tasks

from server.domain.candidates import LIMIT, Prior
from server.domain.everyday_words import COMMON_WORDS
from server.domain.likeness import terms

PARTS: tuple[Part, ...] = ("tuned", "held out")


@cache
def open_tasks() -> list[Prior]:
    return priors()


def part_of(messages: list[First], part: Part) -> list[First]:
    return [one for one in messages if one.part == part]


def test_there_is_enough_and_a_third_of_it_is_held_out() -> None:
    assert len(tasks()) >= 12 and len(continuations()) >= 40 and len(something_new()) >= 20
    for messages in (continuations(), something_new()):
        assert 0.3 < len(part_of(messages, "held out")) / len(messages) < 0.4


def test_no_message_has_a_word_of_its_tasks_name() -> None:
    names = {one["key"]: {term.value for term in terms(one["name"])} for one in tasks()}
    for one in continuations():
        assert not names[one.task or ""] & {term.value for term in terms(one.text)}, one.text


@pytest.mark.parametrize("part", PARTS)
def test_the_right_task_comes_first_for_nine_of_ten(part: Part) -> None:
    messages = part_of(continuations(), part)
    missed = [one.text for one in messages if ask(open_tasks(), one.text).candidates[0].task.id != one.task]
    assert len(missed) <= 0.1 * len(messages), missed


@pytest.mark.parametrize("part", PARTS)
def test_most_are_suggested_and_hardly_any_wrongly(part: Part) -> None:
    messages = part_of(continuations(), part)
    suggested = [(one, ask(open_tasks(), one.text).suggestion) for one in messages]
    assert sum(task == one.task for one, task in suggested) >= 0.6 * len(messages)
    wrong = [one.text for one, task in suggested if task not in (one.task, None)]
    assert len(wrong) <= 0.05 * len(messages), wrong


@pytest.mark.parametrize("part", PARTS)
def test_something_new_is_taken_for_something_new(part: Part) -> None:
    messages = part_of(something_new(), part)
    wrong = [one.text for one in messages if ask(open_tasks(), one.text).suggestion is not None]
    assert len(wrong) <= 0.05 * len(messages), wrong


@pytest.mark.parametrize("part", PARTS)
def test_something_new_about_the_very_subject_of_a_task_is_mostly_taken_for_new(part: Part) -> None:
    messages = part_of(something_new("same_subject"), part)
    wrong = [one.text for one in messages if ask(open_tasks(), one.text).suggestion is not None]
    assert len(wrong) <= 0.35 * len(messages), wrong


def test_with_one_open_task_nothing_else_is_taken_for_it() -> None:
    asked = wrong = 0
    for alone in open_tasks():
        for one in [*continuations(), *something_new()]:
            if one.task != alone.task.id:
                asked += 1
                wrong += ask([alone], one.text).suggestion is not None
    assert wrong <= 0.01 * asked


def test_with_one_open_task_it_is_known_again() -> None:
    alone = {str(one.task.id): [one] for one in open_tasks()}
    known = [ask(alone[one.task or ""], one.text).suggestion == one.task for one in continuations()]
    assert sum(known) >= 0.6 * len(continuations())


def test_two_hundred_open_tasks_do_not_hide_the_right_one() -> None:
    many = [*open_tasks(), *crowd(186)]
    missed = [one.text for one in continuations() if ask(many, one.text).candidates[0].task.id != one.task]
    assert len(missed) <= 0.1 * len(continuations()), missed
    assert [one.text for one in something_new() if ask(many, one.text).suggestion is not None] == []


def crowd(count: int) -> list[Prior]:
    """Tasks of everyday words, a few names of their own, and a few words of messages about something new."""
    chance = random.Random(7)
    everyday, new = sorted(COMMON_WORDS), [word for one in something_new() for word in one.text.split()]
    return [
        prior(
            f"task {number}",
            chance.uniform(1, 2000),
            " ".join(
                [
                    *chance.choices(everyday, k=300),
                    *(f"name{chance.randrange(5000)}" for _ in range(60)),
                    *chance.sample(new, 8),
                ]
            ),
        )
        for number in range(count)
    ]


def test_a_draft_that_is_pasted_back_is_known_and_quoted() -> None:
    for one in tasks():
        draft = one["documents"][0]["markdown"]
        ranking = ask(open_tasks(), f"Where were we?\n\n{draft[len(draft) // 4 :]}")
        assert ranking.suggestion == one["key"]
        assert ranking.candidates[0].why.startswith("You pasted text that is in it: “")


def test_a_draft_of_a_kind_with_a_task_is_not_taken_for_its_own() -> None:
    other = (
        "Please proofread this. This Non-Disclosure Agreement is made between Larkspur Studio and the Recipient. The"
        " Recipient shall keep confidential all information disclosed by either party and shall not use it for any"
        " purpose other than the evaluation of a possible cooperation. Neither party is liable for disclosure required"
        " by law or by a court of competent jurisdiction. The Recipient shall indemnify the Discloser against losses"
        " arising from a breach of this agreement. This agreement is governed by the law of England; the courts of"
        " London have jurisdiction. Either party may terminate with thirty days of notice in writing."
    )
    assert ask(open_tasks(), other).suggestion is None


def test_text_that_two_tasks_have_is_not_taken_for_either() -> None:
    clause = "The Supplier shall indemnify the Customer against all losses arising from a breach of clause seven."
    two = [prior("one", 5, f"First. {clause}"), prior("two", 5, f"Second. {clause}"), prior("three", 1, "Norway")]
    ranking = ask(two, clause)
    assert {one.task.id for one in ranking.candidates[:2]} == {"one", "two"} and ranking.suggestion is None


def test_phrases_that_everybody_writes_are_no_pasted_text() -> None:
    phrase = "please let me know if you have any questions about this and thank you for your time"
    [candidate] = ask([prior("mail", 5, f"Dear all, {phrase}")], phrase).candidates
    assert "pasted" not in candidate.why


def test_at_most_three_candidates() -> None:
    assert len(ask(open_tasks(), "anything at all").candidates) == LIMIT

"""Where an interrupted answer goes on."""

from __future__ import annotations

import pytest

from agent.models.joint import WINDOW, Joint, tail


def said(before: str, after: str, size: int = 3) -> str:
    joint = Joint(before)
    pieces = [joint.feed(after[at : at + size]) for at in range(0, len(after), size)]
    return before + "".join(pieces) + joint.end()


WHOLE = "The notice period is thirty days, and the cap on liability stays where it was. Okafor sends the redline."


@pytest.mark.parametrize("size", [1, 3, 50, 500])
@pytest.mark.parametrize("cut", [5, 28, 40, 79, 90])
def test_what_is_repeated_is_said_once(cut: int, size: int) -> None:
    before = WHOLE[:cut]
    assert said(before, tail(before) + WHOLE[cut:], size) == WHOLE


@pytest.mark.parametrize("size", [1, 7, 500])
def test_an_answer_that_is_begun_anew_is_said_once(size: int) -> None:
    assert said(WHOLE[:60], WHOLE, size) == WHOLE


def test_an_answer_that_goes_straight_on_gets_the_space_that_is_missing() -> None:
    assert said("The period is thirty", "days.") == "The period is thirty days."
    assert said("The period is thirty", " days.") == "The period is thirty days."
    assert said("通知期为三十", "天。") == "通知期为三十天。"


def test_nothing_new_says_nothing() -> None:
    assert said(WHOLE, tail(WHOLE)) == WHOLE
    assert said(WHOLE, "") == WHOLE


def test_little_is_held_back_once_the_place_is_known() -> None:
    joint = Joint(WHOLE[:40])
    assert joint.feed(tail(WHOLE[:40]) + "ays") == "ays"
    assert joint.feed(", and") == ", and"


def test_no_more_than_a_window_is_held_back_where_it_is_not() -> None:
    joint = Joint(WHOLE[:40])
    assert joint.feed("Z" * (WINDOW - 1)) == ""
    assert joint.feed("Z") == " " + "Z" * WINDOW


def test_a_first_answer_is_not_held_back() -> None:
    assert Joint("").feed("T") == "T"

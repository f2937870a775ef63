from __future__ import annotations

import random

import pytest

from agent.prose import MAX_CHUNK, MAX_HOLD, Echo, Prose, heal, last_boundary, last_character, place_after

SAMPLES = (
    "The release is on Friday, and nobody may know before.",
    "我们决定周五发布，预算是 300 万元。",
    "Family: 👨‍👩‍👧‍👦 flags 🇩🇪🇫🇷 tones 👍🏽 marks é ñ done",
    "a" * 300,
    "👨‍👩‍👧‍👦" * 40,
    "line one\n\n- item\n- item\tend ",
)


def stream(prose: Prose, text: str, dice: random.Random) -> list[str]:
    shown: list[str] = []
    place = 0
    while place < len(text):
        step = dice.randint(1, 7)
        prose.take(text[place : place + step])
        place += step
        if dice.random() < 0.7:
            shown.append(prose.cut())
    while chunk := prose.rest():
        shown.append(chunk)
    return shown


@pytest.mark.parametrize("text", SAMPLES)
def test_what_is_shown_is_what_was_said_however_it_came(text: str) -> None:
    for seed in range(40):
        assert "".join(stream(Prose(), text, random.Random(seed))) == text


def test_words_are_shown_whole() -> None:
    prose = Prose()
    prose.take("The rele")
    assert prose.cut() == "The "
    prose.take("ase is")
    assert prose.cut() == "release "
    assert prose.rest() == "is"


def test_chinese_is_shown_as_it_comes_but_for_the_last_character() -> None:
    prose = Prose()
    prose.take("我们决定")
    assert prose.cut() == "我们决"
    assert prose.rest() == "定"


def test_a_word_without_end_is_shown_after_a_while() -> None:
    prose = Prose()
    prose.take("x" * (MAX_HOLD + 1))
    assert prose.cut() == "x" * MAX_HOLD


@pytest.mark.parametrize("text", SAMPLES)
def test_no_cut_splits_what_people_see_as_one_character(text: str) -> None:
    wholes = ("👨‍👩‍👧‍👦", "🇩🇪", "🇫🇷", "👍🏽", "é", "ñ")
    for seed in range(40):
        place = 0
        for chunk in stream(Prose(), text, random.Random(seed))[:-1]:
            place += len(chunk)
            for whole in wholes:
                starts = [at for at in range(len(text)) if text.startswith(whole, at)]
                assert not any(at < place < at + len(whole) for at in starts), (chunk, whole)


def test_halves_of_a_surrogate_pair_come_together_and_a_lone_one_is_replaced() -> None:
    prose = Prose()
    prose.take("hi \ud83d")
    assert prose.cut() == "hi "
    prose.take("\ude00 there")
    assert prose.cut() + prose.rest() == "😀 there"
    prose.take("end \ud83d")
    assert prose.cut() + prose.rest() == "end \ufffd"
    assert heal("a\ude00b") == "a\ufffdb"
    heal("x" + "\ud83d\ude00").encode()


def test_a_flood_is_shown_in_bounded_chunks() -> None:
    prose = Prose()
    prose.take("word " * 2000)
    chunks = []
    while chunk := prose.cut():
        chunks.append(chunk)
    assert max(map(len, chunks)) <= MAX_CHUNK
    assert "".join(chunks) == "word " * 2000


def test_boundaries_at_the_edges() -> None:
    assert last_boundary("") == last_boundary("word") == 0
    assert last_boundary("a\u0301 ") == 3
    assert last_character("x") == last_character("") == 0
    assert last_character("🇩🇪") == 0
    assert last_character("a👍🏽") == 1


def echo(begun: str, *pieces: str) -> str:
    listening = Echo(begun)
    return "".join(listening.hear(piece) for piece in pieces)


def test_what_an_earlier_attempt_wrote_is_taken_out_of_a_repetition() -> None:
    assert echo("1 2 3 ", "1 ", "2 ", "3 ", "4 ", "5 ") == "4 5 "
    assert echo("1 2 3 ", "1 2 3 4 ") == "4 "
    assert echo("", "1 ") == "1 "


def test_what_goes_on_is_let_through_whole() -> None:
    assert echo("1 2 3 ", "4 ", "5 ") == "4 5 "
    assert echo("Noted. I", " filed it") == " filed it"
    assert echo("12 ", "1", "2", "3") == "123"


def test_a_repetition_that_ends_early_says_nothing_new_and_may_go_on_after_a_pause() -> None:
    listening = Echo("one\n\ntwo")
    assert listening.hear("one") == ""
    listening.pause()
    assert listening.hear("\n\n") == ""
    assert listening.hear("two three") == " three"


def test_one_goes_on_after_ones_own_last_words() -> None:
    assert place_after("before ours", "ours") == 11
    assert place_after("ours, and a person's", "ours") == 4
    assert place_after("a long tail that was cut off", "XXXXXXXXa long tail that was cut off"[-20:]) == 28
    assert place_after("something else entirely", "ours") == len("something else entirely")
    assert place_after("they changed the beginning of it", "CHANGED the beginning of it") == 32
    assert place_after("anything", "") == 8

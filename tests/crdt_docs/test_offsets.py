"""One module converts offsets; the first test here fails on the day pycrdt counts in another unit."""

from __future__ import annotations

import pytest
from pycrdt import Doc, Text

from crdt_docs.offsets import (
    ENGINE_UNIT,
    engine_offset,
    points_of_engine,
    points_of_utf16,
    utf16_length,
    utf16_offset,
)

MIXED = "a合é😀b👨‍👩‍👧c"


def test_pycrdt_still_counts_in_the_unit_that_this_module_says() -> None:
    doc: Doc[Text] = Doc()
    text = doc.get("t", type=Text)
    text += MIXED
    assert len(text) == len(MIXED.encode(ENGINE_UNIT))
    text.insert(engine_offset(MIXED, 4), "|")
    assert str(text) == "a合é😀|b👨‍👩‍👧c"


@pytest.mark.parametrize("at", range(len(MIXED) + 1))
def test_every_place_has_one_offset_in_each_unit(at: int) -> None:
    assert points_of_engine(MIXED, engine_offset(MIXED, at)) == at
    assert points_of_utf16(MIXED, utf16_offset(MIXED, at)) == at


@pytest.mark.parametrize("at", range(len(MIXED) + 1))
def test_an_insert_by_code_points_lands_where_python_would_put_it(at: int) -> None:
    doc: Doc[Text] = Doc()
    text = doc.get("t", type=Text)
    text += MIXED
    text.insert(engine_offset(MIXED, at), "X")
    assert str(text) == MIXED[:at] + "X" + MIXED[at:]


def test_a_place_inside_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="inside"):
        points_of_utf16("😀", 1)
    with pytest.raises(ValueError, match="inside"):
        points_of_engine("合", 1)
    for outside in (-1, 3):
        with pytest.raises(ValueError, match="not in"):
            engine_offset("ab", outside)


def test_length_in_clocks_is_what_javascript_calls_length() -> None:
    assert utf16_length("ab") == 2
    assert utf16_length("合😀") == 3

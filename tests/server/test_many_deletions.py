"""Updates that delete in a hundred thousand places: taken in bit by bit, and they say what they said."""

from __future__ import annotations

import random

import pytest
from kit.raw_updates import deletes, section, string, update

from crdt_docs import slices
from crdt_docs.errors import TooLarge
from crdt_docs.lib0 import varuint
from crdt_docs.updates.delete_bytes import SLICE, read_normal
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.vectors import BATCH, DeleteSet
from server.rooms.remainder import merged

Ranges = list[tuple[int, int]]
LETTERS = 8 * SLICE


def document() -> Spliced:
    spliced = Spliced()
    for client in (7, 9):
        spliced.add(parse(update(section(client, 0, string("x" * LETTERS, parent="t")))))
    return spliced


def every_other(first: int, number: int) -> Ranges:
    return [(clock, 1) for clock in range(first, first + 2 * number, 2)]


def long() -> Parsed:
    return parse(update(deletes=deletes((9, every_other(100, 2 * SLICE + 3)), (7, every_other(0, 5)))))


def test_what_was_encoded_ahead_is_what_it_would_have_been() -> None:
    parsed, ahead, plain = long(), document(), document()
    assert len(list(ahead.encode_ahead(parsed))) > 2, "in slices"
    for spliced in (ahead, plain):
        before = parse(update(deletes=deletes((9, [(3, 4)]))))
        spliced.add(before)
        spliced.add(parsed)
        assert bytes(spliced.rope_of(parsed)) == parsed.update
    assert bytes(ahead.rope({})) == bytes(plain.rope({}))
    assert ahead.full() == plain.full()


def test_what_was_encoded_ahead_and_is_not_what_comes_changes_nothing() -> None:
    parsed, other, spliced, plain = long(), parse(update(deletes=deletes((7, [(1, 2)])))), document(), document()
    slices.finish(spliced.encode_ahead(parsed))
    for one in (spliced, plain):
        one.add(other)
        assert bytes(one.rope_of(other)) == other.update
        one.add(parsed)
    assert bytes(spliced.rope({})) == bytes(plain.rope({}))


def test_ranges_in_any_order_are_merged_if_they_overlap_and_left_alone_if_not() -> None:
    chance = random.Random(3)
    for _ in range(20):
        number = chance.choice((0, 1, 3, 700, 3000))
        apart = every_other(0, number)
        assert slices.finish(merged(apart)) is apart
        chance.shuffle(apart)
        assert slices.finish(merged(apart)) is apart
        wild = [(chance.randrange(5 * number), chance.randint(1, 4)) for _ in range(number)]
        held = dict(DeleteSet([(1, slices.finish(merged(wild)))]).items())
        truth = DeleteSet()
        for clock, length in wild:
            truth.add(1, clock, clock + length)
        assert held == dict(truth.items())


def test_many_ranges_behind_those_that_are_held_or_among_them_leave_the_normal_form() -> None:
    for start in (0, 50, 51, 52, 400):
        held, truth = DeleteSet([(1, [(50, 1)])]), DeleteSet([(1, [(50, 1)])])
        many = every_other(start, BATCH + 1)
        held.update([(1, many)])
        for clock, length in many:
            truth.add(1, clock, clock + length)
        assert held == truth


def test_ranges_that_end_beyond_all_clocks_are_refused_by_name() -> None:
    for before in (0, SLICE - 1):
        ranges = [(2 * at, 1) for at in range(before)] + [(2**52, 2**52)]
        body = b"".join(varuint(number) for one in ranges for number in one)
        with pytest.raises(TooLarge):
            slices.finish(read_normal(varuint(1) + varuint(7) + varuint(len(ranges)) + body))

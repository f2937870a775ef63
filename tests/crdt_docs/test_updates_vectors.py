"""State vectors and delete sets against a plain set of clocks, and against hostile bytes."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from kit.raw_updates import deletes, varuint
from pycrdt import Doc, Map, Text

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.updates.splice import delete_set
from crdt_docs.updates.vectors import (
    DeleteSet,
    decode_state_vector,
    encode_deletes,
    encode_state_vector,
)

CLIENT = 3_000_000_007


def encoded(*pairs: tuple[int, int]) -> bytes:
    return varuint(len(pairs)) + b"".join(varuint(client) + varuint(clock) for client, clock in pairs)


def test_a_state_vector_survives_the_round_trip_highest_client_first() -> None:
    vector = {1: 5, CLIENT: 300, 2**53 - 1: 2**32 - 1, 7: 0}
    data = encode_state_vector(vector)
    assert data == encoded((2**53 - 1, 2**32 - 1), (CLIENT, 300), (7, 0), (1, 5))
    assert decode_state_vector(data) == vector
    assert encode_state_vector({}) == b"\x00"
    assert decode_state_vector(b"\x00") == {}


def test_a_vector_by_pycrdt_is_read() -> None:
    doc: Doc[Any] = Doc(client_id=CLIENT)
    doc["m"] = Map({"k": 1})
    assert decode_state_vector(doc.get_state()) == {CLIENT: 1}


BAD_VECTORS = {
    "nothing": b"",
    "the five-byte bomb": b"\xff\xff\xff\xff\x01",
    "a bigger bomb": b"\xff\xff\xff\xff\xff\xff\xff\x0f",
    "more entries than bytes": b"\x02\x01\x01",
    "cut short": encoded((CLIENT, 300))[:-1],
    "trailing bytes": encoded((1, 1)) + b"\x00",
    "a client twice": encoded((1, 1), (1, 2)),
    "an overlong client": b"\x01\x81\x00\x01",
    "an overlong clock": b"\x01\x01\x81\x00",
    "an overlong count": b"\x81\x00\x01\x01",
    "a client over 53 bits": encoded((2**53, 1)),
    "an endless varint": b"\x01" + b"\xff" * 1_000_000,
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_a_malformed_vector_is_refused(name: str) -> None:
    with pytest.raises(Malformed):
        decode_state_vector(BAD_VECTORS[name])


def test_a_bomb_allocates_nothing() -> None:
    tracemalloc.start()
    try:
        for bomb in (b"\xff\xff\xff\xff\x01", b"\xff\xff\xff\xff\xff\xff\xff\x0f"):
            with pytest.raises(Malformed):
                decode_state_vector(bomb)
            with pytest.raises(Malformed):
                DeleteSet.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_bounds_of_a_vector_are_told_apart() -> None:
    with pytest.raises(TooLarge):
        decode_state_vector(encoded((1, 2**32)))
    many = encoded(*((client, 1) for client in range(11)))
    assert len(decode_state_vector(many, max_entries=11)) == 11
    with pytest.raises(TooLarge):
        decode_state_vector(many, max_entries=10)


def test_a_delete_set_is_a_set_of_clocks() -> None:
    rng = random.Random(1)
    for _ in range(1500):
        ours, truth = DeleteSet(), set[int]()
        for _ in range(rng.randrange(14)):
            start = rng.randrange(40)
            end = start + rng.randrange(7)
            ours.add(1, start, end)
            truth |= set(range(start, end))
            start = rng.randrange(45)
            end = start + rng.randrange(10)
            asked = set(range(start, end))
            assert ours.covers(1, start, end) == (asked <= truth)
            missing = ours.missing(1, start, end)
            assert [clock for first, last in missing for clock in range(first, last)] == sorted(asked - truth)
            assert all(first < last for first, last in missing)
        ranges = [pair for _, pairs in ours.items() for pair in pairs]
        assert {clock for first, length in ranges for clock in range(first, first + length)} == truth
        assert all(a + n < b for (a, n), (b, _) in zip(ranges, ranges[1:], strict=False)), "sorted, and none touch"
        assert ours.ranges == len(ranges)


def test_the_same_clocks_are_the_same_set_and_the_same_bytes() -> None:
    rng = random.Random(2)
    parts = [(client, [(start, 3)]) for client in (5, CLIENT, 1) for start in range(0, 60, 2)]
    one = DeleteSet(parts)
    rng.shuffle(parts)
    other = DeleteSet(parts + parts[:9])
    assert one == other
    assert one.encode() == other.encode() == deletes((CLIENT, [(0, 61)]), (5, [(0, 61)]), (1, [(0, 61)]))
    assert DeleteSet.decode(one.encode()) == one
    other.add(5, 100, 101)
    assert one != other


def test_nothing_is_a_set_too() -> None:
    empty = DeleteSet()
    empty.add(1, 5, 5)
    assert not empty
    assert empty == DeleteSet.decode(b"\x00")
    assert empty.encode() == b"\x00"
    assert empty.covers(1, 3, 3)
    assert empty.missing(1, 3, 3) == []
    assert not empty.covers(1, 3, 4)


def test_a_copy_goes_its_own_way() -> None:
    one = DeleteSet([(1, [(0, 2)])])
    twin = one.copy()
    twin.add(1, 2, 5)
    assert not one.covers(1, 2, 3)
    assert twin.covers(1, 0, 5)


def test_bytes_in_any_order_become_normal() -> None:
    data = deletes((1, [(5, 2), (0, 3)]), (9, []), (CLIENT, [(0, 1)]), (1, [(3, 2)]))
    assert list(DeleteSet.decode(data).items()) == [(CLIENT, [(0, 1)]), (1, [(0, 7)])]
    assert encode_deletes([(9, []), (1, [(5, 2), (0, 3)])]) == deletes((1, [(5, 2), (0, 3)]))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01", b"\x01\x01\x01\x00", deletes((1, [(0, 0)])), b"\x00\x00", b"\x01\x01\x01\x81\x00\x01"],
)
def test_malformed_deletes_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        DeleteSet.decode(data)


def test_deletes_over_32_bits_are_too_large() -> None:
    with pytest.raises(TooLarge):
        DeleteSet.decode(deletes((1, [(2**32 - 2, 2)])))


def test_our_bytes_for_deletes_are_those_of_the_engine() -> None:
    doc: Doc[Any] = Doc(client_id=CLIENT)
    text = doc.get("body", type=Text)
    text += "abcdefghij"
    for at in (8, 5, 2):
        del text[at : at + 1]
    update = doc.get_update()
    assert update.endswith(delete_set(update).encode())


@pytest.mark.parametrize("batch", [5, 65, 400])
def test_many_ranges_at_once_are_added_as_one_by_one(batch: int) -> None:
    rng = random.Random(batch)
    one, many = DeleteSet(), DeleteSet()
    for _ in range(20):
        ranges = [(rng.randrange(5_000), rng.randrange(1, 9)) for _ in range(batch)]
        many.update([(7, ranges)])
        for clock, length in ranges:
            one.add(7, clock, clock + length)
        assert many == one
        assert many.encode() == one.encode()

"""Cutting one struct: the bytes that yjs writes for the second half."""

from __future__ import annotations

from struct import pack

import pytest
from kit.raw_updates import section, string, struct, update, varstring, varuint
from kit.yjs_oracle import YjsOracle

from crdt_docs.updates.cut import cut, skip_values, step
from crdt_docs.updates.parse import DELETED, GC, SKIP, parse
from crdt_docs.updates.vectors import encode_state_vector

CLIENT = 3_000_000_007
OTHER = 77
VALUES = (
    b"\x7f",
    b"\x7e",
    b"\x7d\x05",
    b"\x7d\xbf\x80\x01",
    b"\x7c" + pack(">f", 0.5),
    b"\x7b" + pack(">d", 0.1),
    b"\x7a" + b"\xff" * 8,
    b"\x79",
    b"\x78",
    b"\x77" + varstring("ü"),
    b"\x76\x02" + varstring("a") + b"\x75\x01\x7e" + varstring("b") + b"\x76\x00",
    b"\x75\x02\x77\x01x\x74\x02\x00\xff",
    b"\x74\x03abc",
)
ANY = varuint(len(VALUES)) + b"".join(VALUES)

STRUCTS = {
    "ascii": string("abcdef", origin=(CLIENT, 4)),
    "accents": string("äöüß…", origin=(CLIENT, 4), right_origin=(OTHER, 3)),
    "astral": string("a😀b👩‍👩‍👧c"),
    "long": string("x" * 300 + "😀" * 50, right_origin=(OTHER, 3)),
    "values": struct(8, ANY, parent="list"),
    "values before another": struct(8, ANY, right_origin=(OTHER, 2**20)),
    "a keyed run of deletions": struct(1, b"\x09", parent=(OTHER, 1), key="k"),
    "deletions": struct(1, varuint(200), origin=(OTHER, 200), right_origin=(CLIENT, 3)),
    "gc": b"\x00\x09",
}


def cut_at(body: bytes, skip: int) -> bytes:
    data = update(section(CLIENT, 5, body))
    return cut(data, CLIENT, parse(data).sections[0].structs[0], skip)


def test_the_rest_starts_after_its_own_first_part() -> None:
    assert cut_at(string("abcd", origin=(OTHER, 9)), 1) == string("bcd", origin=(CLIENT, 5))
    assert cut_at(string("abcd", right_origin=(OTHER, 9)), 3) == string(
        "d", origin=(CLIENT, 7), right_origin=(OTHER, 9)
    )
    assert cut_at(string("abcd", parent="body"), 2) == string("cd", origin=(CLIENT, 6))


def test_half_a_pair_becomes_a_replacement_character() -> None:
    assert cut_at(string("a😀b"), 2) == string("\ufffdb", origin=(CLIENT, 6))
    assert cut_at(string("a😀b"), 1) == string("😀b", origin=(CLIENT, 5))
    assert cut_at(string("a😀b"), 3) == string("b", origin=(CLIENT, 7))


def test_each_kind_that_counts_more_than_one_clock_is_cut() -> None:
    assert cut_at(b"\x00\x09", 4) == bytes((GC, 5))
    assert cut_at(b"\x0a\x09", 4) == bytes((SKIP, 5))
    assert cut_at(struct(DELETED, b"\x09", origin=(OTHER, 1)), 4) == struct(DELETED, b"\x05", origin=(CLIENT, 8))
    assert cut_at(struct(8, ANY), 9) == struct(8, b"\x04" + b"".join(VALUES[9:]), origin=(CLIENT, 13))


def test_a_cut_leaves_something_on_both_sides() -> None:
    for skip in (-1, 0, 3, 4):
        with pytest.raises(ValueError, match="inside"):
            cut_at(string("abc"), skip)


def test_a_key_flag_stays_as_in_what_yjs_stores() -> None:
    assert cut_at(STRUCTS["a keyed run of deletions"], 2)[0] == 0x80 | 0x20 | DELETED


def test_values_are_stepped_over_one_by_one() -> None:
    data = b"".join(VALUES)
    at = 0
    for value in VALUES:
        assert skip_values(data, at, 1) == at + len(value)
        at += len(value)
    assert skip_values(data, 0, len(VALUES)) == len(data)


SINGLE = {
    "binary": struct(3, b"\x02\x00\xff"),
    "embed": struct(5, varstring('{"image":1}'), origin=(OTHER, 1)),
    "mark": struct(6, varstring("bold") + varstring("null"), origin=(OTHER, 1), right_origin=(OTHER, 2)),
    "text": struct(7, b"\x02", parent="items", key="ключ"),
    "element": struct(7, b"\x03" + varstring("paragraph"), parent=(OTHER, 2)),
    "subdocument": struct(
        9, varstring("guid") + b"\x76\x01" + varstring("k") + b"\x75\x01\x7e", parent="items", key="k"
    ),
    "skip": b"\x0a\x83\x01",
}


@pytest.mark.parametrize("name", STRUCTS | SINGLE)
def test_a_struct_is_stepped_over_as_it_was_parsed(name: str) -> None:
    body = (STRUCTS | SINGLE)[name]
    data = update(section(CLIENT, 5, body))
    [parsed] = parse(data).sections[0].structs
    assert step(data, parsed.start) == (parsed.length, parsed.end)
    assert step(bytearray(data), parsed.start) == (parsed.length, parsed.end)


@pytest.mark.node
@pytest.mark.parametrize("name", STRUCTS)
def test_yjs_cuts_alike_at_every_clock(yjs: YjsOracle, name: str) -> None:
    data = update(section(CLIENT, 5, STRUCTS[name]))
    [parsed] = parse(data).sections[0].structs
    for skip in range(1, parsed.length):
        theirs = yjs.diff(data, encode_state_vector({CLIENT: 5 + skip}))
        assert update(section(CLIENT, 5 + skip, cut(data, CLIENT, parsed, skip))) == theirs, skip

"""What trimming takes away and what it must leave, rule by rule."""

from __future__ import annotations

import time
from random import Random

import pytest
from kit import pycrdt_edits
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Text

from crdt_docs.errors import Malformed
from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.compose import Composer, last_entries
from crdt_docs.updates.parse import ANY, DELETED, GC, STRING, Id, Struct, parse
from crdt_docs.updates.splice import encode_update, merge
from crdt_docs.updates.trim import trim
from crdt_docs.updates.vectors import DeleteSet, decode_state_vector, encode_deletes

ME = 7


def structs(update: bytes) -> list[Struct]:
    return [struct for section in parse(update).sections for struct in section.structs]


def text(words: str, clock: int = 0, client: int = ME, origin: Id | None = None, right: Id | None = None) -> bytes:
    """One insertion into the root text "t"."""
    info = STRING | (0x80 if origin else 0) | (0x40 if right else 0)
    links = b"".join(varuint(part) for link in (origin, right) if link for part in link)
    parent = b"" if links else b"\x01" + varstring("t")
    return encode_update([(client, clock, 1, bytes((info,)) + links + parent + varstring(words))], ())


def deletion(*ranges: tuple[int, int], client: int = ME) -> bytes:
    return b"\x00" + encode_deletes([(client, list(ranges))])


def follow(document: bytes, client: int) -> Composer:
    """A composer that goes on writing where the document ends."""
    parsed = parse(document)
    last = last_entries(parsed)
    clock = next((section.end for section in parsed.sections if section.client == client), 0)
    return Composer(client, clock, lambda parent, key: last.get((parent, key)))


def nothing(parent: str | Id, key: str) -> Id | None:
    return None


def test_an_empty_document_stays_empty() -> None:
    assert trim(b"\x00\x00") == b"\x00\x00"


def test_deleted_text_is_gone_from_the_bytes_and_its_clocks_stay() -> None:
    trimmed = trim(merge([text("keep secret keep"), deletion((5, 6))]))
    assert b"secret" not in trimmed
    assert [(s.clock, s.length, s.ref) for s in structs(trimmed)] == [(0, 5, STRING), (5, 6, DELETED), (11, 5, STRING)]
    assert [s.origin for s in structs(trimmed)] == [None, (ME, 4), (ME, 10)]
    assert DeleteSet(parse(trimmed).deletes) == DeleteSet([(ME, [(5, 6)])])


def test_a_piece_keeps_its_right_origin() -> None:
    log = [text("ab"), text("12345", 2, origin=(ME, 0), right=(ME, 1)), deletion((3, 2))]
    pieces = [s for s in structs(trim(merge(log))) if s.clock >= 2]
    assert [(s.clock, s.origin, s.right_origin) for s in pieces] == [
        (2, (ME, 0), (ME, 1)),
        (3, (ME, 2), (ME, 1)),
        (5, (ME, 4), (ME, 1)),
    ]


def test_typing_is_merged_into_one_struct() -> None:
    log = [text("a")] + [text(letter, at, origin=(ME, at - 1)) for at, letter in enumerate("bcdé😀", 1)]
    [struct] = structs(trim(merge(log)))
    assert (struct.length, struct.ref) == (7, STRING)
    assert "abcdé😀".encode() in trim(merge(log))


def test_values_of_an_array_are_merged_and_those_of_a_map_key_are_not() -> None:
    array = b"\x01\x02\x07\x00\x08\x01\x01a\x02\x7d\x01\x7d\x02\x88\x07\x01\x01\x77\x01x\x00"
    [struct] = structs(trim(array))
    assert (struct.length, struct.ref) == (3, ANY)
    composer = Composer(ME, 0, nothing)
    composer.set("m", "a", 1)
    composer.set("m", "b", 2)
    assert len(structs(trim(composer.finish()))) == 2


def test_the_children_of_a_deleted_type_become_gc_and_are_counted_as_deleted() -> None:
    first = Composer(ME, 0, nothing)
    entry = first.set_map("documents", "d")
    first.set_text(entry, "title", "secret title")
    body = first.set_fragment(entry, "body")
    first.append_element(body, "paragraph", {"level": 1}, "secret words")
    before = first.finish()
    second = follow(before, ME)
    second.set("documents", "d", None)
    trimmed = trim(merge([before, second.finish()]))
    assert b"secret" not in trimmed and b"paragraph" not in trimmed and b"title" not in trimmed
    assert [(s.ref, s.length) for s in structs(trimmed)] == [(DELETED, 1), (GC, first.clock - 1), (ANY, 1)]
    assert DeleteSet(parse(trimmed).deletes) == DeleteSet([(ME, [(0, first.clock)])])


def test_what_was_typed_into_a_deleted_type_meanwhile_becomes_gc_too() -> None:
    first = Composer(ME, 0, nothing)
    made = first.set_text("m", "goal", "old")
    first.set("m", "goal", None)
    late = encode_update([(9, 0, 1, b"\x84\x07\x03" + varstring("late"))], ())
    later = encode_update([(5, 0, 1, b"\x04\x00\x07" + varuint(made[1]) + varstring("later"))], ())
    trimmed = trim(merge([trim(first.finish()), late, later]))
    assert b"late" not in trimmed
    assert {s.ref for section in parse(trimmed).sections if section.client != ME for s in section.structs} == {GC}
    assert trimmed == trim(merge([first.finish(), late, later]))


def test_five_thousand_types_in_each_other_are_one_gc_struct() -> None:
    body = [b"\x27\x01\x01m\x01k\x01", *(b"\x27\x00" + varuint(ME) + varuint(n) + b"\x01k\x01" for n in range(4_999))]
    document = encode_update([(ME, 0, 5_000, b"".join(body))], [(ME, [(0, 1)])])
    assert len(trim(document)) < 32


def test_a_chain_of_origins_through_twenty_thousand_clients_needs_no_recursion() -> None:
    chain = [(client, 0, 1, b"\x84" + varuint(client + 1) + b"\x00\x01x") for client in range(1, 20_000)]
    child = (20_000, 0, 1, b"\x04\x00" + varuint(20_001) + b"\x00\x01x")
    holder = (20_001, 0, 1, b"\x27\x01\x01m\x01k\x02")
    trimmed = trim(encode_update([*chain, child, holder], [(20_001, [(0, 1)])]))
    assert [s.ref for s in structs(trimmed)] == [DELETED] + [GC] * 20_000


@pytest.mark.parametrize(
    "splitter",
    [deletion((2, 1)), text("x", 0, 9, origin=(ME, 1)), text("x", 0, 9, right=(ME, 2)), deletion((0, 2))],
    ids=["a deletion from its middle", "an origin", "a right origin", "a deletion to its middle"],
)
@pytest.mark.node
def test_a_split_pair_is_two_replacement_characters(yjs: YjsOracle, splitter: bytes) -> None:
    full = merge([text("a😀b😀"), splitter])
    trimmed = trim(full)
    want, have = yjs.load_each([[full], [trimmed]], {"t": "text"})
    assert have.json == want.json
    assert "\ufffd" in str(want.json) and "😀" in str(want.json)
    assert pycrdt_text(trimmed) == "".join(part["insert"] for part in want.json["t"]["text"])


def pycrdt_text(update: bytes) -> str:
    doc = Doc[Text]()
    found = doc.get("t", type=Text)
    doc.apply_update(update)
    return str(found)


def test_equal_documents_trim_to_equal_bytes_whatever_came_first() -> None:
    logs = [text("one", client=3), text("two", client=9), text("three", client=5)]
    late = deletion((0, 1), client=5)
    assert trim(merge([*logs, late])) == trim(merge([*reversed(logs), late]))


def test_trimming_again_after_more_writes_is_trimming_everything() -> None:
    for seed in range(60):
        log = pycrdt_edits.generate(seed, clients=1 + seed % 3)
        at = Random(seed).randint(0, len(log))
        trimmed = trim(merge(log))
        assert trim(trimmed) == trimmed
        assert trim(merge([trim(merge(log[:at])), *log[at:]])) == trimmed


def test_yrs_shows_the_same_document_and_counts_the_same_clocks() -> None:
    for seed in range(200, 250):
        log = pycrdt_edits.generate(seed, clients=1 + seed % 3)
        full = merge(log)
        before, want = pycrdt_edits.load([full])
        after, have = pycrdt_edits.load([trim(full)])
        assert have == want, seed
        assert decode_state_vector(after.get_state()) == decode_state_vector(before.get_state())
        assert DeleteSet(parse(after.get_update()).deletes) == DeleteSet(parse(before.get_update()).deletes)


def test_deletions_past_the_end_are_kept_for_what_is_to_come() -> None:
    early = encode_update([(ME, 0, 1, b"\x04\x01\x01t\x02ab")], [(ME, [(1, 3)])])
    trimmed = trim(early)
    assert DeleteSet(parse(trimmed).deletes) == DeleteSet([(ME, [(1, 3)])])


@pytest.mark.parametrize(
    "update",
    [
        text("x", clock=3),
        text("x", client=9, origin=(ME, 0)),
        b"\x01\x02\x07\x00\x04\x01\x01t\x01x\x0a\x05\x00",
        b"\x01\x01\x07\x00\x84\x07\x00\x01x\x00",
        b"\x02\x01\x07\x00\x84\x09\x00\x01x\x01\x09\x00\x84\x07\x00\x01x\x00",
        b"\x02\x01\x07\x00\xa8\x09\x00\x01\x7e\x01\x09\x00\xa8\x07\x00\x01\x7e\x00",
        b"\x02\x01\x07\x00\x27\x00\x09\x00\x01k\x01\x01\x09\x00\x27\x00\x07\x00\x01k\x01\x01\x07\x01\x00\x01",
    ],
    ids=["no start", "no origin", "a skip", "its own origin", "a circle", "a keyed circle", "a circle of parents"],
)
def test_what_is_not_a_whole_document_is_refused(update: bytes) -> None:
    parse(update)
    with pytest.raises(ValueError):
        trim(merge_deleted_type(update))


def merge_deleted_type(update: bytes) -> bytes:
    """With a deleted type beside it, so that every link is followed."""
    parsed = parse(update)
    sections = [(c, k, len(s), parsed.update[s[0].start : s[-1].end]) for c, k, s, _ in parsed.sections]
    return encode_update([*sections, (99, 0, 1, b"\x27\x01\x01m\x01z\x01")], [*parsed.deletes, (99, [(0, 1)])])


def test_bytes_that_are_no_update_are_malformed() -> None:
    with pytest.raises(Malformed):
        trim(b"\x01\x01\x07\x00\x04\x01\x01t\x09x\x00")


def test_the_time_grows_with_the_structs_alone() -> None:
    body = b"\x04\x01\x01t\x01x" + b"".join(b"\x84\x07" + varuint(clock) + b"\x01x" for clock in range(29_999))
    document = encode_update([(ME, 0, 30_000, body)], [(ME, [(clock, 1) for clock in range(0, 30_000, 2)])])
    started = time.process_time()
    trimmed = trim(document)
    assert time.process_time() - started < 5
    assert len(structs(trimmed)) == 30_000

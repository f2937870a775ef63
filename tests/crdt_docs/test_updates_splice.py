"""Documents as spliced bytes: gaps, overlaps, the index, and exact differences."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from kit.raw_updates import deletes, section, string, struct, update, varstring

from crdt_docs.errors import Malformed
from crdt_docs.updates import splice, strand
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced, delete_set, diff, encode_update, merge, state_vector
from crdt_docs.updates.vectors import DeleteSet

CLIENT = 3_000_000_007
OTHER = 77


def typed(client: int, clock: int, text: str) -> bytes:
    """What a client sends that types on at the end of what it wrote."""
    return update(section(client, clock, string(text, origin=(client, clock - 1) if clock else None)))


def spliced(*updates: bytes) -> Spliced:
    document = Spliced()
    for one in updates:
        document.add(parse(one))
    return document


def long_document(seed: int = 1, steps: int = 3000) -> Spliced:
    """Three clients, bodies of many index points, structs from one byte to 9 kB, deletes."""
    rng = random.Random(seed)
    document = Spliced()
    ends = {CLIENT: 0, OTHER: 0, 5: 0}
    for _ in range(steps):
        client = rng.choice(list(ends))
        text = rng.choice(("a", "bc", "ü", "😀", "x" * 60)) if rng.random() < 0.997 else "y" * 9000
        document.add(parse(typed(client, ends[client], text)))
        ends[client] = document.state_vector[client]
        if rng.random() < 0.1:
            start = rng.randrange(ends[client])
            document.add(parse(update(deletes=deletes((client, [(start, 1)])))))
    return document


def test_updates_are_joined_as_bytes() -> None:
    document = spliced(typed(OTHER, 0, "ab"), typed(CLIENT, 0, "x"), typed(OTHER, 2, "c"))
    assert document.full() == update(
        section(CLIENT, 0, string("x")), section(OTHER, 0, string("ab"), string("c", origin=(OTHER, 1)))
    )
    assert document.state_vector == {OTHER: 3, CLIENT: 1}
    assert Spliced().full() == b"\x00\x00"
    assert Spliced().state_vector == {}


def test_what_was_told_of_it_before_does_not_show_when_it_has_grown() -> None:
    document, updates = Spliced(), []
    for clock in range(20):
        one = typed((CLIENT, OTHER)[clock % 2], clock // 2, "x")
        updates.append(one)
        before = document.rope({})
        held = bytes(before)
        document.add(parse(one))
        assert bytes(before) == held
        assert document.full() == bytes(document.rope({})) == spliced(*updates).full()


def test_the_order_of_unrelated_updates_does_not_show() -> None:
    one = [typed(OTHER, 0, "ab"), typed(OTHER, 2, "c"), update(deletes=deletes((OTHER, [(1, 1)])))]
    other = [typed(CLIENT, 0, "x"), update(deletes=deletes((CLIENT, [(0, 1)])))]
    assert merge(one + other) == merge(other + one) == merge([merge(one), merge(other)])


def test_what_is_known_is_cut_off() -> None:
    document = spliced(typed(OTHER, 0, "abc"))
    whole = update(section(OTHER, 0, string("abcde"), string("f", origin=(OTHER, 4))))
    document.add(parse(whole))
    assert document.full() == update(
        section(OTHER, 0, string("abc"), string("de", origin=(OTHER, 2)), string("f", origin=(OTHER, 4)))
    )
    before = document.full()
    document.add(parse(whole))
    document.add(parse(typed(OTHER, 3, "de")))
    assert document.full() == before


@pytest.mark.parametrize(
    "late",
    [
        typed(OTHER, 4, "e"),
        typed(5, 1, "e"),
        update(section(OTHER, 3, string("d", origin=(OTHER, 2))), section(5, 1, string("e"))),
        update(section(OTHER, 0, string("abc"), b"\x0a\x02", string("f"))),
        update(section(5, 0, b"\x0a\x02", string("f"))),
        update(section(OTHER, 3, string("d")), deletes=deletes((OTHER, [(2, 3)]))),
        update(section(OTHER, 3, string("d")), deletes=deletes((5, [(0, 1)]))),
    ],
)
def test_a_gap_raises_and_changes_nothing(late: bytes) -> None:
    document = spliced(typed(OTHER, 0, "abc"))
    before = document.full(), document.state_vector, document.size
    with pytest.raises(ValueError, match="gap"):
        document.add(parse(late))
    assert (document.full(), document.state_vector, document.size) == before
    document.add(parse(typed(OTHER, 3, "d")))


def test_a_skip_over_what_is_known_is_no_gap() -> None:
    document = spliced(typed(OTHER, 0, "abc"))
    document.add(parse(update(section(OTHER, 0, b"\x0a\x03", string("d", origin=(OTHER, 2))))))
    assert document.state_vector == {OTHER: 4}
    assert document.full() == merge([typed(OTHER, 0, "abc"), typed(OTHER, 3, "d")])


def test_a_difference_starts_exactly_where_asked() -> None:
    document = long_document()
    full = document.full()
    rng = random.Random(3)
    vector = document.state_vector
    for _ in range(60):
        have = {client: rng.randrange(end + 2) for client, end in vector.items() if rng.random() < 0.9}
        lacking = document.diff(have)
        assert lacking == diff(full, have)
        parsed = parse(lacking)
        assert {one.client: (one.clock, one.end) for one in parsed.sections} == {
            client: (have.get(client, 0), end) for client, end in vector.items() if have.get(client, 0) < end
        }
        assert DeleteSet(parsed.deletes) == document.deletes
    assert document.diff({}) == full
    assert document.diff(vector) == b"\x00" + document.deletes.encode()


def test_a_snapshot_and_a_difference_rebuild_the_document() -> None:
    document = spliced(typed(OTHER, 0, "abc"), typed(CLIENT, 0, "x"))
    early, at = document.full(), document.state_vector
    document.add(parse(typed(OTHER, 3, "de")))
    document.add(parse(update(deletes=deletes((OTHER, [(0, 2)])))))
    assert merge([early, document.diff(at)]) == document.full()


def test_a_difference_holds_the_document_only_while_it_is_made() -> None:
    document = spliced(typed(OTHER, 0, "abc"))
    kept = document.diff({}), document.full(), document.dump_index()
    document.add(parse(typed(OTHER, 3, "d" * 10_000)))
    assert kept[1] == typed(OTHER, 0, "abc")


def test_size_counts_what_is_held() -> None:
    document = long_document()
    assert abs(document.size - len(document.full())) < 4 * document.deletes.ranges
    assert Spliced().size == 0


def test_an_index_saves_reading_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    document = long_document()
    full, index = document.full(), document.dump_index()
    assert len(index) < len(full) // 100
    with monkeypatch.context() as patch:
        patch.setattr(splice, "parse", lambda update: pytest.fail("read the whole snapshot"))
        loaded = Spliced.load(full, index)
        assert loaded.full() == full
        assert loaded.dump_index() == index
        assert loaded.size == document.size
        assert loaded.deletes == document.deletes
        assert loaded.state_vector == document.state_vector
    vector = document.state_vector
    for have in ({}, {OTHER: 5000}, {client: end // 2 for client, end in vector.items()}):
        assert loaded.diff(have) == document.diff(have)
    more = [typed(CLIENT, vector[CLIENT], "more" * 3000), update(deletes=deletes((CLIENT, [(1, vector[CLIENT])])))]
    for one in more:
        loaded.add(parse(one))
        document.add(parse(one))
    assert loaded.full() == document.full()
    assert loaded.dump_index() == document.dump_index()
    have = {CLIENT: vector[CLIENT] + 100}
    assert loaded.diff(have) == document.diff(have)


def test_an_index_that_is_damaged_or_of_other_bytes_is_ignored() -> None:
    document = long_document(steps=100)
    full, index = document.full(), document.dump_index()
    other = long_document(seed=2, steps=100)
    broken = [b"x", index[:-1], index + b"\x00", other.dump_index(), b"\x00" * len(index), index[4:]]
    for at in range(len(index)):
        changed = bytearray(index)
        changed[at] ^= 1 << at % 8
        broken.append(bytes(changed))
    for one in broken:
        loaded = Spliced.load(full, one)
        assert loaded.full() == full
        assert loaded.diff({OTHER: 7}) == document.diff({OTHER: 7})


def test_a_damaged_snapshot_is_not_hidden_by_its_index() -> None:
    document = long_document(steps=50)
    full, index = document.full(), document.dump_index()
    with pytest.raises(Malformed):
        Spliced.load(full[:-1], index)
    with pytest.raises(Malformed):
        Spliced.load(b"\xff" + full[1:], index)
    with pytest.raises(ValueError, match="gap"):
        Spliced.load(typed(OTHER, 4, "a"))


def test_an_empty_document_has_an_index_too() -> None:
    assert Spliced.load(b"\x00\x00", Spliced().dump_index()).full() == b"\x00\x00"
    assert Spliced.load(b"\x00\x00").state_vector == {}
    loading = Spliced.load_in_slices([b"\x00\x00"], Spliced().dump_index())
    with pytest.raises(StopIteration) as loaded:
        next(loading)
    assert loaded.value.value.full() == b"\x00\x00"


def test_a_client_of_thousands_of_short_visits_stays_small() -> None:
    document = spliced(*(typed(client, 0, "x") for client in range(1, 3000)))
    assert len(document.dump_index()) < 2 * len(document.full())
    assert Spliced.load(document.full(), document.dump_index()).full() == document.full()


def test_a_stretch_of_a_log_merges_into_one_update() -> None:
    first, *stretch = [typed(OTHER, 0, "abc"), typed(OTHER, 3, "de"), typed(CLIENT, 0, "x"), typed(OTHER, 5, "f")]
    stretch.append(update(deletes=deletes((OTHER, [(1, 1)]))))
    tail = merge(stretch)
    assert {one.client: (one.clock, one.end) for one in parse(tail).sections} == {OTHER: (3, 6), CLIENT: (0, 1)}
    assert merge([first, tail]) == merge([first, *stretch])
    with pytest.raises(ValueError, match="gap"):
        merge([typed(OTHER, 0, "abc"), typed(OTHER, 5, "f")])


def test_a_difference_of_a_stretch_drops_leading_skips() -> None:
    stretch = update(
        section(OTHER, 2, string("cd", origin=(OTHER, 1)), b"\x0a\x03", string("h", origin=(OTHER, 6))),
        section(5, 4, b"\x00\x03"),
    )
    assert diff(stretch, {}) == stretch
    assert diff(stretch, {OTHER: 3, 5: 7}) == update(
        section(OTHER, 3, string("d", origin=(OTHER, 2)), b"\x0a\x03", string("h", origin=(OTHER, 6)))
    )
    for have in (4, 5, 6, 7):
        assert diff(stretch, {OTHER: have, 5: 7}) == update(section(OTHER, 7, string("h", origin=(OTHER, 6))))
    assert diff(stretch, {OTHER: 8, 5: 6}) == update(section(5, 6, b"\x00\x01"))
    assert diff(stretch, {OTHER: 8, 5: 7}) == b"\x00\x00"


def test_a_state_vector_ends_at_the_first_gap() -> None:
    holed = update(
        section(9, 0, string("ab"), b"\x0a\x03", string("h")),
        section(8, 0, b"\x0a\x03", string("h")),
        section(7, 3, string("h")),
        section(6, 0, string("h😀")),
    )
    assert state_vector(holed) == {9: 2, 6: 3}


def test_delete_ranges_are_read_into_normal_form() -> None:
    assert delete_set(update(deletes=deletes((1, [(4, 2), (0, 4)])))) == DeleteSet([(1, [(0, 6)])])


def test_an_update_is_written_from_its_parts() -> None:
    two = string("ab"), struct(7, b"\x03" + varstring("paragraph"), parent="prose")
    made = encode_update([(CLIENT, 0, 2, b"".join(two))], [(OTHER, []), (CLIENT, [(1, 1)])])
    assert made == update(section(CLIENT, 0, *two), deletes=deletes((CLIENT, [(1, 1)])))
    assert parse(made).sections[0].end == 3
    assert encode_update([], []) == b"\x00\x00"


def many(client: int, clock: int, number: int) -> bytes:
    """An update of many structs."""
    ends = [(client, at - 1) if at else None for at in range(clock, clock + 3 * number, 3)]
    return update(section(client, clock, *(string("abc", origin=origin) for origin in ends)))


def begin(document: Spliced, ahead: bytes, steps: int) -> Parsed:
    """Bring an update ahead, so many slices of it."""
    parsed = parse(ahead)
    for _ in islice(document.bring_ahead(parsed), steps):
        pass
    return parsed


@pytest.mark.parametrize("clock", [0, 4])
@pytest.mark.parametrize("steps", [0, 1, 2, 1000])
def test_what_was_brought_ahead_is_seen_only_when_it_is_added_and_then_as_ever(
    clock: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strand, "AHEAD", 9_000)
    before = [typed(CLIENT, 0, "abcd")] if clock else [typed(OTHER, 0, "abcd")]
    ahead = many(CLIENT, clock, 3_000)
    plain, document = spliced(*before, ahead), spliced(*before)
    empty = document.full(), document.state_vector, document.size, document.dump_index()
    parsed = begin(document, ahead, steps)
    assert (document.full(), document.state_vector, document.size, document.dump_index()) == empty
    document.add(parsed, whole=True)
    for one in (document, plain):
        one.add(parse(many(CLIENT, clock + 9_000, 100)))
    assert document.full() == plain.full()
    assert document.dump_index() == plain.dump_index()
    assert document.diff({CLIENT: 5_000}) == plain.diff({CLIENT: 5_000})
    assert document.size == plain.size


@pytest.mark.parametrize("clock", [0, 4])
def test_what_was_brought_ahead_in_vain_leaves_nothing(clock: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strand, "AHEAD", 9_000)
    before = [typed(CLIENT, 0, "abcd")] if clock else []
    first = many(CLIENT, clock, 10)
    plain, document = spliced(*before, first), spliced(*before)
    parsed = begin(document, many(CLIENT, clock, 3_000), 2)
    document.add(parse(first))
    assert document.full() == plain.full()
    for one in (document, plain):  # it overlaps what is known by now
        one.add(parsed)
    assert document.full() == plain.full()
    assert document.dump_index() == plain.dump_index()

"""Which write of a map key shows: told from the bytes, judged by yjs."""

from __future__ import annotations

import time
from random import Random

import pytest
from kit.yjs_oracle import YjsOracle

from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.map_entries import MAX_TANGLED, last_entries
from crdt_docs.updates.parse import Id, parse
from crdt_docs.updates.splice import encode_update
from crdt_docs.updates.trim import trim

Write = tuple[Id, Id | None, Id | None]
"""(id, origin, right origin) of one value of the key "k" in the root "m"; the value is the write's number."""


def encode(writes: list[Write]) -> bytes:
    """One update of writes that are in clock order per client."""
    bodies: dict[int, list[bytes]] = {}
    for number, ((client, _), origin, right) in enumerate(writes):
        info = 8 | 0x20 | (0x80 if origin else 0) | (0x40 if right else 0)
        links = b"".join(varuint(part) for link in (origin, right) if link for part in link)
        if not origin and not right:
            links = b"\x01" + varstring("m") + varstring("k")
        bodies.setdefault(client, []).append(bytes((info,)) + links + b"\x01\x77" + varstring(str(number)))
    return encode_update(((client, 0, len(body), b"".join(body)) for client, body in bodies.items()), ())


def last_of(writes: list[Write]) -> Id:
    return last_entries(parse(encode(writes)))["m", "k"]


def random_tree(r: Random) -> list[Write]:
    """Writes without right origins, each after any earlier one, also two by one client after the same."""
    clocks: dict[int, int] = {}
    writes: list[Write] = []
    for _ in range(r.randint(1, 25)):
        client = r.choice((1, 2, 3, 4_000_000_000))
        writes.append(((client, clocks.get(client, 0)), r.choice([None, *(write[0] for write in writes)]), None))
        clocks[client] = clocks.get(client, 0) + 1
    return writes


def random_insertions(r: Random) -> list[Write]:
    """Writes between two neighbours of a list that its client saw: all, or all up to some moment."""
    clocks: dict[int, int] = {}
    writes: list[Write] = []
    row: list[Id] = []
    for _ in range(r.randint(2, 20)):
        client = r.choice((1, 2, 3))
        at = r.randint(0, len(row))
        made = (client, clocks.get(client, 0))
        left = row[at - 1] if at else None
        right = row[at] if at < len(row) else None
        writes.append((made, left, right))
        if r.random() < 0.6:  # else the next ones do not see it and come between the same neighbours
            row.insert(at, made)
        clocks[client] = clocks.get(client, 0) + 1
    return writes


def shown(yjs: YjsOracle, writes: list[Write]) -> Id:
    found = yjs.load([encode(writes)], {"m": "map"}).json["m"]["map"]["k"]
    return writes[int(found)][0]


@pytest.mark.node
@pytest.mark.parametrize("made", [random_tree, random_insertions])
def test_the_last_write_is_the_one_that_yjs_shows(yjs: YjsOracle, made: object) -> None:
    for seed in range(120):
        writes = made(Random(seed))  # type: ignore[operator]
        assert last_of(writes) == shown(yjs, writes), seed


@pytest.mark.node
def test_trimming_deletes_all_other_values_and_keeps_the_one_shown(yjs: YjsOracle) -> None:
    for seed in range(50):
        writes = random_tree(Random(seed))
        trimmed = trim(encode(writes))
        want, have = yjs.load_each([[encode(writes)], [trimmed]], {"m": "map"})
        assert (have.json, have.deletes) == (want.json, want.deletes)
        values = [s for section in parse(trimmed).sections for s in section.structs if s.ref == 8]
        assert len(values) == 1


def test_thirty_thousand_writes_leave_one_value() -> None:
    chain: list[Write] = [((7, clock), (7, clock - 1) if clock else None, None) for clock in range(30_000)]
    assert last_of(chain) == (7, 29_999)
    trimmed = trim(encode(chain))
    assert len(trimmed) < 60
    assert b"29999" in trimmed


def test_ten_thousand_concurrent_writes_cost_no_square() -> None:
    writes: list[Write] = [((client, 0), None, None) for client in range(1, 10_001)]
    started = time.process_time()
    trimmed = trim(encode(writes))
    assert time.process_time() - started < 5
    assert last_of(writes) == (10_000, 0)
    assert sum(s.ref == 8 for section in parse(trimmed).sections for s in section.structs) == 1


def tangle(number: int) -> list[Write]:
    """Concurrent writes with a right origin, which no honest client makes: every one conflicts with every other."""
    return [((1, 0), None, None), *(((client, 0), None, (1, 0)) for client in range(2, number + 1))]


def test_a_tangle_up_to_the_bound_is_resolved() -> None:
    started = time.process_time()
    trimmed = trim(encode(tangle(MAX_TANGLED)))
    assert time.process_time() - started < 10
    assert sum(s.ref == 8 for section in parse(trimmed).sections for s in section.structs) == 1


def test_a_tangle_over_the_bound_is_left_to_the_engines() -> None:
    document = encode(tangle(MAX_TANGLED + 1))
    started = time.process_time()
    trimmed = trim(document)
    assert time.process_time() - started < 2
    assert sum(s.ref == 8 for section in parse(trimmed).sections for s in section.structs) == MAX_TANGLED + 1
    assert last_entries(parse(document))["m", "k"] == (MAX_TANGLED + 1, 0)  # the greatest (clock, client)


def test_a_link_out_of_the_list_is_left_to_the_engines() -> None:
    strange: list[Write] = [((1, 0), None, None), ((2, 0), None, (1, 0)), ((3, 0), (1, 0), (9, 0))]
    other = b"\x01\x01\x09\x00\x04\x01\x01t\x01x\x00"
    section = parse(other).sections[0]
    document = parse(encode(strange))
    sections = [(c, k, len(s), document.update[s[0].start : s[-1].end]) for c, k, s, _ in document.sections]
    sections.append((9, 0, 1, other[section.structs[0].start : section.structs[0].end]))
    trimmed = trim(encode_update(sections, ()))
    assert sum(s.ref == 8 for part in parse(trimmed).sections for s in part.structs) == 3

"""Bytes made to hurt.

The reader refuses them or takes them, in steps that grow with the bytes alone, and never breaks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

import pytest
from kit.mutated_updates import BASE, CRASHERS, honest, mutate

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.lib0 import varbytes, varstring, varuint
from crdt_docs.updates.compose import last_entries
from crdt_docs.updates.parse import MAX_CLOCK, Parsed, parse
from crdt_docs.updates.splice import Spliced, merge
from crdt_docs.updates.trim import trim
from crdt_docs.updates.vectors import DeleteSet, decode_state_vector

REFUSED = {
    "panic_blockset_exclude": [Malformed],
    "segfault_in_apply": [Malformed, Malformed, None],
    "sigbus_or_hang_1": [Malformed, Malformed, TooLarge],
    "emoji_in_array_root": [None],
}
"""What the reader says of each update that crashes or hangs an engine. None: read, and the gate's to judge."""
STEPS_PER_BYTE = 40
STEPS_FOR_NOTHING = 200


class TooManySteps(BaseException):
    """Not an Exception, so that nothing under test can catch it."""


@contextmanager
def bounded_steps(size: int) -> Iterator[None]:
    """Count the lines that run inside, and stop at a number that is linear in the size in bytes."""
    left = STEPS_PER_BYTE * size + STEPS_FOR_NOTHING

    def count(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooManySteps
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)


def read(data: bytes, size: int | None = None) -> Parsed | type[Malformed]:
    """What the reader makes of bytes, as if there were ``size`` of them; any error but its own two fails the test."""
    with bounded_steps(len(data) if size is None else size):
        try:
            return parse(data)
        except Malformed as error:
            return type(error)


def use(parsed: Parsed) -> None:
    """Do with accepted bytes all that is done without an engine: each refuses by ValueError or does it."""
    document = Spliced()
    try:
        document.add(parsed)
    except ValueError:
        pass
    else:
        assert parse(document.full()) is not None
    for work in (lambda: trim(parsed.update), lambda: merge([parsed.update]), lambda: last_entries(parsed)):
        try:
            work()
        except ValueError:
            pass


def wrap(*structs: bytes, deletes: bytes = b"\x00") -> bytes:
    return b"\x01" + varuint(len(structs)) + b"\x07\x00" + b"".join(structs) + deletes


@pytest.mark.parametrize("case", CRASHERS["cases"], ids=lambda case: case["name"])
def test_what_crashes_an_engine_is_refused_or_read_without_harm(case: dict[str, Any]) -> None:
    verdicts: list[type[Malformed] | None] = []
    for number, update in enumerate(map(bytes.fromhex, case["updates"])):
        found = read(update)
        verdicts.append(found if isinstance(found, type) else None)
        if isinstance(found, Parsed):
            use(found)
        elif number == 0:
            with pytest.raises(Malformed):
                merge([BASE, update])
    assert verdicts == REFUSED[case["name"]]


def test_the_document_that_the_crashers_build_on_is_honest() -> None:
    found = read(BASE)
    assert isinstance(found, Parsed)
    assert trim(trim(BASE)) == trim(BASE)


@pytest.mark.parametrize("first", range(0, 256, 32))
def test_no_five_bytes_are_a_bomb(first: int) -> None:
    r = Random(first)
    extremes = (0, 1, 2, 7, 10, 127, 128, 129, 255)
    for byte in range(first, first + 32):
        for _ in range(120):
            data = bytes((byte, *(r.choice(extremes) if r.random() < 0.7 else r.randrange(256) for _ in range(4))))
            found = read(data)
            if isinstance(found, Parsed):
                use(found)


BOMBS = {
    "sections": varuint(2**29) + b"\x00",
    "structs": b"\x01" + varuint(2**29) + b"\x07\x00",
    "delete clients": b"\x00" + varuint(2**29),
    "delete ranges": b"\x00\x01\x07" + varuint(2**29),
    "values": wrap(b"\x08\x01\x01a" + varuint(2**29)),
    "members": wrap(b"\x08\x01\x01a\x01\x76" + varuint(2**29)),
    "items": wrap(b"\x08\x01\x01a\x01\x75" + varuint(2**29)),
    "a string": wrap(b"\x04\x01\x01a" + varuint(2**29)),
    "bytes": wrap(b"\x03\x01\x01a" + varuint(2**53 - 1)),
    "a name": wrap(b"\x04\x01" + varuint(2**40)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_bytes_that_claim_millions_cost_a_few_steps(name: str) -> None:
    """Attack 32."""
    assert read(BOMBS[name]) is Malformed


def test_a_state_vector_of_five_bytes_that_claims_millions_costs_a_few_steps() -> None:
    """Attack 34."""
    for decode in (decode_state_vector, DeleteSet.decode):
        with pytest.raises(Malformed), bounded_steps(5):
            decode(varuint(2**29))


def test_clocks_that_a_few_bytes_claim_are_held_to_32_bits_and_cost_nothing() -> None:
    for content in (b"\x00", b"\x01\x01\x01a", b"\x21\x01\x01a\x01k"):
        most = wrap(content + varuint(MAX_CLOCK), deletes=b"\x01\x07\x01\x00" + varuint(MAX_CLOCK))
        found = read(most)
        assert isinstance(found, Parsed)
        with bounded_steps(20 * len(most)):
            use(found)
        assert read(wrap(content + varuint(MAX_CLOCK + 1))) is TooLarge
    assert read(wrap(b"\x00" + varuint(MAX_CLOCK), b"\x00\x01")) is TooLarge
    assert read(b"\x00\x01\x07\x01" + varuint(MAX_CLOCK) + b"\x01") is TooLarge


@pytest.mark.parametrize(
    "deep",
    [
        b"\x75\x01" * 100_000 + b"\x7e",
        b"\x76\x01\x01k" * 100_000 + b"\x7e",
        b"\x75\x02\x76\x01\x00" * 50_000,
    ],
    ids=["lists", "objects", "both"],
)
def test_values_nested_a_hundred_thousand_deep_are_too_large(deep: bytes) -> None:
    """Attack 30."""
    assert read(wrap(b"\x08\x01\x01a\x01" + deep)) is TooLarge


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"k":' * 50_000 + "1" + "}" * 50_000])
def test_json_nested_a_hundred_thousand_deep_is_refused(text: str) -> None:
    for head in (b"\x05\x01\x01a", b"\x06\x01\x01a" + varstring("bold")):
        assert read(wrap(head + varstring(text))) in (TooLarge, Malformed)


def test_brackets_inside_a_json_string_are_no_depth() -> None:
    assert isinstance(read(wrap(b"\x05\x01\x01a" + varstring(json.dumps("[{" * 5_000 + '"\\')))), Parsed)


def test_nested_types_are_no_matter_of_the_reader_but_never_of_recursion() -> None:
    body = [b"\x27\x01\x01m\x01k\x01", *(b"\x27\x00\x07" + varuint(n) + b"\x01k\x01" for n in range(5_000))]
    found = read(wrap(*body))
    assert isinstance(found, Parsed)
    use(found)


@pytest.mark.parametrize("size", [8, 9, 200_000])
@pytest.mark.parametrize("last", [b"\x01", b"\x00", b""], ids=["one", "overlong", "endless"])
def test_a_varint_of_any_length_over_eight_bytes_is_refused_at_the_ninth(size: int, last: bytes) -> None:
    long = b"\xff" * size + last
    for data in (
        long,
        b"\x01" + long,
        b"\x01\x01" + long,
        b"\x01\x01\x07" + long,
        b"\x00\x01" + long,
        wrap(b"\x04\x01" + long),
    ):
        assert read(data, size=16) is Malformed
    for value in (b"\x7d" + b"\xff" * size + last, b"\x77" + long, b"\x75" + long, b"\x76" + long, b"\x74" + long):
        assert read(wrap(b"\x08\x01\x01a\x01" + value), size=16) is Malformed


def test_very_many_of_the_shortest_things_take_linear_steps() -> None:
    things = {
        "gc": wrap(*[b"\x00\x01"] * 10_000),
        "values": wrap(b"\x08\x01\x01a" + varuint(20_000) + b"\x7e" * 20_000),
        "empty lists": wrap(b"\x08\x01\x01a\x01\x75" + varuint(10_000) + b"\x75\x00" * 10_000),
        "clients": varuint(4_000) + b"".join(b"\x01" + varuint(c) + b"\x00\x00\x01" for c in range(4_000)) + b"\x00",
        "ranges": b"\x00\x01\x07" + varuint(6_000) + b"".join(varuint(2 * c) + b"\x01" for c in range(6_000)),
    }
    for name, data in things.items():
        assert isinstance(read(data), Parsed), name


def check_mutations(seed: int, rounds: int) -> int:
    r = Random(seed)
    corpus = honest()
    accepted = 0
    for _ in range(rounds):
        mutant = r.choice(corpus)
        for _ in range(r.choice((1, 1, 2, 5))):
            changed = mutate(r, mutant, r.choice(corpus))
            found = read(changed)
            if not isinstance(found, Parsed):
                break
            accepted += 1
            use(found)
            mutant = changed
            if not mutant:
                break
    return accepted


def test_mutants_of_honest_updates_are_refused_or_read_and_never_break_anything() -> None:
    """Attack 32."""
    assert check_mutations(1, 4_000) > 400


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 30))
def test_many_mutants_of_honest_updates_are_refused_or_read(seed: int) -> None:
    check_mutations(seed, 50_000)


def test_random_bytes_are_refused_or_read() -> None:
    r = Random(5)
    for _ in range(5_000):
        found = read(r.randbytes(r.randint(0, 60)))
        if isinstance(found, Parsed):
            use(found)


def test_byte_arrays_hold_any_bytes_wherever_they_stand() -> None:
    for raw in (b"", b"\x00", b"\x7f" * 130, bytes(range(256))):
        for content in (b"\x03\x01\x01a" + varbytes(raw), b"\x08\x01\x01a\x01\x75\x02\x74" + varbytes(raw) + b"\x7e"):
            assert isinstance(read(wrap(content, b"\x00\x01")), Parsed)

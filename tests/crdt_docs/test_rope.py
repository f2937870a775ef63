"""Long messages that are read off the document rather than held."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pycrdt import Doc, Text

from crdt_docs.messages.ywebsocket import step2_frame, step2_rope, update_frame, update_rope
from crdt_docs.rope import Rope, Stretch
from crdt_docs.updates.parse import parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.vectors import decode_state_vector


def test_a_rope_is_its_pieces_in_slices_of_any_size() -> None:
    body = bytearray(b"0123456789")
    rope = Rope((b"ab", Stretch(body, 2, 9), b"", Stretch(body, 4, 4), b"yz"))
    whole = b"ab2345678yz"
    assert len(rope) == len(whole)
    assert bytes(rope) == whole
    for size in range(1, 15):
        slices = list(rope.slices(size))
        assert b"".join(slices) == whole
        assert [len(piece) for piece in slices[:-1]] == [size] * (len(slices) - 1)
    assert bytes(rope.after(b"head ")) == b"head " + whole
    assert rope.startswith(b"ab23")
    assert not rope.startswith(b"ab3")
    assert rope.startswith(b"")
    assert list(Rope(()).slices(4)) == []
    assert bytes(Rope(())) == b""


@pytest.mark.parametrize("seed", range(20))
def test_a_rope_stays_what_it_was_while_the_document_grows(seed: int) -> None:
    chance = random.Random(seed)
    docs = [Doc[Any]() for _ in range(3)]
    texts = [doc.get("t", type=Text) for doc in docs]
    document = Spliced()
    ropes: list[tuple[Rope, bytes]] = []
    states = [b"\0"]
    for _ in range(60):
        at = chance.randrange(3)
        before = docs[at].get_state()
        if len(texts[at]) > 20 and chance.random() < 0.3:
            start = chance.randrange(len(texts[at]) - 5)
            del texts[at][start : start + 5]
        else:
            texts[at].insert(chance.randrange(len(texts[at]) + 1), "some words" * chance.randrange(1, 400))
        update = docs[at].get_update(before)
        for doc in docs:
            doc.apply_update(update)
        parsed = parse(update)
        document.add(parsed)
        states.append(docs[0].get_state())
        ropes.append((update_rope(document.rope_of(parsed)), update_frame(update)))
        have = decode_state_vector(chance.choice(states), 100)
        ropes.append((step2_rope(document.rope(have)), step2_frame(document.diff(have))))
    mirror = Spliced()
    for rope, frame in ropes:
        if frame[1] == 1:
            assert bytes(rope) == frame
            assert b"".join(rope.slices(1_000)) == frame
        else:
            at = 3 if len(rope) < 131 else 4 if len(rope) < 16_388 else 5
            mirror.add(parse(bytes(rope)[at:]))
    assert mirror.full() == document.full()

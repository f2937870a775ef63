from __future__ import annotations

import pytest

from agent.pipe import (
    Alive,
    Begin,
    Boundary,
    Ended,
    Grant,
    Proposed,
    Queued,
    Ready,
    Stop,
    read_for_host,
    read_for_worker,
    write_line,
)
from crdt_docs.errors import Malformed

BEGIN = Begin("t", "task", 2, ("m1", "m2"), "a", "secret", "Clew", "ana", True, "zh")


def test_every_word_is_read_as_it_was_written() -> None:
    for order in (BEGIN, Grant("g"), Queued(("m",)), Queued(()), Stop()):
        assert read_for_worker(write_line(order)) == order
    for word in (
        Ready(7, "why"),
        Alive(),
        Boundary(),
        Proposed("名"),
        Ended("done", ("m",)),
        Ended("failed", (), "why"),
        Ended("done", ("m",), None, "elsewhere"),
    ):
        assert read_for_host(write_line(word)) == word
        assert write_line(word).count(b"\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'"ended"',
        b'{"word": "nobody"}',
        b'{"word": ["ended"]}',
        b'{"word": "ended", "outcome": "splendid"}',
        b'{"word": "ended", "outcome": "done", "covered": [1]}',
        b'{"word": "ended", "outcome": "done", "covered": "m"}',
        b'{"word": "ended", "outcome": "done", "more": 1}',
        b'{"word": "proposed", "name": 5}',
        b'{"word": "proposed", "name": "half \\ud83d"}',
        b'{"word": "ended"}',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_word_is_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        read_for_host(line)


def test_a_worker_cannot_speak_the_hosts_words() -> None:
    with pytest.raises(Malformed):
        read_for_host(write_line(Grant("x")))
    with pytest.raises(Malformed):
        read_for_worker(write_line(Alive()))

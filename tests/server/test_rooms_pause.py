"""How long the log's writer waits for company."""

from __future__ import annotations

from server.rooms.writer import LONGEST, SHARED, pause


def test_two_who_write_to_each_other_wait_for_little_and_the_more_documents_the_more_share_a_commit() -> None:
    pauses = [pause(documents, 0.0002) for documents in range(1, 100)]
    assert pauses == sorted(pauses)
    assert pauses[0] <= 0.001
    assert pauses[-1] == SHARED


def test_a_slow_disk_gets_larger_groups_up_to_a_bound_and_one_document_alone_its_own_pace() -> None:
    assert pause(1, 0.015) == pause(1, 0.0)
    assert pause(2, 0.004) == 0.008
    assert pause(100, 3.0) == LONGEST

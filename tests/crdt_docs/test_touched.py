"""Which entries changed since a state: against what was really done, over random edits by several replicas."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from crdt_docs.updates.parse import parse
from crdt_docs.updates.splice import diff
from crdt_docs.updates.touched import Path, places, touched
from crdt_docs.updates.trim import trim
from crdt_docs.updates.vectors import StateVector, decode_state_vector
from crdt_docs.working_set import WorkingSet

ROOTS = ("constraints", "decisions", "questions", "outputs")


class Replica:
    """One peer; notes in ``done`` which entry each of its edits touched."""

    def __init__(self, client: int) -> None:
        self.doc: Doc[Any] = Doc(client_id=client)
        self.work = WorkingSet(self.doc, str(client), lambda: 1)
        self.done: set[tuple[str, str]] = set()

    @property
    def state(self) -> StateVector:
        return decode_state_vector(self.doc.get_state())

    def edit(self, draw: random.Random) -> None:
        root = draw.choice(ROOTS)
        entries: Map[Any] = self.doc.get(root, type=Map)
        known = sorted(entries.keys())
        if not known or draw.random() < 0.3:
            self.done.add((root, self.add(root, draw)))
            return
        key = draw.choice(known)
        entry = entries[key]
        self.done.add((root, key))
        match draw.randrange(4):
            case 0:
                text: Text = entry["title"] if root == "outputs" else entry["text"]
                text.insert(draw.randrange(len(str(text)) + 1), draw.choice("xyz"))
            case 1:
                entry["note"] = draw.randrange(9)
            case 2 if root == "questions":
                self.work.answer(key, "yes")
            case 3 if root == "constraints":
                self.work.retire(key)
            case _:
                entry["more"] = Map({"deep": Text("words")})

    def add(self, root: str, draw: random.Random) -> str:
        match root:
            case "constraints":
                return self.work.add_constraint("must")
            case "decisions":
                return self.work.decide("so")
            case "questions":
                return self.work.ask("why?")
            case _:
                return self.work.add_output("paper", "# Title\n\nwords")

    def hear(self, other: Replica) -> None:
        self.doc.apply_update(other.doc.get_update(self.doc.get_state()))


@pytest.mark.parametrize("seed", range(40))
def test_exactly_the_entries_that_were_touched_are_found(seed: int) -> None:
    draw = random.Random(seed)
    replicas = [Replica(client) for client in (11, 7_000_000, 4_000_000_000)]
    for _ in range(draw.randrange(10, 30)):
        one, other = draw.sample(replicas, 2)
        one.edit(draw)
        if draw.random() < 0.5:
            other.hear(one)
    reader = replicas[0]
    for other in replicas[1:]:
        reader.hear(other)
        other.hear(reader)
    for other in replicas:
        reader.hear(other)
        other.done.clear()
    since = reader.state
    before = {(root, key) for root in ROOTS for key in reader.doc.get(root, type=Map).keys()}
    for _ in range(draw.randrange(0, 12)):
        one, other = draw.sample(replicas[1:], 2)
        one.edit(draw)
        if draw.random() < 0.5:
            other.hear(one)
    for other in replicas[1:]:
        reader.hear(other)
    done = {place for other in replicas[1:] for place in other.done}
    update = reader.doc.get_update()
    for whole in (update, trim(update)):
        found = touched(parse(whole), since)
        places_found = {(touch.path.root, touch.path.key) for touch in found}
        assert places_found == done
        made = {(touch.path.root, touch.path.key) for touch in found if touch.made and touch.path.field is None}
        assert made == done - before
        clocks = sum(after - first for touch in found for _, first, after in touch.spans)
        assert clocks <= sum(s.end - s.clock for s in parse(diff(whole, since)).sections)


def test_nothing_is_touched_since_now_and_a_part_of_a_document_is_refused() -> None:
    replica = Replica(5)
    replica.work.decide("so")
    half = replica.state
    replica.work.decide("and so")
    assert touched(parse(replica.doc.get_update()), replica.state) == []
    with pytest.raises(ValueError, match="whole"):
        touched(parse(diff(replica.doc.get_update(), half)), {})


def test_where_something_was_deleted_is_told_before_and_after_trimming() -> None:
    replica = Replica(5)
    kept, gone = replica.work.add_constraint("must not"), replica.work.decide("so")
    text = {touch.path: touch for touch in touched(parse(replica.doc.get_update()), {})}
    entry, words = Path("decisions", gone), Path("constraints", kept, "text")
    assert text[entry].made and not text[words].made
    ids = [(5, text[entry].spans[0][1]), (5, text[words].spans[0][1])]
    replica.doc.get("decisions", type=Map).pop(gone)
    replica.work.edit_words("constraints", kept, "text", 4, 4)
    update = replica.doc.get_update()
    for whole in (update, trim(update)):
        assert places(parse(whole), [*ids, (5, 999), (6, 0)]) == [entry, words, None, None]


def test_a_value_that_is_set_again_was_not_made() -> None:
    replica = Replica(5)
    root: Map[Any] = replica.doc.get("decisions", type=Map)
    root["d"] = "so"
    since = replica.state
    root["d"] = "not so"
    root["d"] = "or so"
    root["e"] = "this"
    found = {touch.path: touch.made for touch in touched(parse(replica.doc.get_update()), since)}
    assert found == {Path("decisions", "d"): False, Path("decisions", "e"): True}

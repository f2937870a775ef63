"""A gate restored from the log by the short road: it is what the long road makes of it, and what was admitted."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs import slices
from crdt_docs.updates.parse import FRAGMENT_TYPE, MAP_TYPE, TEXT_TYPE, parse
from crdt_docs.updates.splice import Spliced
from server.domain.access import PrincipalKey
from server.domain.log import Claim
from server.rooms.gate import Gate
from server.rooms.verdict import Admit, Run, Shape

ANN, WEI = PrincipalKey("ann"), PrincipalKey("wei")
SHAPE = Shape({"messages": MAP_TYPE, "title": TEXT_TYPE, "body": FRAGMENT_TYPE}, frozenset({"paragraph"}))


class Writer:
    """Somebody who does a bit of everything, mostly typing."""

    def __init__(self, client: int, dice: random.Random) -> None:
        self.doc = Doc[Any](client_id=client)
        self.dice = dice
        self.said: list[bytes] = []
        self.doc.observe(lambda event: self.said.append(event.update))
        self.texts = [self.doc.get("t", type=Text), self.doc.get("title", type=Text)]
        self.map, self.list = self.doc.get("m", type=Map), self.doc.get("l", type=Array)
        self.body = self.doc.get("body", type=XmlFragment)

    def act(self) -> None:
        dice = self.dice
        kind = dice.random()
        texts: list[Any] = [*self.texts, *(child for node in self.body.children for child in node.children)]
        text = dice.choice(texts)
        length = len(str(text)) if isinstance(text, XmlText) else len(text)
        if kind < 0.6:
            text.insert(dice.randint(0, length), dice.choice(["a", "b", "word "]))
        elif kind < 0.75 and length:
            at = dice.randrange(length)
            del text[at : min(length, at + dice.randint(1, 2))]
        elif kind < 0.82:
            self.map[dice.choice("kl")] = dice.choice(["v", 1, None, Text("in it"), Map({"k": 1})])
        elif kind < 0.86:
            self.list.append(dice.choice(["v", 1, Text("in it")]))
        elif kind < 0.92:
            self.body.children.append(XmlElement("paragraph", {"id": "p"}, [XmlText("x")]))
        elif kind < 0.94 and len(self.body.children):
            del self.body.children[dice.randrange(len(self.body.children))]
        elif isinstance(text, Text) and length:
            text.format(0, length, {"bold": True})


@pytest.mark.parametrize("seed", range(6))
def test_a_log_is_restored_by_the_short_road_to_what_the_long_one_makes_of_it(seed: int) -> None:
    dice = random.Random(seed)
    gate, log, cut = Gate(SHAPE), list[bytes](), (b"", 0)
    writers = [(Writer(3_000_000_001, dice), ANN), (Writer(2**31 + 5, dice), WEI), (Writer(7, dice), ANN)]
    for step in range(200):
        writer, who = dice.choice(writers)
        writer.act()
        said, writer.said[:] = [(update, "update") for update in writer.said], []
        if dice.random() < 0.15:  # some of it is lost on the way, and comes as an answer to us: whole runs, holes, gaps
            said = [(dice.choice(writers)[0].doc.get_update(), "step2")]
        for update, kind in said:
            verdict = gate.admit(parse(update), who, "step2" if kind == "step2" else "update")
            if isinstance(verdict, Admit) and verdict.update:
                gate.apply(verdict)
                log.append(verdict.update)
        if dice.random() < 0.4:
            other, _ = dice.choice(writers)
            other.doc.apply_update(writer.doc.get_update(other.doc.get_state()))
            other.said.clear()
        if step == 100:
            cut = (gate.dump(), len(log))
    for state, after in ((b"", 0), cut):
        claims = [Claim(client, who, dice.random() < 0.5) for client, who in ((7, ANN), (2**31 + 5, WEI))]
        quick, slow = Gate(SHAPE, claims), Gate(SHAPE, claims)
        short = 0
        if state:
            assert quick.load(state) and slow.load(state)
        for update in log[after:]:
            taken = quick.restore_keystroke(parse(update))
            short += taken
            if not taken:
                quick.restore(parse(update))
            slow.restore(parse(update))
            assert quick.dump() == slow.dump()
        assert short > (20 if not after else 0)
        for one in (quick, slow):
            assert (one.state_vector, _runs(one), one.types) == (gate.state_vector, _runs(gate), gate.types)
            assert dict(one.deleted.items()) == dict(gate.deleted.items())
    document = Spliced()
    for update in log:
        document.add(parse(update))
    one = _loaded(document)
    assert (one.state_vector, _runs(one), one.types) == (gate.state_vector, _runs(gate), gate.types)
    assert dict(one.deleted.items()) == dict(gate.deleted.items()) == dict(document.deletes.items())


def _runs(gate: Gate) -> dict[int, tuple[list[int], list[Run]]]:
    return {client: (list(starts), runs) for client, (starts, runs) in gate.runs.items()}


def _loaded(document: Spliced) -> Gate:
    """One that was told its deletions by the document, and all else by what a snapshot has of it."""
    first, gate = Gate(SHAPE), Gate(SHAPE)
    first.restore(parse(document.full()))
    state = b"\n".join(line for line in first.dump().split(b"\n") if not line.startswith(b'["deleted"'))
    assert slices.finish(gate.load_in_slices(state, document.deletes))
    assert not first.deleted or gate.dump() == first.dump()
    gate.deleted.add(1, 2, 3)
    assert not document.deletes.covers(1, 2, 3), "what it comes to delete is its own"
    gate = Gate(SHAPE)
    assert slices.finish(gate.load_in_slices(first.dump(), document.deletes))
    return gate


def test_a_letter_that_does_not_fit_the_log_takes_the_long_road() -> None:
    writer = Writer(3_000_000_001, random.Random(1))
    for letter in "abc":
        writer.texts[0].insert(len(writer.texts[0]), letter)
    first, second, third = map(parse, writer.said)
    gate = Gate(SHAPE)
    assert not gate.restore_keystroke(second), "before its neighbour"
    gate.restore(first)
    before = gate.dump()
    assert not gate.restore_keystroke(first) and not gate.restore_keystroke(third) and gate.dump() == before
    assert gate.restore_keystroke(second)

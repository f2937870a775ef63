"""The gate's short road for typing: whatever it decides, the long one decides alike."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pycrdt import Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs import slices
from crdt_docs.updates.parse import FRAGMENT_TYPE, MAP_TYPE, TEXT_TYPE, parse
from server.domain.access import PrincipalKey
from server.domain.log import Claim
from server.rooms.admission import Admission, Gap, Refused
from server.rooms.gate import Gate
from server.rooms.keystroke import admit_keystroke
from server.rooms.verdict import Admit, Shape, Verdict

ANN, WEI = PrincipalKey("ann"), PrincipalKey("wei")
SHAPE = Shape({"messages": MAP_TYPE, "title": TEXT_TYPE, "body": FRAGMENT_TYPE}, frozenset({"paragraph"}))


def decide(gate: Gate, update: bytes, who: PrincipalKey) -> Verdict:
    """What the long road says."""
    try:
        return slices.finish(Admission(gate, parse(update), who, "update").run())
    except (Refused, Gap) as refused:
        return refused.verdict


class Writer:
    """Somebody who does a bit of everything, mostly typing."""

    def __init__(self, client: int, dice: random.Random) -> None:
        self.doc = Doc[Any](client_id=client)
        self.dice = dice
        self.said: list[bytes] = []
        self.doc.observe(lambda event: self.said.append(event.update))
        self.plain, self.title = self.doc.get("t", type=Text), self.doc.get("title", type=Text)
        self.map, self.body = self.doc.get("m", type=Map), self.doc.get("body", type=XmlFragment)

    def act(self) -> None:
        dice = self.dice
        kind = dice.random()
        texts: list[Any] = [self.plain, self.title]
        if len(self.body.children):
            texts += [child for node in self.body.children for child in node.children]
        text = dice.choice(texts)
        length = len(str(text)) if isinstance(text, XmlText) else len(text)
        if kind < 0.7:
            text.insert(dice.randint(0, length), dice.choice(["a", "b", "word "]))
        elif kind < 0.8 and length:
            at = dice.randrange(length)
            del text[at : at + 1]
        elif kind < 0.87:
            self.map[dice.choice("kl")] = dice.choice(["v", 1, None])
        elif kind < 0.93:
            self.body.children.append(XmlElement("paragraph", {}, [XmlText("x")]))
        elif isinstance(text, Text) and length:
            text.format(0, length, {"bold": True})


@pytest.mark.parametrize("seed", range(6))
def test_a_letter_is_decided_as_the_long_road_decides_it(seed: int) -> None:
    dice = random.Random(seed)
    gate = Gate(SHAPE)
    ann, wei = Writer(3_000_000_001, dice), Writer(2**31 + 5, dice)
    short = [0, 0]
    for _ in range(250):
        writer, who = dice.choice([(ann, ANN), (wei, WEI)])
        writer.act()
        said, writer.said[:] = list(writer.said), []
        for update in said:
            for principal in (who, WEI if who is ANN else ANN):
                quick = admit_keystroke(gate, parse(update), principal)
                expected = decide(gate, update, principal)
                assert quick is None or quick == expected
                assert gate.admit(parse(update), principal, "update") == expected
                short[bool(parse(update).deletes)] += quick is not None
            verdict = gate.admit(parse(update), who, "update")
            assert isinstance(verdict, Admit)
            gate.apply(verdict)
            assert admit_keystroke(gate, parse(update), who) is None, "known already"
        if dice.random() < 0.4:
            other = wei if writer is ann else ann
            other.doc.apply_update(writer.doc.get_update(other.doc.get_state()))
            other.said.clear()
    assert short[0] > 50 and short[1] > 20


def test_a_letter_of_a_claim_that_is_not_final_or_not_its_own_takes_the_long_road() -> None:
    writer = Writer(3_000_000_001, random.Random(1))
    writer.plain.insert(0, "a")
    writer.plain.insert(1, "b")
    first, second = map(parse, writer.said)
    for claim, quick in ((ANN, True), (WEI, False)):
        gate = Gate(SHAPE)
        verdict = gate.admit(first, ANN, "update")
        assert isinstance(verdict, Admit)
        gate.apply(verdict)
        gate.claims[3_000_000_001] = Claim(3_000_000_001, claim, False)
        assert (admit_keystroke(gate, second, ANN) is not None) is quick
        gate.claims[3_000_000_001] = Claim(3_000_000_001, ANN, True)
        assert admit_keystroke(gate, second, ANN) is None

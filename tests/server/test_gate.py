"""The gate: what enters a document, what is left out, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs.errors import Malformed
from crdt_docs.lib0 import varstring, varuint
from crdt_docs.updates.parse import MAP_TYPE, parse
from crdt_docs.updates.splice import Spliced, encode_update
from server.domain.access import PrincipalKey
from server.domain.log import Claim
from server.rooms.gate import Gate
from server.rooms.shapes import SHAPES
from server.rooms.verdict import Admit, Kind, Refuse, Resync, Shape, Verdict

ANN = PrincipalKey("user:ann")
WEI = PrincipalKey("user:wei")
SHAPE = Shape({"messages": MAP_TYPE, "meta": MAP_TYPE}, frozenset({"paragraph"}), frozenset({"bold"}))


Replica = Doc[Any]


def text_updates(words: list[str], client: int = 7) -> list[bytes]:
    doc = Replica(client_id=client)
    doc["t"] = text = Text()
    out: list[bytes] = []
    subscription = doc.observe(lambda event: out.append(event.update))
    for word in words:
        text += word
    doc.unobserve(subscription)
    return out


def admit(gate: Gate, update: bytes, who: PrincipalKey = ANN, kind: Kind = "update") -> Verdict:
    verdict = gate.admit(parse(update), who, kind)
    if isinstance(verdict, Admit) and verdict.update:
        assert parse(verdict.update) == verdict.parsed, "what is admitted reads as it was put together"
        gate.apply(verdict)
    return verdict


def test_i1_what_is_known_already_is_cut_and_never_admitted_twice() -> None:
    first, second = text_updates(["hello ", "world"])
    gate = Gate(SHAPE)
    assert isinstance(admit(gate, first), Admit)
    both = Spliced()
    both.add(parse(first))
    both.add(parse(second))
    verdict = admit(gate, both.full())
    assert isinstance(verdict, Admit)
    assert parse(verdict.update).sections[0].clock == 6
    again = admit(gate, both.full())
    assert isinstance(again, Admit)
    assert again.update == b""


def test_i1_a_struct_that_is_partly_known_is_split() -> None:
    gate = Gate(SHAPE)
    admit(gate, encode_update([(7, 0, 1, b"\x04\x01" + varstring("t") + varstring("abc"))], []))
    longer = encode_update([(7, 0, 1, b"\x04\x01" + varstring("t") + varstring("abcdef"))], [])
    verdict = admit(gate, longer)
    assert isinstance(verdict, Admit)
    struct = verdict.parsed.sections[0].structs[0]
    assert (struct.clock, struct.length, struct.origin) == (3, 3, (7, 2))


def test_a_gap_in_an_update_asks_for_a_resync_and_changes_nothing() -> None:
    """Attack 31."""
    _, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    verdict = admit(gate, second)
    assert isinstance(verdict, Resync)
    assert verdict.lacking == (7, 0)
    assert gate.state_vector == {}


def test_a_step2_is_admitted_in_part_up_to_what_it_lacks() -> None:
    one = text_updates(["x"], client=1)[0]
    late = text_updates(["a", "b"], client=2)[1]
    body = parse(one).sections[0].structs[0]
    mixed = encode_update(
        [
            (2, 1, 1, late[parse(late).sections[0].structs[0].start : parse(late).sections[0].structs[0].end]),
            (1, 0, 1, one[body.start : body.end]),
        ],
        [(2, [(0, 1)])],
    )
    gate = Gate(SHAPE)
    verdict = admit(gate, mixed, kind="step2")
    assert isinstance(verdict, Admit)
    assert gate.state_vector == {1: 1}
    assert set(verdict.lacking) == {(2, 0)}
    assert not verdict.parsed.deletes


def test_a_skip_cuts_a_step2_and_makes_a_gap_of_an_update() -> None:
    head = b"\x04\x01" + varstring("t") + varstring("a")
    update = encode_update([(5, 0, 2, head + b"\x0a\x03")], [])
    assert isinstance(admit(Gate(SHAPE), update), Resync)
    verdict = admit(Gate(SHAPE), update, kind="step2")
    assert isinstance(verdict, Admit)
    assert verdict.parsed.sections[0].end == 1


def test_sections_that_need_each_other_in_turn_are_resolved_in_dependency_order() -> None:
    a, b = Replica(client_id=1), Replica(client_id=2)
    a["t"], b["t"] = Text(), Text()
    for _ in range(3):
        a.get("t", type=Text).insert(0, "a")
        b.apply_update(a.get_update(b.get_state()))
        b.get("t", type=Text).insert(1, "b")
        a.apply_update(b.get_update(a.get_state()))
    verdict = admit(Gate(SHAPE), a.get_update())
    assert isinstance(verdict, Admit)
    assert verdict.lacking == ()


def test_structs_that_depend_on_each_other_in_a_cycle_are_refused() -> None:
    def one(origin: tuple[int, int]) -> bytes:
        return b"\x84" + varuint(origin[0]) + varuint(origin[1]) + varstring("x")

    verdict = admit(Gate(SHAPE), encode_update([(1, 0, 1, one((2, 0))), (2, 0, 1, one((1, 0)))], []))
    assert verdict == Refuse(4400, "structs that depend on each other in a cycle")


def test_i4_an_update_under_anothers_client_id_is_refused_4409() -> None:
    """Attack 29."""
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first)
    verdict = admit(gate, second, who=WEI)
    assert isinstance(verdict, Refuse)
    assert verdict.code == 4409
    assert isinstance(admit(gate, second), Admit)


def test_i4_a_gc_struct_of_two_thirds_of_the_clock_under_a_victims_id_is_refused() -> None:
    """Attack 29."""
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first)
    bomb = encode_update([(7, 1, 1, b"\x00" + varuint(2**31))], [])
    assert isinstance(admit(gate, bomb, who=WEI), Refuse)
    verdict = admit(gate, second)
    assert isinstance(verdict, Admit)
    assert verdict.update


def test_i4_a_step2_claims_provisionally_and_the_writers_own_update_overrides() -> None:
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first, who=WEI, kind="step2")
    assert gate.claims[7] == Claim(7, WEI, True)
    assert isinstance(admit(gate, second, who=ANN), Admit)
    assert gate.claims[7] == Claim(7, ANN, False)


def test_i4_a_neighbours_provisional_claim_does_not_shut_out_the_writers_own_step2() -> None:
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first, who=WEI, kind="step2")
    verdict = admit(gate, second, who=ANN, kind="step2")
    assert isinstance(verdict, Admit)
    assert verdict.update
    assert not verdict.lacking


def test_i4_a_step2_with_a_foreign_unsent_struct_is_admitted_without_it() -> None:
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first)
    verdict = admit(gate, second, who=WEI, kind="step2")
    assert isinstance(verdict, Admit)
    assert verdict.update == b""
    assert verdict.lacking == ((7, 1),)


def test_deletes_that_no_update_carried_are_admitted_once() -> None:
    first = text_updates(["abc"])[0]
    gate = Gate(SHAPE)
    admit(gate, first)
    news = encode_update([], [(7, [(0, 2)])])
    verdict = admit(gate, news, kind="step2")
    assert isinstance(verdict, Admit)
    assert verdict.parsed.deletes == [(7, [(0, 2)])]
    wider = admit(gate, encode_update([], [(7, [(0, 3)])]), kind="step2")
    assert isinstance(wider, Admit)
    assert wider.parsed.deletes == [(7, [(2, 1)])]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\x04\x01" + varstring("messages") + varstring("hi 😀"), "a map's entries have keys"),
        (b"\x07\x01" + varstring("messages") + b"\x00", "a map's entries have keys"),
        (b"\x24\x01" + varstring("messages") + varstring("k") + varstring("words"), "this content can't be a value"),
    ],
)
def test_type_confusion_under_a_pinned_root_is_refused(body: bytes, why: str) -> None:
    assert admit(Gate(SHAPE), encode_update([(9, 0, 1, body)], [])) == Refuse(4400, why)


def test_text_typed_into_an_unpinned_root_of_any_kind_is_admitted() -> None:
    body = b"\x04\x01" + varstring("items") + varstring("hi 😀")
    assert isinstance(admit(Gate(SHAPE), encode_update([(9, 0, 1, body)], [])), Admit)


def body_of(node: str, marks: dict[str, object]) -> bytes:
    doc = Replica(client_id=3)
    root: Map[Any] = Map()
    doc["messages"] = root
    root["m"] = fragment = XmlFragment()
    element = fragment.children.append(XmlElement(node))
    element.children.append(XmlText("hello")).format(0, 3, marks)
    return doc.get_update()


def test_under_a_pinned_root_nodes_and_marks_are_the_schemas() -> None:
    assert isinstance(admit(Gate(SHAPE), body_of("paragraph", {"bold": {}})), Admit)
    assert isinstance(admit(Gate(SHAPE), body_of("paragraph", {"bold--x1": {}})), Admit)
    assert admit(Gate(SHAPE), body_of("blink", {})) == Refuse(4400, "the document schema has no node 'blink'")
    assert admit(Gate(SHAPE), body_of("paragraph", {"blink": {}})) == Refuse(
        4400, "the document schema has no mark 'blink'"
    )


def put_in(*holders: str, child: str = "") -> Verdict:
    """What the gate of a main document says of a child in elements in a body; of words where no child is named."""
    doc = Replica(client_id=3)
    root: Map[Any] = Map()
    doc["messages"] = root
    inner: Any = XmlFragment()
    root["m"] = inner
    for holder in holders:
        inner = inner.children.append(XmlElement(holder))
    inner.children.append(XmlElement(child) if child else XmlText("words"))
    return admit(Gate(SHAPES["main"]), doc.get_update())


def test_under_a_pinned_root_nodes_stand_where_the_schema_has_a_place_for_them() -> None:
    for fitting in (put_in("paragraph"), put_in("bulletList", "listItem", "paragraph"), put_in(child="heading")):
        assert isinstance(fitting, Admit)
    assert put_in("paragraph", child="paragraph") == Refuse(
        4400, "the document schema has no 'paragraph' in a paragraph"
    )
    assert put_in("bulletList") == Refuse(4400, "the document schema has no 'text' in a bulletList")
    assert put_in(child="listItem") == Refuse(4400, "the document schema has no 'listItem' in a body")
    assert put_in() == Refuse(4400, "the document schema has no 'text' in a body")


def test_what_stands_in_what_is_known_after_a_restart_too() -> None:
    doc = Replica(client_id=3)
    root: Map[Any] = Map()
    doc["messages"] = root
    root["m"] = fragment = XmlFragment()
    element = fragment.children.append(XmlElement("paragraph"))
    gate, restarted = Gate(SHAPES["main"]), Gate(SHAPES["main"])
    admit(gate, doc.get_update())
    assert restarted.load(gate.dump())
    vector = doc.get_state()
    element.children.append(XmlElement("paragraph"))
    for each in (gate, restarted):
        assert isinstance(admit(each, doc.get_update(vector)), Refuse)


def test_between_a_neighbour_that_is_gone_and_one_that_lives_is_no_place() -> None:
    """Yjs drops such a struct, and yrs shows it. In what somebody deleted it is honest, and nowhere."""
    gate = Gate(SHAPE)
    admit(gate, encode_update([(7, 0, 1, b"\x04\x01" + varstring("t") + varstring("abc"))], []))
    admit(gate, encode_update([(9, 0, 1, b"\x00\x02")], []))  # collected
    for neighbours in (varuint(7) + b"\x00" + varuint(9) + b"\x00", varuint(9) + b"\x01" + varuint(7) + b"\x02"):
        between = encode_update([(8, 0, 1, b"\xc4" + neighbours + varstring("x"))], [])
        assert isinstance(admit(gate, between), Refuse)
    admit(gate, encode_update([(7, 3, 2, b"\x27\x01\x01m\x01k\x02" + b"\x04\x00\x07\x03" + varstring("in"))], []))
    inside = encode_update([(8, 0, 1, b"\xc4" + varuint(9) + b"\x00" + varuint(7) + b"\x04" + varstring("x"))], [])
    assert isinstance(admit(gate, inside), Refuse)
    admit(gate, encode_update([], [(7, [(3, 1)])]))
    assert isinstance(admit(gate, inside), Admit)


def test_a_parent_that_is_no_shared_type_is_refused() -> None:
    gate = Gate(SHAPE)
    admit(gate, text_updates(["abc"])[0])
    stray = encode_update([(8, 0, 1, b"\x04\x00" + varuint(7) + varuint(1) + varstring("x"))], [])
    assert admit(gate, stray) == Refuse(4400, "its parent is not a shared type")


def test_typing_into_what_somebody_deleted_is_honest() -> None:
    doc = Replica(client_id=1)
    root: Map[Any] = Map()
    doc["messages"] = root
    root["m"] = fragment = XmlFragment()
    element = fragment.children.append(XmlElement("paragraph"))
    inner = element.children.append(XmlText("hello"))
    gate = Gate(SHAPE)
    admit(gate, doc.get_update())
    other = Replica(client_id=2)
    other.apply_update(doc.get_update())
    inner += " there"
    typed = doc.get_update(other.get_state())
    del other.get("messages", type=Map)["m"]
    swept = other.get_update(doc.get_state())
    assert isinstance(admit(gate, swept, who=WEI), Admit)
    restarted = Gate(SHAPE, gate.claims.values())
    whole = Replica()
    whole.apply_update(other.get_update())
    restarted.restore(parse(whole.get_update()))
    for each in (gate, restarted):
        assert isinstance(admit(each, typed), Admit)


def test_types_nested_over_the_bound_are_refused_4413() -> None:
    """Attack 30."""
    body = b"\x07\x01" + varstring("free") + b"\x00"
    for at in range(70):
        body += b"\x07\x00" + varuint(4) + varuint(at) + b"\x00"
    verdict = admit(Gate(SHAPE), encode_update([(4, 0, 71, body)], []))
    assert isinstance(verdict, Refuse)
    assert verdict.code == 4413


def test_a_dump_is_the_state_and_damage_to_it_is_noticed() -> None:
    doc = Replica(client_id=5)
    doc["a"] = Array([1, Map({"k": Text("v 😀")})])
    doc["t"] = Text("abc")
    gate = Gate(SHAPE)
    admit(gate, doc.get_update())
    admit(gate, encode_update([], [(5, [(1, 1)])]))
    other = Gate(SHAPE)
    assert other.load(gate.dump())
    assert (other.state_vector, other.types) == (gate.state_vector, gate.types)
    assert {at: (list(starts), runs) for at, (starts, runs) in other.runs.items()} == gate.runs
    assert other.deleted == gate.deleted
    fresh = Gate(SHAPE)
    assert not fresh.load(gate.dump()[:-3])
    assert not fresh.load(b"{}")
    assert fresh.state_vector == {}


def test_a_long_chain_of_sections_each_waiting_for_the_next_is_resolved_in_linear_time() -> None:
    number = 10_000

    def struct(client: int) -> bytes:
        if client == number:
            return b"\x04\x01" + varstring("t") + varstring("x")
        return b"\x84" + varuint(client + 1) + varuint(0) + varstring("x")

    verdict = admit(Gate(SHAPE), encode_update([(client, 0, 1, struct(client)) for client in range(1, number + 1)], []))
    assert isinstance(verdict, Admit)
    assert verdict.lacking == ()


def seated(who: PrincipalKey) -> Gate:
    """A gate whose room hears ``who`` under client id 7."""
    gate = Gate(SHAPE)
    gate.seat = lambda client: who if client == 7 else None
    return gate


def test_i4_nobody_writes_first_under_the_id_of_somebody_who_is_here() -> None:
    first, second = text_updates(["a", "b"])
    gate = seated(ANN)
    verdict = admit(gate, first, who=WEI)
    assert isinstance(verdict, Refuse)
    assert verdict.code == 4409
    carried = admit(gate, first, who=WEI, kind="step2")
    assert isinstance(carried, Admit)
    assert carried.update == b""
    assert isinstance(admit(gate, first), Admit)
    assert isinstance(admit(gate, second), Admit)
    assert gate.claims[7] == Claim(7, ANN, False)


def test_i4_who_brings_their_own_id_by_a_step2_has_it_for_good() -> None:
    first, second = text_updates(["a", "b"])
    gate = seated(ANN)
    admit(gate, first, kind="step2")
    assert gate.claims[7] == Claim(7, ANN, False)
    gate.seat = lambda client: None
    assert isinstance(admit(gate, second, who=WEI), Refuse)


def test_i4_a_final_claim_counts_more_than_who_is_present_under_the_id() -> None:
    first, second = text_updates(["a", "b"])
    gate = Gate(SHAPE)
    admit(gate, first)
    gate.seat = lambda client: WEI
    assert isinstance(admit(gate, second), Admit)


def test_what_yjs_could_not_keep_is_refused() -> None:
    two = b"\x28\x01" + varstring("free") + varstring("k") + varuint(2) + b"\x7d\x01\x7d\x02"
    assert admit(Gate(SHAPE), encode_update([(9, 0, 1, two)], [])) == Refuse(4400, "a map's entry has one value")
    overwritten = encode_update([(9, 0, 1, two)], [(9, [(0, 2)])])
    assert isinstance(admit(Gate(SHAPE), overwritten), Admit), "two that were overwritten, uncollected"
    gate = Gate(SHAPE)
    admit(gate, text_updates(["ab"])[0])
    crossed = b"\xc4" + (varuint(7) + varuint(0)) * 2 + varstring("x")
    assert admit(gate, encode_update([(9, 0, 1, crossed)], [])) == Refuse(4400, "its neighbours are one")
    proto = b"\x28\x01" + varstring("free") + varstring("k") + b"\x01\x76\x01" + varstring("__proto__") + b"\x74\x00"
    with pytest.raises(Malformed):
        parse(encode_update([(9, 0, 1, proto)], []))


def test_a_span_that_an_update_deletes_over_and_over_counts_once() -> None:
    gate = Gate(SHAPE)
    admit(gate, encode_update([(7, 0, 1, b"\x00" + varuint(20_000))], []))
    admit(gate, encode_update([], [(7, [(2 * at + 1, 1) for at in range(9_000)])]))
    verdict = admit(gate, encode_update([], [(7, [(0, 20_000)] * 5_000 + [(3, 1)])]))
    assert isinstance(verdict, Admit)
    assert len(verdict.parsed.deletes[0][1]) == 9_001


def test_an_update_brings_only_so_many_new_client_ids() -> None:
    body = b"\x04\x01" + varstring("t") + varstring("x")
    verdict = admit(Gate(SHAPE), encode_update([(client, 0, 1, body) for client in range(1, 10_002)], []))
    assert isinstance(verdict, Refuse)
    assert verdict.code == 4413

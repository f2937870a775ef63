"""What a working set reads as: for two peers at once, for old entries, and for what stock clients put there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs import entries
from crdt_docs.entries import compose_entry
from crdt_docs.errors import Malformed, SchemaMismatch
from crdt_docs.richtext import Node, Span
from crdt_docs.schema import PART_ROOTS, seed_update
from crdt_docs.standing import answer_standing, decision_standings
from crdt_docs.updates.compose import Composer
from crdt_docs.working_set import WorkingSet, read

DOCUMENT = "00000000-0000-4000-8000-000000000001"
AnyDoc = Doc[Any]


class Minutes:
    """A clock that moves a minute at each look."""

    def __init__(self) -> None:
        self.at = 1_764_000_000_000

    def __call__(self) -> int:
        self.at += 60_000
        return self.at


def peer(name: str, client: int, now: Minutes) -> WorkingSet:
    doc: AnyDoc = Doc(client_id=client)
    doc.apply_update(seed_update(1, name="Acme", document=DOCUMENT))
    return WorkingSet(doc, name, now)


def meet(*peers: WorkingSet) -> None:
    updates = [each.doc.get_update() for each in peers]
    for each in peers:
        for update in updates:
            each.doc.apply_update(update)


def items(found: dict[str, Any], kind: str) -> list[tuple[str, str]]:
    return [(item["text"], item["status"]) for item in found[kind]]


@pytest.fixture
def pair() -> tuple[WorkingSet, WorkingSet]:
    now = Minutes()
    return peer("Ann", 11, now), peer("Wei", 12, now)


def test_two_answers_given_apart_are_both_shown_and_marked_until_one_supersedes(
    pair: tuple[WorkingSet, WorkingSet],
) -> None:
    ann, wei = pair
    question = ann.ask("Which law?")
    meet(ann, wei)
    assert items(read(wei.doc), "questions") == [("Which law?", "open")]
    first, second = ann.answer(question, "Dutch"), wei.answer(question, "瑞士法 🇨🇭")
    meet(ann, wei)
    assert read(ann.doc) == read(wei.doc)
    (shown,) = read(ann.doc)["questions"]
    assert shown["status"] == "conflicting"
    assert [(a["text"], a["by"]) for a in shown["answers"]] == [("Dutch", "Ann"), ("瑞士法 🇨🇭", "Wei")]
    ann.answer(question, "Swiss", supersedes=[first, second])
    assert items(read(ann.doc), "questions") == [("Which law?", "answered")]


def test_two_who_say_the_same_agree(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, wei = pair
    question = ann.ask("When?")
    meet(ann, wei)
    ann.answer(question, "Friday")
    wei.answer(question, "  friday ")
    meet(ann, wei)
    assert items(read(ann.doc), "questions") == [("When?", "answered")]


def test_two_decisions_that_supersede_one_are_both_in_conflict(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, wei = pair
    old = ann.decide("Net 30")
    meet(ann, wei)
    left, right = ann.decide("Net 45", supersedes=[old]), wei.decide("Net 60", supersedes=[old])
    meet(ann, wei)
    assert items(read(wei.doc), "decisions") == [
        ("Net 30", "superseded"),
        ("Net 45", "conflicting"),
        ("Net 60", "conflicting"),
    ]
    wei.decide("Net 50", supersedes=[left, right])
    assert items(read(wei.doc), "decisions")[1:] == [
        ("Net 45", "superseded"),
        ("Net 60", "superseded"),
        ("Net 50", "current"),
    ]


@pytest.mark.parametrize(
    ("supersedes", "standings"),
    [
        ({"a": []}, {"a": "current"}),
        ({"a": [], "b": ["a"]}, {"a": "superseded", "b": "current"}),
        ({"a": ["gone"], "b": ["b"]}, {"a": "current", "b": "current"}),
        (
            {"a": [], "b": ["a"], "c": ["a"], "d": ["b"]},
            {"a": "superseded", "b": "superseded", "c": "conflicting", "d": "conflicting"},
        ),
        (
            {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]},
            {"a": "superseded", "b": "superseded", "c": "superseded", "d": "current"},
        ),
        ({"a": ["b"], "b": ["a"]}, {"a": "conflicting", "b": "conflicting"}),
        ({"a": ["b"], "b": ["a"], "c": ["a"]}, {"a": "superseded", "b": "superseded", "c": "current"}),
    ],
)
def test_decisions_stand_by_what_supersedes_them(supersedes: dict[str, list[str]], standings: dict[str, str]) -> None:
    assert decision_standings(supersedes) == standings


def test_answers_that_supersede_each_other_conflict_and_an_empty_one_is_none() -> None:
    def answer(key: str, text: str, *olds: str) -> dict[str, Any]:
        return {"id": key, "text": text, "supersedes": list(olds)}

    assert answer_standing([answer("a", "x", "b"), answer("b", "y", "a")], dropped=False) == "conflicting"
    assert answer_standing([answer("a", "  ")], dropped=False) == "open"
    assert answer_standing([answer("a", "  ")], dropped=True) == "dropped"
    assert answer_standing([answer("a", "x")], dropped=True) == "answered"


def test_retiring_from_two_devices_at_once_retires_once(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, wei = pair
    kept = ann.add_constraint("No data leaves the EU", severity="critical", source="m1")
    gone = ann.add_constraint("Under 10 pages")
    meet(ann, wei)
    ann.retire(gone, "too short")
    wei.retire(gone)
    meet(ann, wei)
    found = read(wei.doc)
    assert items(found, "constraints") == [("No data leaves the EU", "active"), ("Under 10 pages", "retired")]
    assert (
        found["constraints"][0] | {"severity": "critical", "source": "m1", "by": "Ann", "id": kept}
        == (found["constraints"][0])
    )


def test_messages_are_in_the_order_of_their_ids(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, wei = pair
    ann.add_message("one", session="s1")
    wei.add_message("two 😀", role="agent", turn="t1", refs=["m1"])
    ann.add_message("three")
    meet(ann, wei)
    found = read(ann.doc)["messages"]
    assert [(m["text"], m["author"], m["role"], m["status"]) for m in found] == [
        ("one", "Ann", "user", "sent"),
        ("two 😀", "Wei", "agent", "sent"),
        ("three", "Ann", "user", "sent"),
    ]
    assert (found[1]["turn"], found[1]["refs"], found[0]["session"]) == ("t1", ["m1"], "s1")
    assert found[0]["at"] == "2025-11-24T16:01:00.000Z"


def test_documents_and_outputs_read_as_markdown(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, _ = pair
    key = ann.add_document("Draft", "# 合同\n\n- a\n- **b**\n")
    ann.append(key, [Node("paragraph", {}, [Span("More", {"italic": {}})])])
    ann.add_output("Itinerary", "Day 1\n", kind="plan", state="final", run="r1")
    ann.add_output("Scan", blob="ab" * 32)
    found = read(ann.doc)
    assert [(d["title"], d["markdown"]) for d in found["documents"]] == [
        ("Notes", ""),
        ("Draft", "# 合同\n\n- a\n- **b**\n\n*More*\n"),
    ]
    assert [(o["text"], o["status"], o["markdown"], o["blob"]) for o in found["outputs"]] == [
        ("Itinerary", "final", "Day 1\n", None),
        ("Scan", "draft", "", "ab" * 32),
    ]


def test_words_are_edited_in_place_by_code_points(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, wei = pair
    key = ann.decide("价格 😀 10")
    meet(ann, wei)
    ann.edit_words("decisions", key, "text", 5, delete=2, insert="12")
    wei.edit_words("decisions", key, "text", 0, insert="总")
    meet(ann, wei)
    assert items(read(ann.doc), "decisions") == [("总价格 😀 12", "current")]


def test_what_a_browser_would_delete_is_refused_before_anything_is_written(
    pair: tuple[WorkingSet, WorkingSet],
) -> None:
    ann, _ = pair
    before = ann.doc.get_update()
    nested = Node("paragraph", {}, [Node("paragraph", {}, [])])
    for wrong in (nested, Node("image"), Node("paragraph", {}, [Span("x", {"blink": {}})]), Node("bulletList")):
        with pytest.raises(Malformed):
            ann.append(DOCUMENT, [Node("paragraph", {}, [Span("fine")]), wrong])
    assert ann.doc.get_update() == before


def test_naming_what_is_not_there_is_a_key_error_and_changes_nothing(pair: tuple[WorkingSet, WorkingSet]) -> None:
    ann, _ = pair
    before = ann.doc.get_update()
    for wrong in (
        lambda: ann.retire("nobody"),
        lambda: ann.answer("nobody", "x"),
        lambda: ann.drop("nobody"),
        lambda: ann.append("nobody", []),
        lambda: ann.edit_words("decisions", "nobody", "text", 0),
        lambda: ann.edit_words("strange-root", "x", "text", 0),
    ):
        with pytest.raises(KeyError):
            wrong()
    assert ann.doc.get_update() == before


def test_a_document_of_another_schema_is_known_as_such() -> None:
    doc: AnyDoc = Doc()
    doc.get("meta", type=Map)["schema"] = 2
    with pytest.raises(SchemaMismatch):
        WorkingSet(doc, "Ann", Minutes()).require_schema()
    WorkingSet(Doc(), "Ann", Minutes()).require_schema()


def test_what_the_server_composes_reads_as_what_a_peer_writes() -> None:
    now = 1_764_000_000_000
    made = {
        "messages": entries.message("hi 😀", author="Ann", at=now, session="s", refs=["x"]),
        "constraints": entries.constraint("c", by="Ann", at=now, severity="critical"),
        "decisions": entries.decision("d", by="Ann", at=now, topic="t", supersedes=["a", "b"]),
        "questions": entries.question("q", by="Ann", at=now),
        "outputs": entries.output("o", by="Ann", at=now),
        "documents": entries.document("Doc", order=3),
    }
    composer = Composer(5, 0, lambda parent, key: None)
    doc: AnyDoc = Doc()
    for root, entry in made.items():
        compose_entry(composer, root, "id", entry)
        peer_set = WorkingSet(doc, "Ann", lambda: now)
        peer_set._add(root, entry, "id")
    composed: AnyDoc = Doc()
    composed.apply_update(composer.finish())
    assert read(composed) == read(doc)
    assert items(read(doc), "messages") == [("hi 😀", "sent")]


def strange_values() -> list[Any]:
    return [
        None,
        True,
        0,
        -1.5,
        float("nan"),
        float("inf"),
        1e300,
        "words",
        "",
        b"\x00\xff",
        [1, "😀", [None]],
        {"text": "in an object", "at": "yesterday", "answers": {"k": "bare"}, "retired": True},
        {"text": {"deep": "x"}, "at": float("inf"), "supersedes": {"x": 1}},
        {"text": 5, "at": -(2.0**60), "supersedes": [1, None, "x"], "order": "first"},
        Text("a Text 😀"),
        Map({"text": "not a Text", "at": True, "answers": "none", "fields": [1]}),
        Map({"text": Map({"a": 1}), "title": Array(["😀", 1]), "body": Text("typed"), "order": float("nan")}),
        Map({"text": XmlFragment([XmlElement("paragraph", {}, [XmlText("rich")])]), "retired": Array([1])}),
        Map({"answers": Map({"a": "bare", "b": Map({"text": Text("t")}), "c": 5, "d": Array(["😀"])})}),
        Array(["hi 😀", 1]),
        XmlFragment([XmlElement("paragraph", {}, [XmlText("body at once")])]),
    ]


@pytest.mark.parametrize("number", range(len(strange_values())))
@pytest.mark.parametrize(
    "root",
    [
        "documents",
        "constraints",
        "decisions",
        "questions",
        "outputs",
        "messages",
        "slots",
        "calls",
        "meta",
        "summary",
    ],
)
def test_whatever_a_stock_client_put_into_a_pinned_root_is_shown_or_skipped(root: str, number: int) -> None:
    doc: AnyDoc = Doc()
    entries_map = doc.get(root, type=Map)
    keys = ("k", "text", "goal", "name", "covers_seq") if root in ("meta", "summary") else ("k",)
    for key in keys:
        entries_map[key] = strange_values()[number]
    found = read(doc)
    json.dumps(found, allow_nan=False)
    for kind in ("constraints", "decisions", "questions", "outputs", "messages", "slots", "calls"):
        for item in found[kind]:
            assert isinstance(item["text"], str)
            assert isinstance(item["status"], str)


@pytest.mark.parametrize("root", ["messages", "documents", "meta"])
def test_text_typed_into_a_root_that_is_a_map_is_not_shown_and_hangs_nothing(root: str) -> None:
    doc: AnyDoc = Doc()
    doc.get(root, type=Text).insert(0, "hi 😀")
    copy: AnyDoc = Doc()
    copy.apply_update(doc.get_update())
    assert read(copy)["messages"] == []


class Watched(Doc[Any]):
    """A document that notes which roots are opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: set[str] = set()

    def get(self, key: str, *, type: Any) -> Any:
        self.opened.add(key)
        return super().get(key, type=type)


def test_a_root_that_is_not_pinned_is_never_opened() -> None:
    doc: AnyDoc = Doc()
    doc.get("scratch", type=Array).append("hi 😀")
    copy = Watched()
    copy.apply_update(doc.get_update())
    read(copy)
    assert copy.opened == set(PART_ROOTS["main"])


def test_strings_where_texts_are_meant_are_shown_as_text() -> None:
    doc: AnyDoc = Doc()
    doc.get("constraints", type=Map)["c"] = Map({"text": "plain", "at": 5})
    doc.get("constraints", type=Map)["d"] = "bare"
    doc.get("documents", type=Map)["x"] = Map({"title": "T", "body": "line one\n# line two"})
    found = read(doc)
    assert items(found, "constraints") == [("plain", "active"), ("bare", "active")]
    assert found["documents"] == [{"id": "x", "title": "T", "markdown": "line one\n\n\\# line two\n"}]


def test_nesting_that_would_overflow_the_stack_is_cut_short_and_not_followed() -> None:
    doc: AnyDoc = Doc()
    body = XmlFragment()
    doc.get("documents", type=Map)["d"] = Map({"body": body})
    place: Any = doc.get("documents", type=Map)["d"]["body"]
    for _ in range(400):
        place = place.children.insert(0, XmlElement("blockquote"))
    place.children.insert(0, XmlText("deep"))
    assert read(doc)["documents"][0]["id"] == "d"


def test_a_document_that_was_taken_away_keeps_its_words_and_what_is_written_in_it_meanwhile(
    pair: tuple[WorkingSet, WorkingSet],
) -> None:
    ann, wei = pair
    draft = ann.add_document("Draft", "Clause 1.")
    meet(ann, wei)
    note = ann.retire_document(draft, "it went out")
    wei.append(draft, [Node("paragraph", {}, [Span("Clause 2.")])])
    meet(ann, wei)
    for side in pair:
        found = read(side.doc)
        assert [one["title"] for one in found["documents"]] == ["Notes"]
        assert found["retired_documents"] == [{"id": draft, "title": "Draft", "status": "retired"}]
    del ann._field("documents", draft, "retired")[note]
    assert [one["markdown"] for one in read(ann.doc)["documents"]] == ["", "Clause 1.\n\nClause 2.\n"]


@pytest.mark.parametrize("first", [0, 1])
def test_who_puts_the_first_document_back_puts_back_only_what_they_had_seen(
    pair: tuple[WorkingSet, WorkingSet], first: int
) -> None:
    ann, wei = pair[first], pair[1 - first]
    ann.retire_document(DOCUMENT)
    wei.retire_document(DOCUMENT)
    wei._field("documents", DOCUMENT, "retired").clear()
    meet(ann, wei)
    for side in pair:
        assert [one["id"] for one in read(side.doc)["retired_documents"]] == [DOCUMENT]

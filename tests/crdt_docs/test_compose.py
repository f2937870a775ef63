"""Updates written by hand: both engines read what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Map, XmlFragment

from crdt_docs.errors import TooLarge
from crdt_docs.updates.compose import Composer, last_entries
from crdt_docs.updates.parse import MAX_CLOCK, Id, parse
from crdt_docs.updates.splice import merge
from crdt_docs.updates.vectors import DeleteSet

CLIENT = 4_000_000_001
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 63, 64, -64, 2**31 - 1, -(2**31) + 1, 2**31, -(2**31), 2**53 - 1, 0.5, -0.1, 1e300,
    "", "plain", "日本語 😀", [], {}, [1, [2, {"k": [None, "x"]}]], {"ключ": {"😀": [1.5, False]}}, "x" * 300,
]  # fmt: skip


def untouched(parent: str | Id, key: str) -> Id | None:
    """A document in which no key was ever written."""
    return None


def follow(document: bytes) -> Callable[[str | Id, str], Id | None]:
    last = last_entries(parse(document))
    return lambda parent, key: last.get((parent, key))


def native(update: bytes, root: str) -> Any:
    doc = Doc[Map[Any]]()
    found = doc.get(root, type=Map)
    doc.apply_update(update)
    return found.to_py()


def test_nothing_written_is_the_empty_update() -> None:
    composer = Composer(CLIENT, 5, untouched)
    assert composer.finish() == b"\x00\x00"
    assert composer.clock == 5


@pytest.mark.node
def test_every_json_value_comes_back_from_yjs(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    for number, value in enumerate(VALUES):
        composer.set("meta", f"{number:02}", value)
    loaded = yjs.load([composer.finish()], {"meta": "map"})
    assert [value for _, value in sorted(loaded.json["meta"]["map"].items())] == VALUES
    assert loaded.state_vector == {CLIENT: len(VALUES)}
    assert not loaded.pending and not loaded.deletes


def test_every_json_value_comes_back_from_yrs() -> None:
    composer = Composer(CLIENT, 0, untouched)
    for number, value in enumerate(VALUES):
        composer.set("meta", f"{number:02}", value)
    assert [value for _, value in sorted(native(composer.finish(), "meta").items())] == VALUES


@pytest.mark.node
def test_numbers_are_written_as_lib0_writes_them(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    for number, value in enumerate(VALUES):
        composer.set("meta", f"{number:02}", value)
    assert yjs.state([composer.finish()]) == composer.finish()


@pytest.mark.node
def test_bytes_are_binary_as_a_value_and_inside_one(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    composer.set("meta", "whole", b"\x00\xff")
    composer.set("meta", "inside", [b"\x00\xff", b"", b"x" * 200])
    found = yjs.load([composer.finish()], {"meta": "map"}).json["meta"]["map"]
    assert found["whole"] == found["inside"][0] == {"bytes": "AP8="}
    assert native(composer.finish(), "meta")["inside"][0] == b"\x00\xff"


@pytest.mark.node
def test_a_lone_surrogate_becomes_the_replacement_character(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    composer.set("meta", "\ud800", "a\udc00b")
    composer.set_text("meta", "text", "\ud83d\ude00 \ud83d")  # a pair in two halves is one character
    loaded = yjs.load([composer.finish()], {"meta": "map"})
    found = loaded.json["meta"]["map"]
    assert found["\ufffd"] == "a\ufffdb"
    assert found["text"]["text"] == [{"insert": "😀 \ufffd"}]
    assert loaded.state_vector == {CLIENT: composer.clock} == {CLIENT: 2 + 4}


@pytest.mark.node
def test_nested_maps_texts_and_paragraphs_read_as_written(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    message = composer.set_map("messages", "m1")
    composer.set(message, "author", "ann")
    composer.set_text(message, "text", "Hi 😀, naïve")
    composer.set_text(message, "empty", "")
    entry = composer.set_map("documents", "d1")
    body = composer.set_fragment(entry, "body")
    composer.append_element(body, "heading", {"level": 2, "id": "ü"}, "Title 😀😀")
    composer.append_element(body, "paragraph", {}, "words")
    bullets = composer.append_element(body, "bulletList", {})
    for word in ("one", "two 😀"):
        composer.append_element(composer.append_element(bullets, "listItem", {}), "paragraph", {}, word)
    composer.append_element(body, "paragraph", {})
    loaded = yjs.load([composer.finish()], {"messages": "map", "documents": "map"})

    def text(words: str) -> Any:
        return [{"insert": words}] if words else []

    def element(name: str, *children: Any, **attributes: Any) -> Any:
        return {"element": name, "attributes": attributes, "children": list(children)}

    def words(text: str) -> Any:
        return {"xmltext": [{"insert": text}], "entries": {}}

    assert loaded.json["messages"]["map"]["m1"]["map"] == {
        "author": "ann",
        "text": {"text": text("Hi 😀, naïve"), "entries": {}},
        "empty": {"text": [], "entries": {}},
    }
    assert loaded.json["documents"]["map"]["d1"]["map"]["body"]["fragment"] == [
        element("heading", words("Title 😀😀"), level=2, id="ü"),
        element("paragraph", words("words")),
        element(
            "bulletList",
            element("listItem", element("paragraph", words("one"))),
            element("listItem", element("paragraph", words("two 😀"))),
        ),
        element("paragraph"),
    ]
    assert loaded.state_vector == {CLIENT: composer.clock}
    assert not loaded.pending and not loaded.deletes


def test_yrs_reads_the_same_paragraphs() -> None:
    composer = Composer(CLIENT, 0, untouched)
    body = composer.set_fragment(composer.set_map("documents", "d1"), "body")
    composer.append_element(body, "heading", {"level": 2}, "Title 😀")
    composer.append_element(body, "paragraph", {}, "words")
    doc = Doc[Map[Any]]()
    documents = doc.get("documents", type=Map)
    doc.apply_update(composer.finish())
    fragment = documents["d1"]["body"]
    assert isinstance(fragment, XmlFragment)
    assert str(fragment) == '<heading level="2">Title 😀</heading><paragraph>words</paragraph>'


@pytest.mark.node
def test_overwriting_wins_and_deletes_what_was_there(yjs: YjsOracle) -> None:
    first = Composer(9, 0, untouched)
    first.set("meta", "name", "old")
    goal = first.set_text("meta", "goal", "forget me")
    before = first.finish()
    second = Composer(3, 0, follow(before))  # a lower client id: it would lose were it concurrent
    second.set("meta", "name", "new")
    second.set("meta", "goal", None)
    after = second.finish()
    assert DeleteSet(parse(after).deletes) == DeleteSet([(9, [(0, 1), (goal[1], 1)])])
    loaded = yjs.load([before, after], {"meta": "map"})
    assert loaded.json["meta"]["map"] == {"name": "new", "goal": None}
    assert loaded.deletes == {9: [(0, 2 + len("forget me"))]}
    assert native(merge([before, after]), "meta") == {"name": "new", "goal": None}


@pytest.mark.node
def test_a_key_written_twice_in_one_update_holds_the_second_value(yjs: YjsOracle) -> None:
    composer = Composer(CLIENT, 0, untouched)
    composer.set("meta", "status", "open")
    composer.set_map("meta", "status")
    composer.set("meta", "status", "done")
    loaded = yjs.load([composer.finish()], {"meta": "map"})
    assert loaded.json["meta"]["map"] == {"status": "done"}
    assert loaded.deletes == {CLIENT: [(0, 2)]}


@pytest.mark.node
def test_a_write_follows_the_winner_of_concurrent_writes(yjs: YjsOracle) -> None:
    for seed in range(20):
        log = yjs.generate(seed, clients=4, steps=60)
        document = merge(log.updates)
        last = last_entries(parse(document))
        for client in (0, 2**32 - 1):
            composer = Composer(client, 0, lambda parent, key, last=last: last.get((parent, key)))  # type: ignore[misc]
            for key in ("a", "b", "c", "ключ"):
                composer.set("items", key, seed)
            found = yjs.load([document, composer.finish()], log.roots).json["items"]["map"]
            assert found == dict.fromkeys(("a", "b", "c", "ключ"), seed)


@pytest.mark.node
def test_a_write_into_a_nested_map_of_another_client_lands_there(yjs: YjsOracle) -> None:
    first = Composer(9, 0, untouched)
    entry = first.set_map("constraints", "c1")
    first.set(entry, "severity", "high")
    second = Composer(8, 3, follow(first.finish()))
    second.set(entry, "severity", "low")
    second.set(entry, "by", "ann")
    assert yjs.load([first.finish(), second.finish()]).pending  # client 8's clocks 0 to 2 are missing
    third = Composer(8, 0, follow(first.finish()))
    third.set(entry, "severity", "low")
    third.set(entry, "by", "ann")
    loaded = yjs.load([first.finish(), third.finish()], {"constraints": "map"})
    assert loaded.json["constraints"]["map"]["c1"]["map"] == {"severity": "low", "by": "ann"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53), 10**400, {1: 2}, {"a": object()}, {2}])
def test_what_json_cannot_carry_is_refused_and_writes_nothing(value: object) -> None:
    composer = Composer(CLIENT, 0, untouched)
    body = composer.set_fragment("meta", "body")
    before = composer.finish()
    with pytest.raises(ValueError):
        composer.set("meta", "x", value)
    with pytest.raises(ValueError):
        composer.append_element(body, "paragraph", {"ok": 1, "bad": value}, "text")
    assert composer.finish() == before


def test_values_nested_deeper_than_the_gate_admits_are_refused() -> None:
    deep: Any = []
    for _ in range(64):
        deep = [deep]
    composer = Composer(CLIENT, 0, untouched)
    composer.set("meta", "x", deep)
    parse(composer.finish())
    with pytest.raises(TooLarge):
        composer.set("meta", "y", [deep])


def test_clocks_past_their_bound_are_refused() -> None:
    composer = Composer(CLIENT, MAX_CLOCK - 3, untouched)
    with pytest.raises(TooLarge):
        composer.set_text("meta", "goal", "abcd")


def test_nothing_is_appended_to_a_list_whose_end_is_not_known() -> None:
    composer = Composer(CLIENT, 10, untouched)
    for stranger in ((CLIENT, 9), (CLIENT + 1, 10)):
        with pytest.raises(ValueError):
            composer.append_element(stranger, "paragraph", {}, "text")
    assert composer.finish() == b"\x00\x00"

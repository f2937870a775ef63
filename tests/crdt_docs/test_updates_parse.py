"""The parser: exact on what clients write, and closed to what one of the two engines cannot read."""

from __future__ import annotations

import random
from typing import Any

import pytest
from kit import raw_updates as raw
from kit.raw_updates import one, section, string, struct, update, varbytes, varstring, varuint
from kit.yjs_oracle import OracleError, YjsOracle
from pycrdt import Doc, Text

from crdt_docs.errors import Malformed, TooLarge
from crdt_docs.updates import parse as parser
from crdt_docs.updates.parse import ELEMENT_TYPE, Section, Struct, parse

CLIENT = 3_000_000_007
OTHER = 77_000_001


def nested_any(depth: int) -> bytes:
    return b"\x75\x01" * depth + b"\x7e"


def nested_json(depth: int) -> bytes:
    return varbytes(b"[" * depth + b"]" * depth)


def test_a_struct_is_read_with_its_place_and_its_offsets() -> None:
    body = (
        section(
            CLIENT,
            5,
            struct(7, b"\x03" + varstring("heading"), parent="prose"),
            struct(6, varstring("bold") + varstring("true"), parent=(OTHER, 2)),
            string("a😀", origin=(CLIENT, 4), right_origin=(OTHER, 9)),
            struct(8, b"\x02\x7e\x78", parent="items", key="k"),
        ),
    )
    data = update(*body, deletes=raw.deletes((OTHER, [(3, 2), (9, 1)])))
    parsed = parse(data)
    assert parsed.update == data
    [one_section] = parsed.sections
    assert isinstance(one_section, Section) and all(isinstance(item, Struct) for item in one_section.structs)
    assert (one_section.client, one_section.clock, one_section.end) == (CLIENT, 5, 12)
    element, mark, text, values = one_section.structs
    assert element.parent == "prose" and element.detail == (ELEMENT_TYPE, "heading")
    assert mark.parent == (OTHER, 2) and mark.detail == "bold"
    assert (text.clock, text.length, text.origin, text.right_origin) == (7, 3, (CLIENT, 4), (OTHER, 9))
    assert data[text.content : text.end] == varstring("a😀")
    assert (values.length, values.key, values.parent) == (2, "k", "items")
    assert [data[item.start : item.end] for item in one_section.structs][2] == string(
        "a😀", origin=(CLIENT, 4), right_origin=(OTHER, 9)
    )
    assert parsed.deletes == [(OTHER, [(3, 2), (9, 1)])]


BOTH_READ = {
    "empty": b"\x00\x00",
    "an empty section": update(section(1, 0)),
    "a client without deletes": update(deletes=raw.deletes((1, []))),
    "a skip": update(section(1, 0, b"\x0a\x03")),
    "a GC": update(section(1, 0, b"\x00\x03")),
    "the largest client id": update(section(2**53 - 1, 0, string("abc"))),
    "a byte order mark in text": one(4, varstring("\ufeffabc")),
    "values nested 64 deep": raw.array(nested_any(64)),
    "JSON nested 64 deep": one(5, nested_json(64)),
    "JSON brackets in a string": one(5, varstring('"' + "[" * 100 + '"')),
    "JSON with spaces": one(6, varstring("link") + varstring(' {"a": [null]} ')),
    "JSON with an escaped pair": one(5, varstring('"\\ud83d\\ude00 \\\\ud83d \\u0000"')),
    "JSON with a long number": one(5, varstring("1" * 300)),
    "minus zero": raw.array(b"\x7d\x40"),
    "a bigint": raw.array(b"\x7a" + b"\xff" * 8),
    "bytes inside a value": raw.array(b"\x74\x02\x00\xff", b"\x76\x01" + varstring("k") + b"\x74\x00"),
    "a subdocument": one(9, varstring("guid") + b"\x76\x01" + varstring("autoLoad") + b"\x78", parent="items", key="k"),
    "a key beside an origin": update(section(1, 0, string("abc"), b"\xa4\x01\x02" + varstring("d"))),
    "a key called __proto__": raw.array(b"\x76\x01" + varstring("__proto__") + b"\x76\x00"),
}

MALFORMED = {
    "nothing": b"",
    "a bare count": b"\x01",
    "cut short": one(4, varstring("abc"))[:-2],
    "a trailing byte": one(4, varstring("abc")) + b"\x00",
    "V2": bytes.fromhex("000002a50100000104060374657374626f6479010101000001010000"),
    "an overlong varint": b"\x01\x01\x81\x00\x00\x04\x01" + varstring("body") + varstring("abc") + b"\x00",
    "an overlong integer": raw.array(b"\x7d\x81\x00"),
    "an integer over 53 bits": raw.array(b"\x7d" + b"\xff" * 7 + b"\x7f"),
    "a varint of 20 bytes": b"\x01\x01" + b"\xff" * 20 + b"\x01\x00",
    "a client id over 53 bits": update(section(2**53, 0, string("abc"))),
    "more sections than bytes": b"\xff\xff\xff\xff\x0f\x00",
    "more structs than bytes": b"\x01\xff\xff\xff\xff\x0f\x01\x00\x00",
    "more values than bytes": one(8, b"\xff\xff\xff\xff\x0f"),
    "more members than bytes": raw.array(b"\x76\xff\xff\xff\xff\x0f"),
    "more deletes than bytes": b"\x00\xff\xff\xff\xff\x0f",
    "more ranges than bytes": b"\x00\x01\x01\xff\xff\xff\xff\x0f",
    "a string past the end": one(4, b"\x7fabc"),
    "binary past the end": one(3, b"\x7fabc"),
    "a float past the end": one(8, b"\x01\x7b\x00"),
    "a zero-length string": one(4, b"\x00"),
    "zero values": one(8, b"\x00"),
    "a zero-length GC": update(section(1, 0, b"\x00\x00")),
    "a zero-length skip": update(section(1, 0, b"\x0a\x00")),
    "a zero-length deletion": one(1, b"\x00"),
    "a zero-length delete range": update(deletes=raw.deletes((1, [(0, 0)]))),
    "a client twice": update(section(1, 0, string("a")), section(1, 1, string("b", origin=(1, 0)))),
    "flags on a GC": update(section(1, 0, b"\x20\x03")),
    "flags on a skip": update(section(1, 0, b"\x8a\x03")),
    "a parent of a third kind": update(section(1, 0, b"\x04\x02\x04body\x01a")),
    "text that is not UTF-8": one(4, varbytes(b"\xff\xfe")),
    "half a pair in UTF-8": one(4, varbytes(b"\xed\xa0\xbd")),
    "a root name that is not UTF-8": update(section(1, 0, b"\x04\x01\x01\xff\x01a")),
    "a key that is not UTF-8": update(section(1, 0, b"\x28\x01\x01x\x01\xff\x01\x7e")),
    "a value that is not UTF-8": raw.array(b"\x77\x01\xff"),
    "an unknown value tag": raw.array(b"\x73"),
    "an unknown content": one(11, b"\x00"),
    "an unknown type": one(7, b"\x07"),
    "a weak link's type": one(7, b"\x0f"),
    "a subdocument without options": one(9, varstring("guid") + b"\x7e", parent="items", key="k"),
    "content of JSON, which yrs misreads": one(2, b"\x01" + varstring("1")),
    "an XmlHook, which yrs misreads": one(7, b"\x05" + varstring("hook"), parent="prose"),
}

TOO_LARGE = {
    "values nested 65 deep": raw.array(nested_any(65)),
    "members nested 1,000 deep": raw.array((b"\x76\x01" + varstring("k")) * 1000 + b"\x7e"),
    "JSON nested 65 deep": one(5, nested_json(65)),
    "a clock over 32 bits": update(section(1, 2**32 - 1, string("a"))),
    "a run of clocks over 32 bits": update(section(1, 0, b"\x00" + varuint(2**32))),
    "an origin over 32 bits": update(section(1, 0, string("a", origin=(2, 2**32)))),
    "a parent over 32 bits": update(section(1, 0, string("a", parent=(2, 2**32)))),
    "a delete range over 32 bits": update(deletes=raw.deletes((1, [(2**32 - 2, 2)]))),
}

NOT_JSON = [
    "", "nul", "undefined", "NaN", "Infinity", "-", "+1", "01", "1.", ".5", "1e999", "1" + "0" * 400, "[1,]", "{'a':1}",
    '"\x01"', '"\\x"', '"\\ud83d"', '"\\udc00\\ud800"', '{"\\ud83d": 1}', "\ufeff1", "1 2", "[" * 5, '"',
]  # fmt: skip


@pytest.mark.parametrize("name", BOTH_READ)
def test_what_both_engines_read_is_accepted(name: str) -> None:
    assert parse(BOTH_READ[name]).update == BOTH_READ[name]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_bytes_are_refused(name: str) -> None:
    with pytest.raises(Malformed) as refused:
        parse(MALFORMED[name])
    assert not isinstance(refused.value, TooLarge)


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_passes_a_bound_is_told_apart(name: str) -> None:
    with pytest.raises(TooLarge):
        parse(TOO_LARGE[name])


@pytest.mark.parametrize("text", NOT_JSON)
def test_embeds_and_marks_must_be_json(text: str) -> None:
    for data in (one(5, varstring(text)), one(6, varstring("bold") + varstring(text))):
        with pytest.raises(Malformed):
            parse(data)


def test_json_is_read_as_utf8_and_nothing_else() -> None:
    for text in (b"1\x00", b'\xff\xfe"\x00', b'"\xed\xa0\xbd"', b"\x00\x00\x001"):
        with pytest.raises(Malformed):
            parse(one(5, varbytes(text)))


def test_every_prefix_of_an_update_is_refused() -> None:
    doc: Doc[Any] = Doc(client_id=CLIENT)
    text: Text = doc.get("body", type=Text)
    text += "hello 😀"
    text.format(0, 3, {"link": {"href": "x"}})
    del text[1:2]
    whole = doc.get_update()
    parse(whole)
    for end in range(len(whole)):
        with pytest.raises(Malformed):
            parse(whole[:end])


def test_a_count_that_the_bytes_do_not_back_costs_nothing() -> None:
    bomb = b"\x01\xff\xff\xff\xff\xff\xff\xff\x0f" + b"\x00" * 20
    with pytest.raises(Malformed):
        parse(bomb)


def keystrokes() -> list[bytes]:
    """What typing sends, and close relatives of it."""
    clients = (1, 200, 70_000, 2_100_000, 270_000_000, CLIENT, OTHER, 2**32 - 1, 2**40, 2**53 - 1)
    clocks = (0, 1, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152, 2**31, 2**32 - 3)
    texts = ("a", "b", "c", "ab\n", "ü", "😀", "x" * 127, "x" * 128, "\x00")
    rng = random.Random(7)
    out = []
    for _ in range(400):
        client, other = rng.sample(clients, counts=(1, 1, 1, 6, 6, 9, 9, 6, 1, 1), k=2)
        places = ((other, rng.choice(clocks)), None)
        body = string(rng.choice(texts), origin=rng.choice(places), right_origin=rng.choice(places))
        out.append(update(section(client, rng.choice(clocks), body)))
        out.append(update(deletes=raw.deletes((client, [(rng.choice(clocks), rng.choice((1, 2, 127, 128)))]))))
    return out


def read(data: bytes) -> object:
    try:
        return parser._parse(data)
    except (Malformed, IndexError, UnicodeDecodeError) as error:
        return type(error)


def test_the_short_way_for_keystrokes_reads_as_the_long_way() -> None:
    rng = random.Random(8)
    taken = [0, 0]
    for data in keystrokes():
        variants = [data, data + b"\x00", data[:-1]]
        for _ in range(60):
            changed = bytearray(data)
            at = rng.randrange(len(changed))
            changed[at] = rng.choice((0, 1, 127, 128, 255, changed[at] ^ 1 << rng.randrange(8)))
            variants.append(bytes(changed))
        for variant in variants:
            try:
                short = parser._parse_keystroke(variant) or parser._parse_backspace(variant)
            except IndexError:
                continue
            if short is not None:
                taken[bool(short.deletes)] += 1
                assert short == read(variant), variant.hex()
                assert isinstance(short, parser.Parsed)
                assert all(isinstance(section.structs[0], Struct) for section in short.sections)
    assert min(taken) > 1000


def test_typing_takes_the_short_way() -> None:
    taken = 0
    doc: Doc[Any] = Doc(client_id=CLIENT)
    text: Text = doc.get("body", type=Text)
    updates: list[bytes] = []
    doc.observe(lambda event: updates.append(event.update))
    for at, letter in enumerate("typing goes this way"):
        text.insert(at, letter)
    del text[3:5]
    for data in updates[1:]:
        taken += (parser._parse_keystroke(data) or parser._parse_backspace(data)) == parser._parse(data)
    assert taken == len(updates) - 1 == 20


def applies(data: bytes) -> bool:
    try:
        Doc().apply_update(data)
    except ValueError:
        return False
    return True


@pytest.mark.node
@pytest.mark.parametrize("name", BOTH_READ)
def test_both_engines_read_what_is_accepted(yjs: YjsOracle, name: str) -> None:
    yjs.load([BOTH_READ[name]], {"body": "text", "list": "array", "items": "map", "prose": "xml"})
    assert applies(BOTH_READ[name])


@pytest.mark.node
@pytest.mark.parametrize("text", NOT_JSON)
def test_one_engine_chokes_on_what_is_refused_as_json(yjs: YjsOracle, text: str) -> None:
    data = one(5, varstring(text))
    try:
        yjs.load([data])
    except OracleError:
        return
    assert not applies(data)

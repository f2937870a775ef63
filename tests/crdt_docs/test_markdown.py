"""Markdown out of rich text and back: nothing is lost, nothing reads as something else."""

from __future__ import annotations

import random

import pytest
from kit.trees import make_body
from markdown_it import MarkdownIt
from pycrdt import Doc, XmlElement, XmlFragment, XmlText

from crdt_docs.errors import TooLarge
from crdt_docs.fragments import append_nodes, read_fragment
from crdt_docs.markdown import write_markdown
from crdt_docs.markdown_reader import is_safe_link, read_markdown
from crdt_docs.richtext import Node, Span, check, plain_text


def paragraph(*children: Node | Span) -> Node:
    return Node("paragraph", {}, list(children))


@pytest.mark.parametrize("seed", range(300))
def test_whatever_the_schema_allows_survives_markdown(seed: int) -> None:
    body = make_body(random.Random(seed))
    check(body)
    written = write_markdown(body)
    assert read_markdown(written) == body


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_a_stock_parser_sees_no_raw_html_block_in_it(seed: int) -> None:
    stock = MarkdownIt("commonmark", {"maxNesting": 120}).enable(["table", "strikethrough"])
    written = write_markdown(make_body(random.Random(seed)))
    assert not [token for token in stock.parse(written) if token.type == "html_block"]


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_a_tree_survives_the_engine(seed: int) -> None:
    body = make_body(random.Random(seed))
    doc: Doc[XmlFragment] = Doc()
    append_nodes(doc.get("body", type=XmlFragment), body)
    copy: Doc[XmlFragment] = Doc()
    copy.apply_update(doc.get_update())
    assert read_fragment(copy.get("body", type=XmlFragment)) == body


def test_emphasis_that_commonmark_would_not_see_becomes_a_tag() -> None:
    body = [paragraph(Span("合同（甲）", {"bold": {}}), Span("条款"))]
    assert write_markdown(body) == "<strong>合同（甲）</strong>条款\n"
    assert write_markdown([paragraph(Span("合同", {"bold": {}}), Span("条款"))]) == "**合同**条款\n"


def test_plain_words_stay_readable() -> None:
    text = "Net 30 (see snake_case & C++): 5 < 6, a - b, 100%! 1. is fine; so is x#y."
    assert write_markdown([paragraph(Span(text))]) == text + "\n"


def test_an_ideographic_indent_survives_parsers_that_strip() -> None:
    written = write_markdown([paragraph(Span("\u3000\u3000第一条"))])
    assert written == "&#12288;&#12288;第一条\n"


def test_a_tight_list_stays_tight_and_an_empty_item_makes_no_heading() -> None:
    nested = Node("bulletList", {}, [Node("listItem", {}, [paragraph()])])
    item = Node("listItem", {}, [paragraph(Span("a")), nested])
    assert read_markdown(write_markdown([Node("bulletList", {}, [item])])) == [Node("bulletList", {}, [item])]
    plain = Node("bulletList", {}, [Node("listItem", {}, [paragraph(Span(word))]) for word in "ab"])
    assert write_markdown([plain]) == "- a\n- b\n"


def test_merged_cells_keep_their_columns() -> None:
    def cell(text: str, **attributes: int) -> Node:
        return Node("tableCell", dict(attributes), [paragraph(Span(text))])

    table = Node(
        "table",
        {},
        [
            Node("tableRow", {}, [cell("a", rowspan=2), cell("b", colspan=2)]),
            Node("tableRow", {}, [cell("c"), cell("d")]),
        ],
    )
    assert write_markdown([table]) == "|  |  |  |\n| --- | --- | --- |\n| a | b |  |\n|  | c | d |\n"


def test_open_suggestions_are_left_as_they_stand() -> None:
    body = [paragraph(Span("old", {"deletion": {"id": "1"}}), Span("new", {"insertion": {"id": "2"}}), Span(" end"))]
    assert write_markdown(body) == "old end\n"


def test_what_a_stranger_wrote_is_shown_as_words() -> None:
    body: list[Node | Span] = [Node("mystery", {}, [Node("listItem", {}, [paragraph(Span("kept"))])]), Span("loose")]
    assert write_markdown(body) == "kept\n\nloose\n"


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://x.y", True),
        ("/relative:with colon", True),
        ("#top", True),
        ("mailto:a@b.c", True),
        ("javascript:alert(1)", False),
        ("JaVa\tScript:alert(1)", False),
        (" data:text/html,x", False),
        ("vbscript:x", False),
        ("file:///etc/passwd", False),
        (r"\\host\share\x", False),
        ("//host/share", False),
        ("/\\host/share", False),
        ("\t//host", False),
        (r"C:\x", False),
        ("a//b", True),
        ("", False),
    ],
)
def test_a_link_is_followed_only_where_it_is_safe(address: str, safe: bool) -> None:
    assert is_safe_link(address) is safe
    span = Span("word", {"link": {"href": address}})
    assert ("](" in write_markdown([paragraph(span)])) is safe


def test_a_picture_becomes_a_link_so_that_nothing_is_fetched() -> None:
    link = Span("alt", {"link": {"href": "http://x.y/p.png"}})
    assert read_markdown("![alt](http://x.y/p.png)") == [paragraph(link)]


def test_html_is_words() -> None:
    (block,) = read_markdown("<script>alert(1)</script>")
    assert plain_text([block]) == "<script>alert(1)</script>"


def test_nesting_past_what_a_document_holds_is_refused_and_not_cut() -> None:
    with pytest.raises(TooLarge):
        read_markdown("> " * 60 + "deep")


def test_a_setext_heading_and_indented_code_are_read() -> None:
    assert read_markdown("Title\n===\n\n    code\n") == [
        Node("heading", {"level": 1}, [Span("Title")]),
        Node("codeBlock", {}, [Span("code")]),
    ]


def test_a_mark_that_nobody_knows_is_left_out_and_its_words_stay() -> None:
    doc: Doc[XmlFragment] = Doc()
    fragment = doc.get("body", type=XmlFragment)
    element = fragment.children.insert(0, XmlElement("paragraph"))
    text = element.children.insert(0, XmlText("a😀b"))
    text.format(0, 1, {"bold": {}, "unheard-of": {"x": 1}})
    assert read_fragment(fragment) == [paragraph(Span("a", {"bold": {}}), Span("😀b"))]

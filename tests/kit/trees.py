"""Random rich text that the schema allows, with the words that break naive Markdown writers."""

from __future__ import annotations

import random
from typing import Any

from crdt_docs.richtext import Marks, Node, Span, merged

WORDS = (
    "合同",
    "（甲）",
    "条款",
    "😀",
    "a",
    "b c",
    "word",
    "snake_case_name",
    "*",
    "**",
    "_",
    "__x__",
    "~",
    "~~",
    "`",
    "``",
    "\\",
    "[",
    "]",
    "](",
    "<",
    "<div>",
    "</b>",
    "<br>",
    "&",
    "&amp;",
    "&#42;",
    "#",
    "# x",
    "> q",
    "-",
    "- x",
    "+",
    "1. x",
    "1)",
    "=",
    "===",
    "---",
    "***",
    "|",
    "| a |",
    "a|b",
    "\\|",
    ":--",
    "!",
    "![x](y)",
    "http://x.y",
    "<http://x.y>",
    "(",
    ")",
    '"',
    "'",
    " ",
    "  ",
    "\u3000",
    "\u00a0",
    "\t",
    "\n",
    "é",
    "。",
    "[x] ",
    "[ ]",
    "$",
    "~~~",
    "```",
    "0",
    "́",
    "\u200d",
    "ﬁ",
)
MARKS = ("bold", "italic", "strike", "underline", "code", "link")
ADDRESSES = (
    "http://x.y/a?b=1&c=2",
    "https://例え.jp/路",
    "/a b",
    "mailto:a@b.c",
    "#x",
    "http://x/(y)_*",
    "a<b>c",
    "x\\y",
    "?q=&copy;",
)


def make_inline(rng: random.Random, *, breaks: bool = True) -> list[Node | Span]:
    """Words with marks; at least something that is not white."""
    out: list[Node | Span] = []
    for _ in range(rng.randint(1, 5)):
        text = "".join(rng.choice(WORDS) for _ in range(rng.randint(1, 3)))
        out.append(Span(text, make_marks(rng)))
        if breaks and rng.random() < 0.12:
            out.append(Node("hardBreak"))
    return merged(out)


def make_marks(rng: random.Random) -> Marks:
    marks: Marks = {}
    for name in MARKS:
        if rng.random() < 0.16:
            marks[name] = {}
    if "link" in marks:
        marks["link"] = {"href": rng.choice(ADDRESSES)}
        if rng.random() < 0.3:
            marks["link"]["title"] = rng.choice(('a "b"', "x & y;", "a\\b", "&lt;"))
    return marks


def make_block(rng: random.Random, depth: int = 0) -> Node:
    kinds = ["paragraph"] * 4 + ["heading", "codeBlock", "horizontalRule"]
    if depth < 3:
        kinds += ["bulletList", "orderedList", "taskList", "blockquote"]
    if depth == 0:
        kinds.append("table")
    return _MAKERS[rng.choice(kinds)](rng, depth)


def make_body(rng: random.Random) -> list[Node]:
    return [make_block(rng) for _ in range(rng.randint(1, 6))]


def _paragraph(rng: random.Random, depth: int) -> Node:
    return Node("paragraph", {}, make_inline(rng))


def _heading(rng: random.Random, depth: int) -> Node:
    return Node("heading", {"level": rng.randint(1, 6)}, make_inline(rng))


def _code(rng: random.Random, depth: int) -> Node:
    text = "\n".join("".join(rng.choice(WORDS) for _ in range(rng.randint(0, 3))) for _ in range(rng.randint(0, 4)))
    text = text.replace("\t", " ")
    attributes: dict[str, Any] = {"language": rng.choice(("python", "c++"))} if rng.random() < 0.5 else {}
    return Node("codeBlock", attributes, merged([Span(text)]))


def _rule(rng: random.Random, depth: int) -> Node:
    return Node("horizontalRule")


def _items(rng: random.Random, depth: int, name: str) -> list[Node | Span]:
    items: list[Node | Span] = []
    for _ in range(rng.randint(1, 4)):
        first = Node("paragraph", {}, make_inline(rng) if rng.random() < 0.85 else [])
        blocks: list[Node | Span] = [first]
        for _ in range(rng.choice((0, 0, 0, 1, 2))):
            block = make_block(rng, depth + 1)
            if first.children or block.name != "paragraph":  # an empty paragraph beside another does not survive
                blocks.append(block)
        attributes: dict[str, Any] = {"checked": rng.random() < 0.5} if name == "taskItem" else {}
        items.append(Node(name, attributes, blocks))
    return items


def _bullets(rng: random.Random, depth: int) -> Node:
    return Node("bulletList", {}, _items(rng, depth, "listItem"))


def _numbers(rng: random.Random, depth: int) -> Node:
    start = rng.choice((1, 1, 1, 0, 3, 99))
    return Node("orderedList", {} if start == 1 else {"start": start}, _items(rng, depth, "listItem"))


def _tasks(rng: random.Random, depth: int) -> Node:
    return Node("taskList", {}, _items(rng, depth, "taskItem"))


def _quote(rng: random.Random, depth: int) -> Node:
    return Node("blockquote", {}, [make_block(rng, depth + 1) for _ in range(rng.randint(1, 3))])


def _table(rng: random.Random, depth: int) -> Node:
    columns = rng.randint(1, 3)
    rows: list[Node | Span] = []
    headed = rng.random() < 0.7
    for number in range(rng.randint(1, 3)):
        name = "tableHeader" if headed and number == 0 else "tableCell"
        cells: list[Node | Span] = []
        for _ in range(columns):
            words = make_inline(rng, breaks=False) if name == "tableHeader" or rng.random() < 0.8 else []
            cells.append(Node(name, {}, [Node("paragraph", {}, words)]))
        rows.append(Node("tableRow", {}, cells))
    return Node("table", {}, rows)


_MAKERS = {
    "paragraph": _paragraph,
    "heading": _heading,
    "codeBlock": _code,
    "horizontalRule": _rule,
    "bulletList": _bullets,
    "orderedList": _numbers,
    "taskList": _tasks,
    "blockquote": _quote,
    "table": _table,
}

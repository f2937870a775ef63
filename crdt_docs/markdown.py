"""A rich text tree as CommonMark, with GFM's tables, strikethrough and task lists.

Owns writing; reading is ``markdown_reader``. Must never lose a word: what Markdown has no sign for (underline,
emphasis that CommonMark's flanking rules would not see, as in ``**合同（甲）**条款``) becomes inline HTML.

What a round trip changes, because Markdown has no form for it: paragraphs without words go, blocks inside a table
cell become lines, merged cells become empty ones, a tab that begins a line of code inside a list becomes spaces.
Comments, open suggestions and link attributes other than the address and title are not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from crdt_docs.markdown_inline import Place, write_inline
from crdt_docs.richtext import Node, Span, settled

_RULE: Final = "***"
_LANGUAGE: Final = re.compile(r"[\w+#.-]+")
_BACKTICKS: Final = re.compile(r"`+")
_MAX_START: Final = 999_999_999


def write_markdown(nodes: Iterable[Node | Span]) -> str:
    """The tree as Markdown, ending in a newline unless it is empty. Unknown nodes are written as what they hold."""
    text = "\n\n".join(_blocks(list(settled(nodes))))
    return text + "\n" if text else ""


def _blocks(nodes: Sequence[Node | Span]) -> list[str]:
    """Each block's Markdown. Lists that follow each other change their marker, for else they would become one."""
    out: list[str] = []
    before: str | None = None
    turn = False
    loose: list[Node | Span] = []
    for node in [*nodes, None]:
        if isinstance(node, Span) or (node is not None and node.name == "hardBreak"):
            loose.append(node)
            continue
        if loose:
            out.extend(_paragraph(Node("paragraph", {}, loose)))
            loose, before = [], None
        if node is None:
            break
        kind = "bullet" if node.name in ("bulletList", "taskList") else node.name
        turn = not turn if kind == before else False
        written = _block(node, turn)
        out.extend(written)
        before = kind if written else before
    return out


def _block(node: Node, turn: bool) -> list[str]:
    match node.name:
        case "paragraph":
            return _paragraph(node)
        case "heading":
            return [_heading(node)]
        case "bulletList" | "taskList":
            return _list(node, "+" if turn else "-")
        case "orderedList":
            return _list(node, ")" if turn else ".")
        case "blockquote":
            return [_prefixed("\n\n".join(_blocks(node.children)), "> ", "> ")]
        case "codeBlock":
            return [_code(node)]
        case "horizontalRule":
            return [_RULE]
        case "table":
            return _table(node)
        case _:
            return _blocks(node.children)


def _paragraph(node: Node) -> list[str]:
    text = write_inline(node.children, Place.PARAGRAPH)
    return [text] if text else []


def _heading(node: Node) -> str:
    level = node.attributes.get("level")
    level = level if isinstance(level, int) and 1 <= level <= 6 else 1
    return ("#" * level + " " + write_inline(node.children, Place.HEADING)).rstrip(" ")


def _code(node: Node) -> str:
    text = (
        "".join(child.text for child in node.children if isinstance(child, Span))
        .replace("\r\n", "\n")
        .replace("\r", "\n")
    )
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    language = node.attributes.get("language")
    info = language if isinstance(language, str) and _LANGUAGE.fullmatch(language) else ""
    return f"{fence}{info}\n{text}\n{fence}" if text else f"{fence}{info}\n{fence}"


def _prefixed(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    head = (first + lines[0]).rstrip(" ") if not lines[0] else first + lines[0]
    return "\n".join([head, *((rest + line if line else rest.rstrip(" ")) for line in lines[1:])])


def _list(node: Node, sign: str) -> list[str]:
    items = [child for child in node.children if isinstance(child, Node)]
    if not items:
        return []
    tight = all(_is_tight(item) for item in items)
    start = node.attributes.get("start", 1)
    number = start if isinstance(start, int) and 0 <= start <= _MAX_START else 1
    written: list[str] = []
    for offset, item in enumerate(items):
        marker = f"{min(number + offset, _MAX_START)}{sign}" if node.name == "orderedList" else sign
        written.append(_item(item, marker, tight, task=node.name == "taskList"))
    return [("\n" if tight else "\n\n").join(written)]


def _item(item: Node, marker: str, tight: bool, *, task: bool) -> str:
    box = ("[x] " if item.attributes.get("checked") is True else "[ ] ") if task else ""
    children = item.children
    words = ""
    if task and children and isinstance(children[0], Node) and children[0].name == "paragraph":
        words = write_inline(children[0].children, Place.PARAGRAPH)
        children = children[1:]
    blocks = _blocks(children)
    if task:
        blocks.insert(0, box + words if words else box.rstrip(" "))
    indent = " " * (len(marker) + 1)
    return _prefixed(("\n" if tight else "\n\n").join(blocks), marker + " ", indent)


def _is_tight(item: Node) -> bool:
    """Whether the item reads the same without blank lines: one paragraph, then lists that may interrupt it."""
    for index, child in enumerate(item.children):
        if not isinstance(child, Node):
            return False
        if index == 0:
            if child.name != "paragraph":
                lists = ("bulletList", "taskList", "orderedList")
                return item.name != "taskItem" and len(item.children) == 1 and child.name in lists
        elif index > 1 or child.name not in ("bulletList", "taskList", "orderedList") or not _interrupts(child):
            return False
    return True


def _interrupts(nested: Node) -> bool:
    """Whether a list right under words is seen as one: its first item has words, and a number starts at 1."""
    first = nested.children[0] if nested.children else None
    if not isinstance(first, Node) or not first.children:
        return False
    if nested.name == "orderedList" and nested.attributes.get("start", 1) != 1:
        return False
    opening = first.children[0]
    worded = (
        isinstance(opening, Node)
        and opening.name == "paragraph"
        and bool(write_inline(opening.children, Place.PARAGRAPH))
    )
    return nested.name == "taskList" or worded


def _table(node: Node) -> list[str]:
    rows = [child for child in node.children if isinstance(child, Node)]
    grid = _grid(rows)
    width = max((len(line) for line in grid), default=0)
    if not width:
        return []
    lines = [[*line, *[""] * (width - len(line))] for line in grid]
    if not all(isinstance(cell, Node) and cell.name == "tableHeader" for cell in rows[0].children):
        lines.insert(0, [""] * width)
    lines.insert(1, ["---"] * width)
    return ["\n".join("| " + " | ".join(line) + " |" for line in lines)]


def _grid(rows: Sequence[Node]) -> list[list[str]]:
    """The cells' words by row and column; what a merged cell covers is empty."""
    grid: list[list[str]] = []
    covered: dict[int, int] = {}
    for row in rows:
        line: list[str] = []
        for cell in (child for child in row.children if isinstance(child, Node)):
            _fill(line, covered)
            wide, high = _span(cell.attributes.get("colspan")), _span(cell.attributes.get("rowspan"))
            for column in range(len(line), len(line) + wide):
                if high > 1:
                    covered[column] = high
            line.extend([_cell(cell), *[""] * (wide - 1)])
        _fill(line, covered)
        covered = {column: left - 1 for column, left in covered.items() if left > 1}
        grid.append(line)
    return grid


def _fill(line: list[str], covered: dict[int, int]) -> None:
    while len(line) in covered:
        line.append("")


def _span(value: Any) -> int:
    return value if isinstance(value, int) and 1 <= value <= 100 else 1


def _cell(cell: Node) -> str:
    inline: list[Node | Span] = []
    _flatten(cell.children, inline)
    while inline and isinstance(inline[-1], Node):
        inline.pop()
    return write_inline(inline, Place.CELL)


def _flatten(nodes: Iterable[Node | Span], out: list[Node | Span]) -> None:
    for node in nodes:
        if isinstance(node, Span) or node.name == "hardBreak":
            out.append(node)
        else:
            _flatten(node.children, out)
            if out and isinstance(out[-1], Span):
                out.append(Node("hardBreak"))

"""CommonMark with GFM's tables, strikethrough and task lists, read into a rich text tree.

Owns reading. Must never make a node that the schema forbids, nor run or keep HTML: of tags only those that stand for
a mark or a line break mean something, all others are words. A picture becomes a link to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from crdt_docs.richtext import Marks, Node, Span, check, merged

_SAFE: Final = re.compile(r"(?:https?|mailto|tel|ftp):|(?![\\/]{2})[^:]*(?:[/?#]|$)", re.IGNORECASE)
_TAG: Final = re.compile(r"<(/?)(strong|b|em|i|s|del|strike|u|ins|code|br)\s*/?>", re.IGNORECASE)
_BOX: Final = re.compile(r"\[([ xX])\](?:\s+|$)")
_TAG_MARKS: Final = {
    "strong": "bold",
    "b": "bold",
    "em": "italic",
    "i": "italic",
    "s": "strike",
    "del": "strike",
    "strike": "strike",
    "u": "underline",
    "ins": "underline",
    "code": "code",
}
_PLAIN_NODES: Final = {
    "paragraph_open": "paragraph",
    "blockquote_open": "blockquote",
    "bullet_list_open": "bulletList",
    "list_item_open": "listItem",
    "table_open": "table",
    "tr_open": "tableRow",
    "th_open": "tableHeader",
    "td_open": "tableCell",
}


def is_safe_link(address: str) -> bool:
    """Whether a link may be followed from a document: web, mail, phone, or relative; never a script.

    Nor ``//host`` or ``\\\\host``: an office program opens it as a share, and shows that host who is signed in.
    """
    squeezed = re.sub(r"[\x00-\x20\x7f]", "", address)
    return bool(squeezed) and _SAFE.match(squeezed) is not None


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 120})
    parser.enable(["table", "strikethrough"])
    parser.disable("html_block")
    # Addresses are compared and kept as people wrote them; what a renderer percent-encodes is its own affair.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


_PARSER: Final = _parser()


def read_markdown(text: str) -> list[Node]:
    """Blocks that may be written into a document. Raises TooLarge where they nest too deep for one."""
    root = Node("")
    stack = [root]
    for token in _PARSER.parse(text):
        _take(token, stack)
    blocks = [child for child in root.children if isinstance(child, Node)]
    _repair(blocks)
    check(blocks)
    return blocks


def read_inline(text: str) -> list[Node | Span]:
    """One line of Markdown as words and breaks."""
    tokens = _PARSER.parseInline(text)
    return _inline(tokens[0].children or []) if tokens else []


def _take(token: Token, stack: list[Node]) -> None:
    if token.type == "inline":
        stack[-1].children.extend(_inline(token.children or []))
        _mark_box(token, stack)
    elif token.type in ("fence", "code_block"):
        language = token.info.strip().split(" ")[0] or None
        stack[-1].children.append(_code(token.content, language))
    elif token.type == "hr":
        stack[-1].children.append(Node("horizontalRule"))
    elif token.type in ("thead_open", "thead_close", "tbody_open", "tbody_close"):
        return
    elif token.nesting == 1:
        node = _opened(token)
        stack[-1].children.append(node)
        stack.append(node)
    elif token.nesting == -1:
        stack.pop()


def _opened(token: Token) -> Node:
    if token.type == "heading_open":
        return Node("heading", {"level": int(token.tag[1:])})
    if token.type == "ordered_list_open":
        start = token.attrGet("start")
        return Node("orderedList", {"start": start} if isinstance(start, int) and start != 1 else {})
    return Node(_PLAIN_NODES.get(token.type, "paragraph"))


def _code(content: str, language: str | None) -> Node:
    text = content.removesuffix("\n")
    return Node("codeBlock", {"language": language} if language else {}, [Span(text)] if text else [])


def _mark_box(token: Token, stack: Sequence[Node]) -> None:
    """Note on a list item that its first words begin with a task's box."""
    if len(stack) < 3 or stack[-2].name != "listItem" or len(stack[-2].children) != 1:
        return
    box = _BOX.match(token.content)
    first = stack[-1].children[0] if stack[-1].children else None
    if not box or not isinstance(first, Span) or first.marks or not _BOX.match(first.text):
        return
    stack[-2].attributes["checked"] = box[1] != " "
    first.text = first.text[len(box[0].rstrip(" ")) :].removeprefix(" ")
    stack[-1].children = merged(stack[-1].children)


def _inline(tokens: Iterable[Token]) -> list[Node | Span]:
    out: list[Node | Span] = []
    open_marks: list[tuple[str, dict[str, Any]]] = []

    def say(text: str, **more: dict[str, Any]) -> None:
        out.append(Span(text, _fitting({**dict(open_marks), **more})))

    for token in tokens:
        kind = token.type
        if kind == "text" or kind == "text_special":
            say(token.content)
        elif kind == "code_inline":
            say(token.content, code={})
        elif kind == "softbreak":
            say(" ")
        elif kind == "hardbreak":
            out.append(Node("hardBreak"))
        elif kind == "html_inline":
            _tag(token.content, open_marks, out, say)
        elif kind == "image":
            say(token.content or str(token.attrGet("src") or ""), link={"href": str(token.attrGet("src") or "")})
        elif token.nesting == 1:
            open_marks.append(_opened_mark(token))
        elif token.nesting == -1 and open_marks:
            open_marks.pop()
    return merged(out)


def _opened_mark(token: Token) -> tuple[str, dict[str, Any]]:
    if token.type == "link_open":
        title = token.attrGet("title")
        return "link", {"href": str(token.attrGet("href") or ""), **({"title": str(title)} if title else {})}
    return {"strong_open": "bold", "em_open": "italic", "s_open": "strike"}.get(token.type, "bold"), {}


def _tag(
    html: str, open_marks: list[tuple[str, dict[str, Any]]], out: list[Node | Span], say: Callable[[str], None]
) -> None:
    tag = _TAG.fullmatch(html)
    if tag is None:
        say(html)
    elif tag[2].lower() == "br":
        out.append(Node("hardBreak"))
    elif not tag[1]:
        open_marks.append((_TAG_MARKS[tag[2].lower()], {}))
    else:
        mark = _TAG_MARKS[tag[2].lower()]
        for index in range(len(open_marks) - 1, -1, -1):
            if open_marks[index][0] == mark:
                del open_marks[index]
                break


def _fitting(marks: Marks) -> Marks:
    """Marks that may stand together: a link that must not be followed is none."""
    if "link" in marks and not is_safe_link(marks["link"]["href"]):
        return {name: value for name, value in marks.items() if name != "link"}
    return marks


def _repair(nodes: Sequence[Node]) -> None:
    """Give the tree what the schema wants and Markdown leaves out."""
    for node in nodes:
        inner = [child for child in node.children if isinstance(child, Node)]
        match node.name:
            case "bulletList" if inner and all("checked" in item.attributes for item in inner):
                node.name = "taskList"
                for item in inner:
                    item.name = "taskItem"
            case "table":
                _drop_empty_header(node)
            case "tableCell" | "tableHeader":
                node.attributes.clear()
                node.children = [Node("paragraph", {}, node.children)]
                continue
            case "codeBlock" | "paragraph" | "heading":
                continue
        _repair([child for child in node.children if isinstance(child, Node)])
        if node.name == "listItem" and "checked" in node.attributes:
            _write_box(node)
        if node.name in ("listItem", "taskItem") and not (inner and inner[0].name == "paragraph"):
            node.children.insert(0, Node("paragraph"))
        elif node.name == "blockquote" and not inner:
            node.children.append(Node("paragraph"))


def _write_box(item: Node) -> None:
    """Put a box back as words: its list is no task list, since other items have none."""
    words = "[x] " if item.attributes.pop("checked") else "[ ] "
    paragraph = item.children[0]
    if isinstance(paragraph, Node):
        paragraph.children = merged([Span(words), *paragraph.children])


def _drop_empty_header(table: Node) -> None:
    """A table without a header row is written with an empty one, since GFM knows no other."""
    header = table.children[0]
    cells = header.children if isinstance(header, Node) else []
    if len(table.children) > 1 and all(isinstance(cell, Node) and not cell.children for cell in cells):
        del table.children[0]

"""A whole task as one piece of rich text, for people who take it elsewhere.

Owns the order of a report. Must never say less than the working set does: what is retired, superseded or in conflict
is there and is said to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from crdt_docs.contents import Contents, Item
from crdt_docs.richtext import Node, Span, settled

_USUAL: Final = frozenset(("active", "current", "answered", "sent", "draft"))


def task_report(contents: Contents, title: str) -> list[Node | Span]:
    """Name and goal, documents, outputs, decisions, constraints, questions, removed documents, conversation.

    Empty parts are left out.

    Documents keep their open suggestions, for what writes them to show or to leave.
    """
    out: list[Node | Span] = [_heading(1, title)]
    if contents.meta["goal"]:
        out.append(_paragraph(contents.meta["goal"]))
    for document in contents.documents:
        out += _document(document.body, document.title or "Document")
    for output in contents.outputs:
        heading = _heading(2, _noted(output["title"] or "Output", output["status"]))
        out += [heading, *contents.bodies.get(output["id"], [])]
    out += _section("Decisions", map(_entry, contents.decisions))
    out += _section("Constraints", map(_entry, contents.constraints))
    out += _section("Questions", map(_question, contents.questions))
    for document in contents.retired_documents:
        out += _document(document.body, _noted(document.title or "Document", "removed"))
    if contents.messages:
        out += [_heading(2, "Conversation"), *map(_message, contents.messages)]
    return out


def _document(body: Sequence[Node | Span], title: str) -> Sequence[Node | Span]:
    return [_heading(2, title), *body] if list(settled(body)) else []


def _heading(level: int, text: str) -> Node:
    return Node("heading", {"level": level}, [Span(" ".join(text.split()))])


def _paragraph(text: str, lead: Sequence[Node | Span] = ()) -> Node:
    return Node("paragraph", {}, [*lead, *_lines(text)])


def _lines(text: str) -> Iterable[Node | Span]:
    for number, line in enumerate(text.split("\n")):
        if number:
            yield Node("hardBreak")
        if line:
            yield Span(line)


def _section(title: str, items: Iterable[Node]) -> list[Node]:
    listed: list[Node | Span] = list(items)
    return [_heading(2, title), Node("bulletList", {}, listed)] if listed else []


def _noted(text: str, status: str) -> str:
    return text if status in _USUAL else f"{text} ({status})"


def _entry(item: Item) -> Node:
    return Node("listItem", {}, [_paragraph(_noted(item["text"], item["status"]))])


def _question(item: Item) -> Node:
    made = _entry(item)
    answers: list[Any] = [Node("listItem", {}, [_paragraph(answer["text"])]) for answer in item["answers"]]
    if answers:
        made.children.append(Node("bulletList", {}, answers))
    return made


def _message(item: Item) -> Node:
    return _paragraph(item["text"], [Span(item["author"] or item["role"], {"bold": {}}), Span(": ")])

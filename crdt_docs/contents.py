"""What a working set says, read once into plain data.

Owns the meaning of schema 1's entries: which field is shown how, and what status follows from which entries. Must
never raise for what a client wrote, open a root that is not pinned, or write.

Whatever two people can do at once is there twice: two answers, two decisions that supersede one. Status is derived
here and nowhere stored, so that all readers derive the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pycrdt import Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs.fragments import read_fragment
from crdt_docs.markdown import write_markdown
from crdt_docs.richtext import Node, Span, plain_text
from crdt_docs.schema import PART_ROOTS
from crdt_docs.standing import answer_standing, decision_standings
from crdt_docs.values import moment, plain

Item = dict[str, Any]
_LATE: Final = 2**62


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the working set with its rich text as a tree."""

    id: str
    title: str
    body: list[Node | Span]


@dataclass(frozen=True, slots=True)
class Contents:
    """A working set, read. The lists hold items with at least ``id``, ``text`` and ``status``."""

    meta: Item
    documents: list[Document]
    retired_documents: list[Document]
    """Those that somebody took away; they can be put back, words and all."""
    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    messages: list[Item]
    slots: list[Item]
    calls: list[Item]
    summary: Item
    bodies: dict[str, list[Node | Span]]
    """The rich text of outputs by id; their items have it as Markdown."""

    def as_dict(self) -> dict[str, Any]:
        """The projection that HTTP answers with: plain JSON data, documents as Markdown."""
        documents = [{"id": d.id, "title": d.title, "markdown": write_markdown(d.body)} for d in self.documents]
        return {
            "documents": documents,
            "retired_documents": [{"id": d.id, "title": d.title, "status": "retired"} for d in self.retired_documents],
            "constraints": self.constraints,
            "decisions": self.decisions,
            "questions": self.questions,
            "outputs": self.outputs,
            "messages": self.messages,
            "meta": self.meta,
            "slots": self.slots,
            "calls": self.calls,
            "summary": self.summary,
        }


def read_contents(doc: Doc[Any]) -> Contents:
    """Read all pinned roots of a task's main document, in one transaction."""
    with doc.transaction():
        roots = {name: _entries(doc.get(name, type=Map)) for name in PART_ROOTS["main"]}
        bodies = {key: _body(_entries(value).get("body")) for key, value in roots["outputs"].items()}
        return Contents(
            meta=_meta(roots["meta"]),
            documents=_documents(roots["documents"], retired=False),
            retired_documents=_documents(roots["documents"], retired=True),
            constraints=_items(roots["constraints"], _constraint),
            decisions=_decisions(roots["decisions"]),
            questions=_items(roots["questions"], _question),
            outputs=_items(roots["outputs"], lambda key, fields: _output(key, fields, bodies.get(key, []))),
            messages=sorted(_items(roots["messages"], _message), key=lambda item: message_order(item["id"])),
            slots=_items(roots["slots"], _slot),
            calls=_items(roots["calls"], _call),
            summary=_summary(roots["summary"]),
            bodies=bodies,
        )


def message_order(message: str) -> tuple[int, str]:
    """Where a message stands: UUIDv7 ids begin with their time; ids of another make come last, by name."""
    digits = message.replace("-", "")
    if len(message) == 36 and message[14] == "7":
        try:
            return int(digits[:12], 16), message
        except ValueError:
            pass
    return _LATE, message


def words(value: Any) -> str:
    """Whatever stands where words are meant, as words: Text, a string, a number, rich text; else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, Text | XmlText):
        return "".join(chunk for chunk, _ in value.diff() if isinstance(chunk, str))
    if isinstance(value, XmlFragment | XmlElement):
        return plain_text(read_fragment(value))
    number = plain(value)
    return str(number) if isinstance(number, int | float) and not isinstance(number, bool) else ""


def _entries(value: Any) -> dict[str, Any]:
    """A shared Map's entries, each as the engine gives it; a plain JSON object stands in for one. Sorted by key."""
    if isinstance(value, Map):
        with value.doc.transaction():
            return {key: value[key] for key in sorted(value.keys())}
    if isinstance(value, dict):
        return {str(key): value[key] for key in sorted(value, key=str)}
    return {}


def _short(value: Any) -> str | None:
    """A single word such as a kind or a name, or None."""
    return words(value) or None


def _ids(value: Any) -> list[str]:
    """One id, or a list of them, or the keys of an object that names them."""
    if isinstance(value, Map | dict):
        return list(_entries(value))
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, str)]
    return [word] if (word := words(value)) else []


def _said(value: Any) -> bool:
    """Whether an added-entries field (retired, dropped) says yes: any entry, or a stock client's plain truth."""
    if isinstance(value, Map | dict):
        return bool(_entries(value))
    return bool(plain(value))


def _millis(fields: dict[str, Any]) -> float:
    value = fields.get("at")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _LATE


def _each(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Entries in the order in which they were made. Bare words instead of a Map are an entry that has only those."""
    found: list[tuple[float, str, dict[str, Any]]] = []
    for key, value in root.items():
        fields = _entries(value)
        if not isinstance(value, Map | dict):
            text = words(value)
            if not text:
                continue
            fields = {"text": text}
        found.append((_millis(fields), key, fields))
    found.sort(key=lambda entry: entry[:2])
    return ((key, fields) for _, key, fields in found)


def _items(root: dict[str, Any], make: Callable[[str, dict[str, Any]], Item]) -> list[Item]:
    return [make(key, fields) for key, fields in _each(root)]


def _trace(fields: dict[str, Any]) -> Item:
    return {"by": _short(fields.get("by")), "at": moment(plain(fields.get("at")))}


def _constraint(key: str, fields: dict[str, Any]) -> Item:
    return {
        "id": key,
        "text": words(fields.get("text")),
        "status": "retired" if _said(fields.get("retired")) else "active",
        "severity": _short(fields.get("severity")),
        "source": _short(fields.get("source")),
        **_trace(fields),
    }


def _decisions(root: dict[str, Any]) -> list[Item]:
    entries = list(_each(root))
    supersedes = {key: _ids(fields.get("supersedes")) for key, fields in entries}
    standings = decision_standings(supersedes)
    return [
        {
            "id": key,
            "text": words(fields.get("text")),
            "status": standings[key],
            "topic": _short(fields.get("topic")),
            "supersedes": supersedes[key],
            "source": _short(fields.get("source")),
            **_trace(fields),
        }
        for key, fields in entries
    ]


def _question(key: str, fields: dict[str, Any]) -> Item:
    found = list(_each(_entries(fields.get("answers"))))
    answers = [
        {"id": k, "text": words(f.get("text")), "supersedes": _ids(f.get("supersedes")), **_trace(f)} for k, f in found
    ]
    return {
        "id": key,
        "text": words(fields.get("text")),
        "status": answer_standing(answers, dropped=_said(fields.get("dropped"))),
        "answers": answers,
        **_trace(fields),
    }


def _output(key: str, fields: dict[str, Any], body: list[Node | Span]) -> Item:
    return {
        "id": key,
        "text": words(fields.get("title") or fields.get("text")),
        "status": _short(fields.get("state")) or "draft",
        "title": words(fields.get("title")),
        "kind": _short(fields.get("kind")),
        "run": _short(fields.get("run")),
        "blob": _short(fields.get("blob")),
        "next": _short(fields.get("next")),
        "markdown": write_markdown(body),
        **_trace(fields),
    }


def _message(key: str, fields: dict[str, Any]) -> Item:
    return {
        "id": key,
        "text": words(fields.get("text")),
        "status": "sent",
        "author": _short(fields.get("author")),
        "role": _short(fields.get("role")) or "user",
        "session": _short(fields.get("session")),
        "turn": _short(fields.get("turn")),
        "refs": plain(fields.get("refs")),
        "at": moment(plain(fields.get("at"))),
    }


def _slot(key: str, fields: dict[str, Any]) -> Item:
    intent = _short(fields.get("intent"))
    values = {
        name: words(value) if isinstance(value, Text) else plain(value)
        for name, value in _entries(fields.get("fields")).items()
    }
    return {
        "id": key,
        "text": intent or "",
        "status": _short(fields.get("state")) or "open",
        "intent": intent,
        "fields": values,
    }


def _call(key: str, fields: dict[str, Any]) -> Item:
    tool = _short(fields.get("tool"))
    return {
        "id": key,
        "text": tool or "",
        "status": _short(fields.get("status")) or "proposed",
        "tool": tool,
        "intent_key": _short(fields.get("intent_key")),
        "args": plain(fields.get("args")),
        "result": plain(fields.get("result")),
        **_trace(fields),
    }


def _documents(root: dict[str, Any], *, retired: bool) -> list[Document]:
    found: list[tuple[float, str, Document]] = []
    for key, value in root.items():
        fields = _entries(value)
        if _said(fields.get("retired")) is not retired:
            continue
        body = _body(fields.get("body", None if fields else value))
        found.append((document_order(fields), key, Document(key, words(fields.get("title")), body)))
    found.sort(key=lambda entry: entry[:2])
    return [document for _, _, document in found]


def document_order(fields: Mapping[str, Any]) -> float:
    """Where a document stands among the others: its number, or 0 where there is none."""
    order = plain(fields.get("order"))
    return float(order) if isinstance(order, int | float) and not isinstance(order, bool) else 0.0


def _body(value: Any) -> list[Node | Span]:
    """Rich text as a tree; bare words where it is meant become a paragraph a line."""
    if isinstance(value, XmlFragment | XmlElement):
        return read_fragment(value)
    return [Node("paragraph", {}, [Span(line)]) for line in words(value).split("\n") if line]


def _meta(root: dict[str, Any]) -> Item:
    return {
        "schema": plain(root.get("schema")),
        "name": words(root.get("name")),
        "status": _short(root.get("status")),
        "goal": words(root.get("goal")),
    }


def _summary(root: dict[str, Any]) -> Item:
    covers = plain(root.get("covers_seq"))
    return {
        "text": words(root.get("text")),
        "covers_seq": covers if isinstance(covers, int) and not isinstance(covers, bool) else None,
        "by": _short(root.get("by")),
        "checked": list(_entries(root.get("checked"))),
    }

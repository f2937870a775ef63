"""A task's working set in the hands of a Python peer: read as plain data, written as a good peer writes.

Owns writing through the engine. Must never overwrite what somebody else may be changing: words are Text, and what two
people can do at once is an added entry each (see ``contents`` for how it reads back).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pycrdt import Doc, Map, Text, XmlFragment

from crdt_docs import entries
from crdt_docs.contents import Contents, document_order, read_contents
from crdt_docs.entries import Body, Entry, Severity, Words
from crdt_docs.errors import SchemaMismatch
from crdt_docs.fragments import append_nodes
from crdt_docs.ids import new_id, new_ordered_id
from crdt_docs.markdown_reader import read_markdown
from crdt_docs.offsets import engine_offset
from crdt_docs.richtext import Node
from crdt_docs.schema import PART_ROOTS, SCHEMA_VERSION


def read(doc: Doc[Any]) -> dict[str, Any]:
    """The working set as JSON data: ``documents`` (id, title, markdown), ``constraints``, ``decisions``, ``questions``,
    ``outputs``, ``messages`` (items with id, text, status), and ``meta``, ``slots``, ``calls``, ``summary``.

    Never raises for what a client wrote. A document that crashes or hangs the engine does so here as well: for
    bytes from strangers, call it in a process that may die.
    """
    return read_contents(doc).as_dict()


class WorkingSet:
    """What ``by`` does to the working set in ``doc``. Ids of what it makes are returned.

    ``now`` gives milliseconds since the epoch. Each method is one transaction with this peer's ``origin``. A KeyError
    means that the entry that was named is not there, or is not a Map.
    """

    def __init__(self, doc: Doc[Any], by: str, now: Callable[[], int], *, origin: Any = None) -> None:
        self.doc = doc
        self.by = by
        self.origin = origin
        self._clock = now
        self._last = 0

    def now(self) -> int:
        """Milliseconds since the epoch, each later than the one before: entries keep the order of their making."""
        self._last = max(self._clock(), self._last + 1)
        return self._last

    def contents(self) -> Contents:
        """Everything, read once."""
        return read_contents(self.doc)

    def require_schema(self) -> None:
        """Raise SchemaMismatch if the document names another schema than this code knows; an empty one names none."""
        version = self.contents().meta["schema"]
        if version not in (None, SCHEMA_VERSION):
            raise SchemaMismatch(f"the document is of schema {version}, this is {SCHEMA_VERSION}")

    def add_message(
        self,
        text: str,
        *,
        role: str = "user",
        session: str | None = None,
        turn: str | None = None,
        refs: Sequence[str] = (),
    ) -> str:
        """Say something in the task."""
        at = self.now()
        said = entries.message(text, author=self.by, at=at, role=role, session=session, turn=turn, refs=refs)
        return self._add("messages", said, new_ordered_id(at))

    def add_constraint(self, text: str, *, severity: Severity = "normal", source: str | None = None) -> str:
        """Note what must hold."""
        made = entries.constraint(text, by=self.by, at=self.now(), severity=severity, source=source)
        return self._add("constraints", made)

    def retire(self, constraint: str, why: str | None = None) -> str:
        """End a constraint; it stays readable as retired."""
        return self._add(self._field("constraints", constraint, "retired"), self._note(why))

    def decide(
        self, text: str, *, topic: str | None = None, supersedes: Sequence[str] = (), source: str | None = None
    ) -> str:
        """Settle something, in place of earlier decisions if they are named."""
        made = entries.decision(text, by=self.by, at=self.now(), topic=topic, supersedes=supersedes, source=source)
        return self._add("decisions", made)

    def ask(self, text: str) -> str:
        """Leave a question open."""
        return self._add("questions", entries.question(text, by=self.by, at=self.now()))

    def answer(self, question: str, text: str, *, supersedes: Sequence[str] = ()) -> str:
        """Answer a question, beside or in place of other answers."""
        made = entries.answer(text, by=self.by, at=self.now(), supersedes=supersedes)
        return self._add(self._field("questions", question, "answers"), made)

    def drop(self, question: str, why: str | None = None) -> str:
        """Stop asking."""
        return self._add(self._field("questions", question, "dropped"), self._note(why))

    def add_document(self, title: str, markdown: str = "", *, order: float | None = None) -> str:
        """Begin a document, after the others unless ``order`` says where."""
        nodes = read_markdown(markdown)
        place = self._after_all() if order is None else order
        with self._change():
            key = self._add("documents", entries.document(title, order=place), new_id())
            append_nodes(self.body("documents", key), nodes)
        return key

    def add_output(
        self,
        title: str,
        markdown: str = "",
        *,
        kind: str = "text",
        state: str = "draft",
        run: str | None = None,
        blob: str | None = None,
        next: str | None = None,
    ) -> str:
        """Put a result into the task: rich text, or a blob by its hash."""
        nodes = read_markdown(markdown)
        made = entries.output(title, by=self.by, at=self.now(), kind=kind, state=state, run=run, blob=blob, next=next)
        with self._change():
            key = self._add("outputs", made)
            if blob is None:
                append_nodes(self.body("outputs", key), nodes)
        return key

    def retire_document(self, document: str, why: str | None = None) -> str:
        """Take a document away; its words stay, and it can be put back."""
        return self._add(self._field("documents", document, "retired"), self._note(why))

    def append(self, document: str, nodes: Iterable[Node]) -> None:
        """Add blocks at the end of a document, for this peer to go on in. Raises Malformed as ``append_nodes`` does."""
        with self._change():
            append_nodes(self.body("documents", document), nodes)

    def edit_words(self, root: str, key: str, field: str, at: int, delete: int = 0, insert: str = "") -> None:
        """Change an entry's Text at a place counted in code points, touching nothing else of it."""
        text = self._entry(root, key).get(field)
        if not isinstance(text, Text):
            raise KeyError(f"{root}/{key}/{field}")
        with self._change():
            words = str(text)
            start, end = engine_offset(words, at), engine_offset(words, at + delete)
            if end > start:
                del text[start:end]
            if insert:
                text.insert(start, insert)

    def body(self, root: str, key: str) -> XmlFragment:
        """The rich text of a document or an output."""
        body = self._entry(root, key).get("body")
        if not isinstance(body, XmlFragment):
            raise KeyError(f"{root}/{key}/body")
        return body

    def _after_all(self) -> float:
        documents = self._root("documents")
        fields = (documents[key] for key in documents.keys())
        places = [document_order({"order": entry.get("order")}) for entry in fields if isinstance(entry, Map)]
        return max(places, default=-1.0) + 1

    def _change(self) -> Any:
        return self.doc.transaction(origin=self.origin)

    def _note(self, why: str | None) -> Entry:
        return entries.note(by=self.by, at=self.now(), why=why)

    def _root(self, name: str) -> Map[Any]:
        if name not in PART_ROOTS["main"]:
            raise KeyError(name)
        root: Map[Any] = self.doc.get(name, type=Map)
        return root

    def _entry(self, root: str, key: str) -> Map[Any]:
        found = self._root(root).get(key)
        if not isinstance(found, Map):
            raise KeyError(f"{root}/{key}")
        return found

    def _field(self, root: str, key: str, field: str) -> Map[Any]:
        """The map of added entries, made if a stock client left it out."""
        entry = self._entry(root, key)
        found = entry.get(field)
        if not isinstance(found, Map):
            with self._change():
                entry[field] = found = Map()
        return found

    def _add(self, place: str | Map[Any], entry: Entry, key: str | None = None) -> str:
        with self._change():
            parent = self._root(place) if isinstance(place, str) else place
            made = key or new_ordered_id(self._last)
            put_entry(parent, made, entry)
        return made


def put_entry(parent: Map[Any], key: str, entry: Entry) -> Map[Any]:
    """Add an entry to a map in the document. Returns its map."""
    made: Map[Any] = Map()
    parent[key] = made
    for name, value in entry.items():
        if isinstance(value, Words):
            made[name] = Text(value.text)
        elif isinstance(value, Body):
            made[name] = XmlFragment()
        elif isinstance(value, Mapping):
            put_entry(made, name, value)
        elif value is not None:
            made[name] = value
    return made

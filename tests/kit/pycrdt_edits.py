"""Random editing by several pycrdt replicas, written down as one log that a server could have admitted.

Owns how documents are made and looked at natively. Must never split a character: yrs counts UTF-8 and does not cut
surrogate pairs as yjs does, which is why yjs alone is the oracle there.
"""

from __future__ import annotations

from random import Random
from typing import Any

from pycrdt import Array, Doc, Map, Text, UndoManager, XmlElement, XmlFragment, XmlText

WORDS = ("a", "bc", " ", "def ", "\n", "ü", "日本語", "😀", "x" * 40)
VALUES = (None, True, False, 5, -3, 2**40, 0.5, "word", "😀", b"\x00\xff", {"k": [1, None]}, [1, "two"])


def open_roots(doc: Doc[Any]) -> dict[str, Any]:
    """The four roots that the edits use, by name."""
    return {
        "body": doc.get("body", type=Text),
        "list": doc.get("list", type=Array),
        "items": doc.get("items", type=Map),
        "prose": doc.get("prose", type=XmlFragment),
    }


def view(value: Any) -> Any:
    """A shared type as plain data that loses nothing which two replicas could differ in."""
    if isinstance(value, XmlElement):
        attributes: Any = value.attributes
        return ("element", value.tag, dict(attributes), [view(child) for child in value.children])
    if isinstance(value, XmlFragment):
        return [view(child) for child in value.children]
    if isinstance(value, Text | XmlText):
        return [(view(part), view(attributes)) for part, attributes in value.diff()]
    if isinstance(value, Map):
        return {key: view(value[key]) for key in sorted(value.keys())}
    if isinstance(value, Array):
        return [view(item) for item in value]
    if isinstance(value, dict):
        return {key: view(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [view(item) for item in value]
    if isinstance(value, Doc):
        return ("document", value.guid)
    return value


def load(updates: list[bytes]) -> tuple[Doc[Any], dict[str, Any]]:
    """A fresh replica after these updates, and its roots' views."""
    doc: Doc[Any] = Doc()
    roots = open_roots(doc)
    for update in updates:
        doc.apply_update(update)
    return doc, {name: view(root) for name, root in roots.items()}


class Writer:
    """One replica: edits, and what it has not sent yet."""

    def __init__(self, random: Random, client: int) -> None:
        self.random = random
        self.doc: Doc[Any] = Doc(client_id=client, skip_gc=random.random() < 0.3)
        self.roots = open_roots(self.doc)
        self.heard = 0
        self.unsent: list[bytes] = []
        self.vector = self.doc.get_state()
        self._listening = True
        self._subscription = self.doc.observe(self._collect)
        self._undo = UndoManager(scopes=list(self.roots.values()), capture_timeout_millis=0)

    def _collect(self, event: Any) -> None:
        if self._listening:
            self.unsent.append(event.update)

    def act(self) -> None:
        """One transaction of edits, or an undo."""
        if self.random.random() < 0.05:
            self._undo.undo()
            return
        with self.doc.transaction():
            for _ in range(self.random.choice((1, 1, 1, 4))):
                self._edit(self.random.choice(list(self.roots.values())))

    def _edit(self, target: Any) -> None:
        while isinstance(target, Map | Array) and self.random.random() < 0.5:
            values = list(target.values()) if isinstance(target, Map) else list(target)
            inner = [value for value in values if isinstance(value, Text | Map | Array)]
            if not inner:
                break
            target = self.random.choice(inner)
        if isinstance(target, Text):
            self._edit_text(target)
        elif isinstance(target, Map):
            self._edit_map(target)
        elif isinstance(target, Array):
            self._edit_array(target)
        else:
            self._edit_xml(target)

    def _span(self, text: str) -> tuple[int, int]:
        start = self.random.randrange(len(text) + 1)
        end = min(len(text), start + self.random.randrange(6))
        return len(text[:start].encode()), len(text[:end].encode())

    def _edit_text(self, text: Any) -> None:
        random = self.random
        parts = [part for part, _ in text.diff()]  # str() would show an XmlText's formats as tags
        if not all(isinstance(part, str) for part in parts):  # among embeds, offsets are not those of a string
            text.insert(0, random.choice(WORDS))
            return
        start, end = self._span("".join(parts))
        kind = random.randrange(6)
        if kind < 3 or start == end:
            text.insert(start, random.choice(WORDS), random.choice((None, None, {"bold": True})))
        elif kind == 3:
            del text[start:end]
        elif kind == 4:
            text.format(start, end, random.choice(({"bold": True}, {"bold": None}, {"link": {"href": "x"}})))
        elif random.random() < 0.2:
            text.insert_embed(start, {"image": "x"})

    def _edit_array(self, array: Any) -> None:
        at = self.random.randrange(len(array) + 1)
        if at < len(array) and self.random.random() < 0.3:
            del array[at]
        else:
            array.insert(at, self._value())

    def _edit_map(self, map_: Any) -> None:
        key = self.random.choice(("a", "b", "ключ"))
        if key in map_ and self.random.random() < 0.2:
            del map_[key]
        else:
            map_[key] = self._value()

    def _value(self) -> Any:
        random = self.random
        if random.random() < 0.6:
            return random.choice(VALUES)
        return random.choice((lambda: Text("new"), lambda: Map({"k": 1.0}), lambda: Array([1.0, "x"])))()

    def _edit_xml(self, fragment: Any) -> None:
        random = self.random
        children = list(fragment.children)
        if not children or random.random() < 0.4:
            made = random.choice((lambda: XmlElement("paragraph"), lambda: XmlText("text")))()
            fragment.children.insert(random.randrange(len(children) + 1), made)
            return
        child = random.choice(children)
        if random.random() < 0.15:
            del fragment.children[children.index(child)]
        elif isinstance(child, XmlText):
            self._edit_text(child)
        elif random.random() < 0.4:
            child.attributes["level"] = str(random.randrange(4))
        else:
            self._edit_xml(child)

    def hear(self, log: list[bytes]) -> None:
        """Apply what the log has that this replica has not seen."""
        self._listening = False
        for update in log[self.heard :]:
            self.doc.apply_update(update)
        self.heard = len(log)
        self._listening = True

    def send(self, log: list[bytes]) -> None:
        """Append what is unsent, or everything since some moment: a re-sync that overlaps earlier entries."""
        if self.random.random() < 0.2:
            log.append(self.doc.get_update(self.vector))
        else:
            log += self.unsent
        self.unsent = []
        if self.random.random() < 0.2:
            self.vector = self.doc.get_state()


def generate(seed: int, clients: int = 2, steps: int = 60) -> list[bytes]:
    """A log of updates; every entry follows what it depends on."""
    random = Random(seed)
    log: list[bytes] = []
    ids = random.sample(range(1, 200), clients) if random.random() < 0.5 else random.sample(range(2**32), clients)
    writers = [Writer(random, client) for client in ids]
    for _ in range(steps):
        writer = random.choice(writers)
        if random.random() < 0.3:
            writer.hear(log)
        if random.random() < 0.4:
            writer.send(log)
        writer.act()
    for writer in writers:
        writer.send(log)
    return log

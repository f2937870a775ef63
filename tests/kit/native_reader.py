"""Pycrdt as the oracle for what bytes mean, in a process of its own, which hostile bytes may crash or hang.

Owns that process. Every answer is that of a fresh document; what it shows of roots is what ``view.mjs`` shows in yjs.
"""

from __future__ import annotations

import json
import math
import selectors
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pycrdt import Array, Doc, Map, Text, XmlElement, XmlFragment, XmlText

from crdt_docs.updates.parse import DELETED, GC, parse
from crdt_docs.updates.vectors import DeleteSet, decode_state_vector

ROOT = Path(__file__).parents[2]
PATIENCE = 10.0
TYPES = {"element", "fragment", "text", "xmltext", "map", "array"}


class EngineFailed(Exception):
    """The engine raised, crashed or hung over these updates; says which."""


@dataclass(frozen=True)
class Native:
    """What a fresh pycrdt document is after some updates. ``update`` is its own encoding of itself."""

    json: dict[str, Any]
    state_vector: dict[int, int]
    update: bytes


class NativeReader:
    """``with NativeReader() as pycrdt: pycrdt.load([update], {"body": "text"}).json``; kinds as the yjs oracle's."""

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def load(self, updates: Sequence[bytes], roots: Mapping[str, str]) -> Native:
        """A fresh document after these updates, in this order. Raises EngineFailed; the next call is served again."""
        assert self._process.stdin and self._process.stdout
        request = {"updates": [b64encode(one).decode() for one in updates], "roots": dict(roots)}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(PATIENCE) else b"hung"
        if not line.endswith(b"\n"):
            self._stop()
            died = self._process.returncode
            self._start()
            raise EngineFailed("hung" if line == b"hung" else f"died of {died}")
        reply = json.loads(line)
        if "error" in reply:
            raise EngineFailed(reply["error"])
        return Native(reply["json"], decode_state_vector(b64decode(reply["sv"])), b64decode(reply["update"]))

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.native_reader"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _stop(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


def plain(value: Any) -> Any:
    """A view in which is alike what no reader tells apart: 5 and 5.0, null and undefined, words in one piece or two."""
    if isinstance(value, dict):
        if set(value) in ({"number"}, {"bigint"}) and isinstance(value[next(iter(value))], str):
            return plain(float(next(iter(value.values()))))
        if value == {"undefined": True}:
            return None
        kept = {key: plain(one) for key, one in value.items() if key != "entries"}
        if set(kept) == {"element", "attributes", "children"}:  # pycrdt shows no shared type that is an attribute
            kept["attributes"] = {
                key: "a type" if isinstance(one, dict) and TYPES & set(one) else one
                for key, one in kept["attributes"].items()
            }
        for kind in ("text", "xmltext"):
            if isinstance(kept.get(kind), list):
                kept[kind] = _joined(kept[kind])
        return kept
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return str(value) if not math.isfinite(value) else int(value) if value.is_integer() else value
    return value


def deletions(update: bytes) -> dict[int, list[tuple[int, int]]]:
    """All that is deleted in a document, from its own encoding: what its delete set says, and what was collected."""
    parsed = parse(update)
    gone = DeleteSet(parsed.deletes)
    for section in parsed.sections:
        dead = [(one.clock, one.length) for one in section.structs if one.ref in (GC, DELETED)]
        gone.update([(section.client, dead)])
    return dict(gone.items())


def _joined(pieces: list[Any]) -> list[Any]:
    out: list[Any] = []
    for piece in pieces:
        if not isinstance(piece, dict) or "insert" not in piece:
            return pieces
        marks = {name: one for name, one in (piece.get("attributes") or {}).items() if one is not None}
        words = piece["insert"]
        if out and isinstance(words, str) and isinstance(out[-1][0], str) and out[-1][1] == marks:
            out[-1] = (out[-1][0] + words, marks)
        else:
            out.append((words, marks))
    return [[words, marks] for words, marks in out]


def _view(value: Any) -> Any:
    if isinstance(value, XmlElement):
        attributes: Any = value.attributes
        shown = {key: {"element": ""} if hasattr(one, "observe") else _view(one) for key, one in attributes}
        return {"element": value.tag, "attributes": shown, "children": [_view(one) for one in value.children]}
    if isinstance(value, XmlFragment):
        return {"fragment": [_view(one) for one in value.children]}
    if isinstance(value, Text | XmlText):
        pieces = [{"insert": _view(part), "attributes": _view(marks) or {}} for part, marks in value.diff()]
        return {"xmltext" if isinstance(value, XmlText) else "text": pieces}
    if isinstance(value, Map):
        return {"map": {key: _view(value[key]) for key in value.keys()}}
    if isinstance(value, Array):
        return {"array": [_view(one) for one in value]}
    if isinstance(value, Doc):
        return {"document": value.guid}
    if isinstance(value, bytes | bytearray):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _view(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_view(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def _serve() -> None:
    kinds: dict[str, Any] = {"text": Text, "array": Array, "map": Map, "xml": XmlFragment}
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any]
        try:
            doc: Doc[Any] = Doc()
            roots = {name: doc.get(name, type=kinds[kind]) for name, kind in request["roots"].items()}
            for update in request["updates"]:
                doc.apply_update(b64decode(update))
            reply = {
                "json": {name: _view(root) for name, root in roots.items()},
                "sv": b64encode(doc.get_state()).decode(),
                "update": b64encode(doc.get_update()).decode(),
            }
        except BaseException as error:  # a panic of the engine is no Exception
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    _serve()

"""Yjs in Node, as the oracle for what bytes mean.

Owns one Node process that runs ``tests/interop/node/oracle.mjs``. Every answer is that of a fresh replica.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest

from crdt_docs.updates.vectors import decode_state_vector

NODE_FOLDER = Path(__file__).parents[1] / "interop" / "node"


class OracleError(Exception):
    """Yjs threw; carries its message."""


@dataclass(frozen=True)
class Loaded:
    """What a fresh replica is after some updates.

    ``deletes`` is client → [(clock, length)] of all that is deleted in it, also what no update says; ``state`` is its
    own re-encoding.
    """

    json: dict[str, Any]
    state_vector: dict[int, int]
    deletes: dict[int, list[tuple[int, int]]]
    pending: bool
    state: bytes


@dataclass(frozen=True)
class Generated:
    """A log of updates made by yjs; ``finals`` are the writers' own views of the same roots at the end."""

    updates: list[bytes]
    roots: dict[str, str]
    finals: list[dict[str, Any]]


class YjsOracle:
    """``with YjsOracle() as yjs: yjs.load([update], {"body": "text"}).json``.

    The kinds of roots are text, array, map, xml, xmltext and element.
    """

    def __init__(self, node: str = "node") -> None:
        self._node = node

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._node, "oracle.mjs"], cwd=NODE_FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request as ``oracle.mjs`` documents them. Raises OracleError where yjs throws."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"node ended with {self._process.wait()}")
        return _checked(json.loads(line))

    def load(self, updates: Sequence[bytes], roots: Mapping[str, str] | None = None, **options: bool) -> Loaded:
        """A fresh replica after these updates, in this order. Options: gc, cleanup (both true if not given)."""
        return self.load_each([updates], roots, **options)[0]

    def load_each(
        self, documents: Iterable[Sequence[bytes]], roots: Mapping[str, str] | None = None, **options: bool
    ) -> list[Loaded]:
        """One fresh replica for each list of updates, in one round trip."""
        requests = [
            {"op": "load", "updates": [_text(one) for one in updates], "roots": roots or {}, **options}
            for updates in documents
        ]
        return [_loaded(_checked(reply)) for reply in self.ask({"op": "batch", "requests": requests})["replies"]]

    def state(self, updates: Sequence[bytes], vector: bytes | None = None, **options: bool) -> bytes:
        """``Y.encodeStateAsUpdate`` of a fresh replica, for a peer at ``vector``."""
        request: dict[str, Any] = {"op": "state", "updates": [_text(one) for one in updates], **options}
        return b64decode(self.ask(request | ({"sv": _text(vector)} if vector is not None else {}))["update"])

    def merge(self, updates: Sequence[bytes]) -> bytes:
        """``Y.mergeUpdates``."""
        return b64decode(self.ask({"op": "merge", "updates": [_text(one) for one in updates]})["update"])

    def diff(self, update: bytes, vector: bytes) -> bytes:
        """``Y.diffUpdate``."""
        return b64decode(self.ask({"op": "diff", "update": _text(update), "sv": _text(vector)})["update"])

    def vector(self, update: bytes) -> bytes:
        """``Y.encodeStateVectorFromUpdate``."""
        return b64decode(self.ask({"op": "vector", "update": _text(update)})["sv"])

    def generate(self, seed: int, **options: Any) -> Generated:
        """Random edits; options are clients, steps, gc, split (cuts inside surrogate pairs), resync."""
        reply = self.ask({"op": "generate", "seed": seed, **options})
        return Generated([b64decode(one) for one in reply["updates"]], reply["roots"], reply["finals"])


def require_node() -> None:
    """Skip the test where the Node clients are not installed, unless CLEW_REQUIRE_NODE says they must be."""
    if os.environ.get("CLEW_REQUIRE_NODE"):
        return
    if not (NODE_FOLDER / "node_modules").is_dir() or shutil.which("node") is None:
        pytest.skip("the Node clients are not installed: npm ci in tests/interop/node")


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _checked(reply: dict[str, Any]) -> dict[str, Any]:
    if "error" in reply:
        raise OracleError(reply["error"])
    return reply


def _loaded(reply: dict[str, Any]) -> Loaded:
    return Loaded(
        json=reply["json"],
        state_vector=decode_state_vector(b64decode(reply["sv"])),
        deletes={int(client): [(clock, length) for clock, length in ranges] for client, ranges in reply["ds"].items()},
        pending=reply["pending"],
        state=b64decode(reply["state"]),
    )

"""A whole document, parsed: every struct from clock 0 on, found by id.

Owns lookup by id. Must never stand for part of a document: what trimming and map keys conclude from it ("nothing else
follows", "nobody else wrote this key") holds only if nothing is missing.
"""

from __future__ import annotations

from bisect import bisect_right

from crdt_docs.updates.parse import SKIP, Id, Parsed, Struct

Place = tuple[int, int]
"""(client, index of the struct among that client's)."""


class Whole:
    """The structs of a document by client. Raises ValueError where the update has gaps."""

    __slots__ = ("update", "structs", "_starts", "_ends")

    def __init__(self, parsed: Parsed) -> None:
        self.update = parsed.update
        self.structs: dict[int, list[Struct]] = {}
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, int] = {}
        for client, clock, structs, end in parsed.sections:
            if clock or any(struct[2] == SKIP for struct in structs):
                raise ValueError(f"not a whole document: the structs of client {client} have a gap")
            self.structs[client] = structs
            self._starts[client] = [struct[0] for struct in structs]
            self._ends[client] = end

    def index(self, target: Id) -> int:
        """Which of the client's structs holds the id. Raises ValueError for an id that the document lacks."""
        client, clock = target
        if clock >= self._ends.get(client, 0):
            raise ValueError(f"not a whole document: {target} is referred to and missing")
        return bisect_right(self._starts[client], clock) - 1

    def at(self, target: Id) -> Struct:
        """The struct that holds the id. Raises ValueError for an id that the document lacks."""
        at = self.index(target)  # first, for it is what raises
        return self.structs[target[0]][at]

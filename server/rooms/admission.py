"""One update on its way through the gate. Owns the rules of admission; must never change what is known.

Structs resolve in dependency order across an update's sections; what is known already is cut; a Step2 is admitted in
part, an Update whole or not at all. Under pinned roots a struct must also fit its parent and the document schema; what
touches a hole (deleted or collected content) is not checked for that, for it is honest: somebody typed where somebody
else deleted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Mapping
from typing import Final

from crdt_docs.updates.parse import (
    ARRAY_TYPE,
    DELETED,
    ELEMENT_TYPE,
    FORMAT,
    FRAGMENT_TYPE,
    GC,
    HOOK_TYPE,
    MAP_TYPE,
    MAX_DEPTH,
    SKIP,
    TEXT_TYPE,
    TYPE,
    XML_TEXT_TYPE,
    Id,
    Parsed,
    Section,
    Struct,
)
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.domain.errors import CLOSE
from server.domain.log import Claim
from server.rooms.limits import MOST_CLIENTS, MOST_NEW_CLIENTS
from server.rooms.remainder import SLICE, merged, put_together
from server.rooms.verdict import Admit, Delta, Kind, Known, Lacking, Refuse, Resync, Run, Starts, TypeInfo, Verdict

GLANCE: Final = 20_000
"""Structs that are only looked at after which others may run."""
_VALUES: Final = frozenset((1, 2, 3, 7, 8, 9))
_LETTERS: Final = frozenset((1, 4, 5, 6, 7))
_NODES: Final = frozenset((1, 7))
_CHILDREN: Final[Mapping[int, frozenset[int]]] = {
    ARRAY_TYPE: _VALUES,
    MAP_TYPE: _VALUES,
    TEXT_TYPE: _LETTERS,
    ELEMENT_TYPE: _NODES,
    FRAGMENT_TYPE: _NODES,
    HOOK_TYPE: _VALUES,
    XML_TEXT_TYPE: _LETTERS,
}


class Refused(Exception):
    """Ends an admission with a refusal."""

    def __init__(self, why: str, code: int = CLOSE["invalid"]) -> None:
        super().__init__(why)
        self.verdict = Refuse(code, why)


class Gap(Exception):
    """Ends the admission of an Update that lacks something."""

    def __init__(self, client: int, clock: int) -> None:
        super().__init__(f"client {client} at {clock}")
        self.verdict = Resync(Lacking(client, clock))


class Admission:
    """One update on its way through the gate."""

    def __init__(self, gate: Known, parsed: Parsed, principal: PrincipalKey, kind: Kind) -> None:
        self.gate = gate
        self.parsed = parsed
        self.principal = principal
        self.kind = kind
        self.partial = kind == "step2"
        self.trusted = kind == "stored"
        self.is_cut = False
        self.lacking: list[Lacking] = []
        self.structs: dict[int, list[Struct]] = {}
        self.ends: dict[int, int] = {}
        self.have: dict[int, int] = {}
        self.runs: dict[int, tuple[Starts, list[Run]]] = {}
        self.types: dict[Id, TypeInfo] = {}
        self.long_entries: list[tuple[int, int, int]] = []
        self.mine: DeleteSet | None = None

    def run(self) -> Generator[None, None, Verdict]:
        """Decide, yielding after each ``SLICE`` structs; raises Refused or Gap."""
        for section in self.parsed.sections:
            yield from self._take(section)
        new = sum(client not in self.gate.state_vector for client in self.structs)
        most = min(MOST_NEW_CLIENTS, max(0, MOST_CLIENTS - len(self.gate.state_vector)))
        if new > most and not self.trusted:
            raise Refused(f"more than {most} new client ids", CLOSE["too_large"])
        yield from self._order()
        deletes = yield from self._deletes()
        self._check_entries()
        structs = {client: found for client, found in self.structs.items() if found}
        claims = self._claims(structs)
        delta = Delta({client: self.ends[client] for client in structs}, self.runs, self.types, deletes, claims)
        result = self.parsed
        if not structs and not deletes:
            result = Parsed(b"", [], [])
        elif self.is_cut:
            result = yield from put_together(self.parsed.update, structs, self.ends, self.gate.state_vector, deletes)
        return Admit(result, tuple(self.lacking), delta)

    # -- which sections, and from where

    def _take(self, section: Section) -> Generator[None, None, None]:
        client, clock, structs, end = section
        known = self.gate.state_vector.get(client, 0)
        if clock > known:
            self._lack(client, known)
            return
        if end <= known:
            self.is_cut = True
            return
        if clock < known:
            self.is_cut = True
            first = bisect_right(structs, known, key=lambda struct: struct.clock) - 1
            structs = structs[first:]
        for position, struct in enumerate(structs, 1):
            if struct.ref == SKIP:
                self._lack(client, struct.clock)
                structs = structs[: position - 1]
                end = struct.clock
                break
            if not position % GLANCE:
                yield
        if not structs:
            return
        if not self.trusted and not self._owns(client):
            if not self.partial:
                raise Refused("this client id belongs to somebody else", CLOSE["conflict"])
            self._lack(client, known)
            return
        self.structs[client] = structs
        self.ends[client] = end
        self.runs[client] = ([], [])

    def _owns(self, client: int) -> bool:
        """I4: a final claim excludes all others, a provisional one nobody.

        Neither the writer's own Update, which then claims for good, nor its Step2: a tab that typed before it was
        connected has said all in one, and would wait behind a neighbour's claim for ever. Until there is a final
        claim, presence tells whose id it is: everybody in the room hears it before its first keystroke is sent, and
        could write under it first.
        """
        claim = self.gate.claims.get(client)
        if claim is not None and not claim.provisional:
            return claim.principal == self.principal
        return self.gate.seat(client) in (None, self.principal)

    def _lack(self, client: int, clock: int) -> None:
        if not self.partial:
            raise Gap(client, clock)
        self.lacking.append(Lacking(client, clock))
        self.is_cut = True

    # -- dependency order across sections

    def _order(self) -> Generator[None, None, None]:
        """Resolve every section, each as far as another one needs it, so that honest mutual references pass."""
        position = dict.fromkeys(self.structs, 0)
        done = 0
        for root in self.structs:
            stack = [root]
            waiting = {root}
            wanted = [1 << 60]
            while stack:
                client = stack[-1]
                structs = self.structs[client]
                at = position[client]
                missing: Id | None = None
                while at < len(structs):
                    missing = self._resolve(client, structs[at])
                    if missing is not None:
                        break
                    at += 1
                    done += 1
                    if not done % SLICE:
                        yield
                    if self.have[client] > wanted[-1]:
                        break
                position[client] = at
                if missing is None:
                    waiting.discard(stack.pop())
                    wanted.pop()
                    continue
                other, clock = missing
                if clock < self.ends.get(other, 0):
                    if other in waiting:
                        raise Refused("structs that depend on each other in a cycle")
                    stack.append(other)
                    waiting.add(other)
                    wanted.append(clock)
                    continue
                self._lack(other, clock)
                self.structs[client] = structs[:at]
                self.ends[client] = max(structs[at].clock, self.gate.state_vector.get(client, 0))
                waiting.discard(stack.pop())
                wanted.pop()

    def _known(self, client: int) -> int:
        found = self.have.get(client)
        return self.gate.state_vector.get(client, 0) if found is None else found

    def _run(self, client: int, clock: int) -> Run:
        source = self.gate.runs if clock < self.gate.state_vector.get(client, 0) else self.runs
        starts, runs = source[client]
        return runs[bisect_right(starts, clock) - 1]

    def _resolve(self, client: int, struct: Struct) -> Id | None:
        """Check one struct and note what it brings; or answer the id that it waits for."""
        clock, length, ref = struct.clock, struct.length, struct.ref
        origin, right, parent = struct.origin, struct.right_origin, struct.parent
        known = self.gate.state_vector.get(client, 0)
        at = clock
        if clock < known:
            at, origin, parent = known, (client, known - 1), None
        if right is not None and right == origin and not self.trusted:
            raise Refused("its neighbours are one")  # two replicas would part over it
        if origin is not None and origin[1] >= self._known(origin[0]):
            return origin
        if right is not None and right[1] >= self._known(right[0]):
            return right
        if parent.__class__ is tuple and parent[1] >= self._known(parent[0]):
            return parent
        if ref == GC:
            run = Run(None, False, True)
        else:
            run = self._place(struct, origin, right, parent)
            if ref == TYPE:
                self._declare(client, struct, run)
            if run.keyed and length > 1 and ref != DELETED:
                self.long_entries.append((client, at, clock + length))
        starts, runs = self.runs[client]
        if not runs or runs[-1] != run:
            starts.append(at)
            runs.append(run)
        self.have[client] = clock + length
        return None

    def _place(self, struct: Struct, origin: Id | None, right: Id | None, parent: str | Id | None) -> Run:
        """Which parent the struct falls under, and whether it fits there."""
        keyed = struct.key is not None
        if parent is None:
            gone = False
            for neighbour in (origin, right):
                if neighbour is None:
                    continue
                run = self._run(*neighbour)
                if run.parent is None:
                    gone = True
                elif parent is None:
                    parent, keyed = run.parent, run.keyed
                elif (run.parent != parent or run.keyed != keyed) and not self.trusted:
                    raise Refused("its neighbours live in different places")
            if gone:
                if parent is not None and not self.trusted and self._lives(parent):
                    raise Refused("one of its neighbours is gone, the other lives")  # yjs drops it, yrs shows it
                return Run(None, False, struct.ref == DELETED)
        if parent.__class__ is tuple:
            info = self._type(parent)
            if info is None:
                if not self._run(*parent).hole:
                    raise Refused("its parent is not a shared type")
                return Run(None, False, struct.ref == DELETED)
            if info.pinned and not self.trusted:
                self._fit(struct, info.ref, keyed, info.node)
        else:
            kind = self.gate.shape.roots.get(parent)  # type: ignore[arg-type]
            if kind is not None and not self.trusted:
                self._fit(struct, kind, keyed)
        return self.gate.shape.run(parent, keyed, struct.ref == DELETED)

    def _lives(self, parent: str | Id | None) -> bool:
        """Whether nothing that this hangs from is deleted, by what is known or by this update."""
        mine = self._deleted()
        while parent.__class__ is tuple:
            client, clock = parent
            if any(deleted.covers(client, clock, clock + 1) for deleted in (self.gate.deleted, mine)):
                return False
            parent = self._run(client, clock).parent
        return parent is not None

    def _type(self, ident: Id) -> TypeInfo | None:
        return self.types.get(ident) or self.gate.types.get(ident)

    def _fit(self, struct: Struct, kind: int, keyed: bool, holder: str = "") -> None:
        """Under pinned roots: raise unless a parent of this kind, an element of that name, may hold the struct."""
        ref = struct.ref
        if ref == DELETED:
            return
        if keyed:
            if kind == ARRAY_TYPE or kind == FRAGMENT_TYPE:
                raise Refused("a list has no keys")
            if ref not in _VALUES:
                raise Refused("this content can't be a value")
            return
        if kind == MAP_TYPE or kind == HOOK_TYPE:
            raise Refused("a map's entries have keys")
        if ref not in _CHILDREN[kind]:
            raise Refused("this content does not fit its parent")
        if kind == ELEMENT_TYPE or kind == FRAGMENT_TYPE:
            type_ref, node = struct.detail if ref == TYPE else (None, None)
            if type_ref == ELEMENT_TYPE:
                if node not in self.gate.shape.nodes:
                    raise Refused(f"the document schema has no node {node!r}")
            elif type_ref != XML_TEXT_TYPE:
                raise Refused("a fragment holds elements and text only")
            self._nest(node if type_ref == ELEMENT_TYPE else "text", holder)
        elif kind == XML_TEXT_TYPE and ref == FORMAT and struct.detail.split("--")[0] not in self.gate.shape.marks:
            raise Refused(f"the document schema has no mark {struct.detail!r}")

    def _nest(self, node: str | None, holder: str) -> None:
        """An editor deletes what stands where its schema has no place for it, and the paragraph around it."""
        allowed = self.gate.shape.children.get(holder)
        if allowed is not None and node not in allowed:
            raise Refused(f"the document schema has no {node!r} in a {holder or 'body'}")

    def _declare(self, client: int, struct: Struct, run: Run) -> None:
        depth, pinned = 1, False
        if run.parent.__class__ is tuple:
            info = self._type(run.parent)
            if info is not None:
                depth, pinned = info.depth + 1, info.pinned
        elif run.parent is not None:
            pinned = run.parent in self.gate.shape.roots
        if depth > MAX_DEPTH and not self.trusted:
            raise Refused("types nested too deep", CLOSE["too_large"])
        ref, name = struct.detail
        self.types[client, struct.clock] = self.gate.shape.type_info(ref, depth, pinned, name)

    # -- what else it brings

    def _deletes(self) -> Generator[None, None, list[tuple[int, list[tuple[int, int]]]]]:
        fresh = []
        done = 0
        for client, ranges in self.parsed.deletes:
            have = self._known(client)
            kept: list[tuple[int, int]] = []
            once = yield from merged(ranges)
            self.is_cut = self.is_cut or once is not ranges
            for clock, length in once:
                done += 1
                if not done % SLICE:
                    yield
                end = clock + length
                if end > have:
                    self._lack(client, have)
                    end = have
                    if clock >= have:
                        continue
                if not self.gate.deleted.covers(client, clock, end):
                    missing = self.gate.deleted.missing(client, clock, end)
                    if missing != [(clock, end)]:
                        self.is_cut = True
                    kept.extend((start, stop - start) for start, stop in missing)
                else:
                    self.is_cut = True
            if kept:
                fresh.append((client, kept))
        return fresh

    def _deleted(self) -> DeleteSet:
        """What this update itself deletes."""
        if self.mine is None:
            self.mine = DeleteSet(self.parsed.deletes)
        return self.mine

    def _check_entries(self) -> None:
        """A map's entry has one value. Overwritten ones are kept as one struct by clients that don't collect them."""
        if self.trusted or not self.long_entries:
            return
        mine = self._deleted()
        for client, start, end in self.long_entries:
            for first, last in self.gate.deleted.missing(client, start, end):
                if not mine.covers(client, first, last):
                    raise Refused("a map's entry has one value")  # yjs fails when it collects one that has more

    def _claims(self, structs: Mapping[int, list[Struct]]) -> tuple[Claim, ...]:
        if self.trusted:
            return ()
        claims = []
        for client in structs:
            old = self.gate.claims.get(client)
            provisional = self.partial and self.gate.seat(client) != self.principal
            if old is None or (old.provisional and not provisional):
                claims.append(Claim(client, self.principal, provisional))
        return tuple(claims)

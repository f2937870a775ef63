"""Whether what is stored of a document is sound, and what can be saved of it if it is not. Pure.

Owns the proof of I1, I3 and I4 over stored bytes: every update's dependencies precede it, nothing is there twice, the
snapshot's own state is what its bytes say, a newcomer gets just that, and client ids are their owners'. Must never hand
the bytes to the CRDT engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crdt_docs.errors import CrdtDocsError
from crdt_docs.ids import Part
from crdt_docs.updates.parse import Parsed, parse
from crdt_docs.updates.splice import Spliced
from crdt_docs.updates.trim import trim
from server.domain.access import PrincipalKey
from server.domain.log import Actor, Snapshot
from server.rooms.gate import Gate
from server.rooms.shapes import SHAPES
from server.rooms.verdict import Admit
from server.store.examine import Examined


def check(found: Examined) -> list[str]:
    """What is wrong with the document, in words; nothing if it is sound."""
    wrong = list(found.damage)
    gate, document, seq = Gate(SHAPES[found.name.part]), Spliced(), 0
    if found.snapshot is not None:
        seq = found.snapshot.seq
        try:
            parsed = parse(found.snapshot.update)
            gate.restore(parsed)
            document.add(parsed)
        except (CrdtDocsError, ValueError) as error:
            return [*wrong, f"the snapshot up to {seq} is no closed document ({error})"]
        wrong += _check_state(found.name.part, found.snapshot, gate, document)
    owners = {claim.client: claim.principal for claim in found.claims if not claim.provisional}
    for number, update, actor in found.updates:
        try:
            parsed = parse(update)
            if number <= seq:
                wrong += _check_covered(gate, number, parsed)
                continue
            twice = [s for s in parsed.sections if s.clock < document.state_vector.get(s.client, 0)]
            if twice:
                wrong.append(f"update {number} holds what was logged before (client {twice[0].client})")
            gate.restore(parsed)
            document.add(parsed)
        except (CrdtDocsError, ValueError) as error:
            return [*wrong, f"update {number} does not follow on those before it ({error})"]
        wrong += _check_author(owners, number, parsed, actor)
    return wrong + _check_owners(found, gate) + _check_joined(found.name.part, gate, document)


def _check_covered(gate: Gate, number: int, parsed: Parsed) -> list[str]:
    """The snapshot reaches into the middle of a row: then what it covers of it is in both, and must be the same."""
    there = all(section.end <= gate.state_vector.get(section.client, 0) for section in parsed.sections)
    gone = all(
        gate.deleted.covers(client, clock, clock + length)
        for client, ranges in parsed.deletes
        for clock, length in ranges
    )
    return [] if there and gone else [f"update {number} is not in the snapshot that covers it"]


def _check_author(owners: Mapping[int, PrincipalKey], number: int, parsed: Parsed, actor: Actor | None) -> list[str]:
    """I4: whoever writes under a client id owns it, for ever. What came by a Step2 may be another's."""
    if actor is None or actor.via == "sync":
        return []
    return [
        f"update {number} is by {actor.principal}, who does not own client {section.client}"
        for section in parsed.sections
        if owners.get(section.client) != actor.principal
    ]


def _check_owners(found: Examined, gate: Gate) -> list[str]:
    owned = {claim.client for claim in found.claims}
    return [f"client {client} is nobody's" for client in gate.state_vector if client not in owned]


def _check_joined(part: Part, gate: Gate, document: Spliced) -> list[str]:
    """I3: what a newcomer is given is the log's document."""
    joined = Gate(SHAPES[part])
    try:
        joined.restore(parse(document.full()))
    except (CrdtDocsError, ValueError) as error:
        return [f"what a newcomer is given is no closed document ({error})"]
    return [] if _same(joined, gate) else ["what a newcomer is given is not what was logged"]


def _check_state(part: Part, snapshot: Snapshot, gate: Gate, document: Spliced) -> list[str]:
    wrong = []
    if snapshot.state:
        stored = Gate(SHAPES[part])
        if not stored.load(snapshot.state):
            wrong.append("the snapshot's state cannot be read")
        elif not _same(stored, gate):
            wrong.append("the snapshot's state is not what its bytes say")
    if snapshot.index:
        loaded = Spliced.load(snapshot.update, snapshot.index)
        if (loaded.state_vector, loaded.full()) != (document.state_vector, document.full()):
            wrong.append("the snapshot's index leads astray")
    return wrong


def _same(one: Gate, other: Gate) -> bool:
    return (
        one.state_vector == other.state_vector
        and one.deleted == other.deleted
        and one.types == other.types
        and {client: (list(starts), runs) for client, (starts, runs) in one.runs.items()}
        == {client: (list(starts), runs) for client, (starts, runs) in other.runs.items()}
    )


@dataclass
class Salvaged:
    """A clean start for the next generation, and what could not be taken over."""

    snapshot: Snapshot
    kept: int
    left_out: list[str] = field(default_factory=list)


def salvage(found: Examined) -> Salvaged:
    """Take over the snapshot and every update as far as it stands on what was taken over before it."""
    gate, document, kept = Gate(SHAPES[found.name.part]), Spliced(), 0
    left_out = list(found.damage)
    covered = found.snapshot.seq if found.snapshot else 0
    stored = [(covered, found.snapshot.update)] if found.snapshot else []
    stored += [(seq, update) for seq, update, _ in found.updates if seq > covered]
    for seq, update in stored:
        what = f"update {seq}" if seq != covered else f"the snapshot up to {seq}"
        try:
            parsed = parse(update)
        except CrdtDocsError as error:
            left_out.append(f"{what} is no update ({error})")
            continue
        admitted = _fit(gate, parsed)
        if admitted is None:
            left_out.append(f"{what} stands on nothing that could be read")
            continue
        gate.apply(admitted)
        if admitted.update:
            document.add(admitted.parsed)
        if admitted.lacking:
            left_out.append(f"a part of {what} stands on what could not be read")
        kept += 1
    return Salvaged(_snapshot(found, document), kept, left_out)


def _fit(gate: Gate, parsed: Parsed) -> Admit | None:
    """As much of it as fits: all, or what an answer to a SyncStep1 would be let in for."""
    for kind in ("stored", "step2"):
        verdict = gate.admit(parsed, PrincipalKey(""), "stored" if kind == "stored" else "step2")
        if isinstance(verdict, Admit) and (verdict.update or not verdict.lacking):
            return verdict
    return None


def _snapshot(found: Examined, document: Spliced) -> Snapshot:
    whole = document.full()
    trimmed = trim(whole)
    rebuilt = Spliced.load(trimmed)
    if rebuilt.state_vector != document.state_vector:
        trimmed, rebuilt = whole, document
    gate = Gate(SHAPES[found.name.part])
    gate.restore(parse(trimmed))
    return Snapshot(found.head, trimmed, gate.dump(), rebuilt.dump_index())

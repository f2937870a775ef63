"""What may enter a document. Owns the admission of updates; must never do I/O, wait, or change on a refusal.

The gate reads each update itself against what it knows of the document: state vector, normalised delete set, type
table, and per client the runs ``clock -> (parent, keyed?, hole?)``, since a struct that has an origin carries neither
parent nor key. It answers with a value: ``Admit``, ``Refuse`` or ``Resync``.

Invariants kept here:
    I1  what is admitted depends only on what is known or comes with it, and nothing known is admitted again;
        so nothing is ever pending, and merging is concatenation.
    I4  a client id belongs to one principal. An Update claims it; a Step2 claims only provisionally.
    I7  the checks protect engines and browsers, never permissions: those are per document.
"""

from __future__ import annotations

from collections.abc import Generator

from crdt_docs import slices
from crdt_docs.updates.parse import Parsed
from crdt_docs.updates.vectors import DeleteSet
from server.domain.access import PrincipalKey
from server.rooms.admission import Admission, Gap, Refused
from server.rooms.gate_state import decode, encode
from server.rooms.keystroke import admit_keystroke
from server.rooms.restoring import restore_keystroke
from server.rooms.verdict import Admit, Kind, Known, Verdict


class Gate(Known):
    """One document's admission state. ``admit`` decides, ``apply`` makes an admission the new state."""

    def admit(self, parsed: Parsed, principal: PrincipalKey, kind: Kind) -> Verdict:
        """Decide about an update in one go, without changing anything."""
        if kind == "update":
            letter = admit_keystroke(self, parsed, principal)
            if letter is not None:
                return letter
        return slices.finish(self.resolve(parsed, principal, kind))

    def resolve(self, parsed: Parsed, principal: PrincipalKey, kind: Kind) -> Generator[None, None, Verdict]:
        """Decide in slices: yields after each ``SLICE`` structs. The gate must not change in between."""
        try:
            return (yield from Admission(self, parsed, principal, kind).run())
        except Refused as refused:
            return refused.verdict
        except Gap as gap:
            return gap.verdict

    def apply(self, admit: Admit) -> None:
        """Make an admission part of the document."""
        ends, found, types, deletes, claims = admit.delta
        self.state_vector.update(ends)
        for client, (starts, runs) in found.items():
            if not starts:
                continue
            known = self.runs.get(client)
            if known is None:
                self.runs[client] = (starts, runs)
                continue
            skip = 1 if known[1][-1] == runs[0] else 0
            if skip < len(starts):
                known[0].extend(starts[skip:])
                known[1].extend(runs[skip:])
        if types:
            self.types.update(types)
        if deletes:
            self.deleted.update(deletes)
        for claim in claims:
            self.claims[claim.client] = claim

    def dump(self) -> bytes:
        """The state as bytes, for a snapshot; claims are the log's and stay out."""
        return encode(self)

    def load(self, state: bytes) -> bool:
        """Take in a dump of this version; False, and nothing changed, if it is none: then ``restore`` the snapshot."""
        return slices.finish(self.load_in_slices(state))

    def load_in_slices(self, state: bytes, deleted: DeleteSet | None = None) -> Generator[None, None, bool]:
        """``load``, letting others run now and then; ``deleted`` is what the snapshot deletes, where that was read."""
        try:
            read = yield from decode(state, deleted)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError):
            return False
        self.state_vector, self.deleted, self.types, self.runs = read
        return True

    def restore(self, parsed: Parsed) -> None:
        """Take in what our own store holds; raises ValueError if it has a gap, which breaks I1."""
        for _ in self.restore_in_slices(parsed):
            pass

    def restore_keystroke(self, parsed: Parsed) -> bool:
        """``restore`` for what nearly all of a log is; False, and nothing changed, for anything else."""
        return restore_keystroke(self, parsed)

    def restore_in_slices(self, parsed: Parsed) -> Generator[None, None, None]:
        """``restore``, letting others run after each slice."""
        verdict = yield from self.resolve(parsed, PrincipalKey(""), "stored")
        if not isinstance(verdict, Admit):
            raise ValueError(f"stored update does not fit: {verdict}")
        self.apply(verdict)

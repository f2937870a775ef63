"""Documents rebuilt from logged bytes, and the comparison of two of them."""

from __future__ import annotations

from typing import Any

from kit.ledger import Broken, deleted_clocks
from kit.simulated_client import view
from pycrdt import Doc

from crdt_docs.updates.vectors import decode_state_vector


def rebuild(updates: list[bytes]) -> Doc[Any]:
    """A pycrdt document from these updates, in order."""
    doc: Doc[Any] = Doc(client_id=1)
    view(doc)
    for update in updates:
        doc.apply_update(update)
    return doc


def compare(what: str, one: Doc[Any], other: Doc[Any]) -> None:
    """Raise Broken unless two documents are the same: state vector, contents, deletions."""
    if decode_state_vector(one.get_state()) != decode_state_vector(other.get_state()):
        raise Broken(f"{what}: state vectors differ")
    if view(one) != view(other):
        raise Broken(f"{what}: {view(one)} is {view(other)}")
    if deleted_clocks(one.get_update()) != deleted_clocks(other.get_update()):
        raise Broken(f"{what}: deletions differ")

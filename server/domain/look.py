"""What a person had seen of a task. Owns the shape; what counts as seeing is decided where people come and go."""

from __future__ import annotations

from dataclasses import dataclass

from crdt_docs.updates.vectors import StateVector


@dataclass(frozen=True, slots=True)
class Look:
    """The main document as the person had it before them: up to ``seq``, which is that state vector; Unix seconds."""

    seq: int
    state_vector: StateVector
    at: float

"""Yjs v1 updates as bytes: parsed, cut, merged, diffed and trimmed without a CRDT engine.

Owns the update format. Must never guess: what it cannot read exactly it refuses. Everything is pure and synchronous.
The one precondition of merging is what the gate guarantees (I1): no gaps, dependencies first.
"""

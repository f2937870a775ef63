"""Live documents: the gate, the one committing writer, rooms and their connections."""

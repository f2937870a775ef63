"""Worker processes: where the CRDT engine may crash without hurting anyone."""

"""The shared language of Clew: what a task document is, how it syncs, and a client that speaks it."""

"""The desk: what people say becomes turns, turns are offered to agents' hosts, and who has one is watched over."""

"""The agent peer: a participant that thinks. It never imports ``server``."""

"""The authority: who may do what, what happened, and who hears of it."""

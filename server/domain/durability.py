"""What a receipt is worth."""

from __future__ import annotations

from typing import Literal

Durability = Literal["full", "process"]
"""``full``: what was receipted survives power loss. ``process``: it survives kill -9 of the server."""

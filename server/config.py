"""What an operator can set. Owns the names and defaults; must never be changed after the start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from server.domain.durability import Durability


@dataclass(frozen=True, slots=True)
class Config:
    """One server's settings."""

    data: Path = Path("clew-data")
    host: str = "127.0.0.1"
    port: int = 8484
    durability: Durability = "full"
    allow_hosts: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    agent: bool = True
    browser: bool = True

"""Bearers that this person's command line was given by servers. Owns the file, which nobody else may read.

Must never be written but whole, nor be wider than 0600 for a moment.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from server.domain.errors import Invalid

VARIABLE: Final = "CLEW_CREDENTIALS"


@dataclass(frozen=True, slots=True)
class Credential:
    """A bearer for a server; ``agent`` is the name of the agent whose host it is for, if it is for one."""

    token: str
    token_id: str
    expires_at: float
    agent: str | None = None


def credentials_file(environment: Mapping[str, str]) -> Path:
    """Where they lie: what $CLEW_CREDENTIALS names, else in the person's own configuration."""
    if named := environment.get(VARIABLE):
        return Path(named)
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(home) / "clew" / "credentials.json"


def server_of(url: str, *, insecure: bool = False) -> str:
    """A server's address as it is kept. Raises Invalid, also for one to which a bearer would go in the clear."""
    parts = urlsplit(url.strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.username:
        raise Invalid(f"A server's address is written https://clew.example.org, not {url}.")
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1") and not insecure:
        raise Invalid(f"{url} has no TLS: whoever is on the way could take the bearer. --insecure-lan goes on anyway.")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def find(file: Path, server: str) -> Credential | None:
    """What the server has given, if it has given anything."""
    kept = _read(file).get(server)
    try:
        return Credential(**kept) if isinstance(kept, dict) else None
    except TypeError:
        return None


def keep(file: Path, server: str, credential: Credential) -> None:
    """Keep what the server has given."""
    _write(file, {**_read(file), server: asdict(credential)})


def forget(file: Path, server: str) -> None:
    """Keep it no more."""
    _write(file, {name: kept for name, kept in _read(file).items() if name != server})


def _read(file: Path) -> dict[str, Any]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Invalid(f"{file} cannot be read: {error}.") from None
    return kept if isinstance(kept, dict) else {}


def _write(file: Path, kept: Mapping[str, Any]) -> None:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".credentials-", dir=file.parent)  # 0600 from the beginning
        with os.fdopen(descriptor, "w", encoding="utf-8") as new:
            json.dump(kept, new, indent=2)
        os.replace(name, file)
    except OSError as error:
        raise Invalid(f"{file} cannot be written: {error.strerror}.") from None

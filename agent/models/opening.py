"""From a spec to a mind.

Owns the specs, the settings that belong to them, and the clients. Reads the environment once. Must never reach the
network when it opens, send a key to an address that it does not belong to, or tell a key in an error or a name.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agent.mind import Mind
from agent.models.errors import MissingExtra, UnknownModel
from agent.models.limits import Limits
from agent.models.tools import TOOLS, AgentTool

_ADDRESSES: Final = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://127.0.0.1:11434/v1",
}
_KEYS: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "ollama": "OLLAMA_API_KEY"}
_URL: Final = "CLEW_MODEL_URL"
_KEY: Final = "CLEW_MODEL_KEY"
_FORMS: Final = "A model is named openai:NAME, anthropic:NAME, ollama:NAME or local:/path/to/model.gguf."
_GGUF: Final = b"GGUF"


def open_mind(
    spec: str,
    clerk: Mind,
    *,
    limits: Limits | None = None,
    tools: Sequence[AgentTool] = TOOLS,
    environ: Mapping[str, str] | None = None,
) -> AbstractAsyncContextManager[Mind]:
    """A mind that asks the model of the spec, and falls back on the clerk. Raises UnknownModel, MissingExtra.

    ``openai:NAME``, ``anthropic:NAME`` and ``ollama:NAME`` are reached at the service's own address or, if it is set,
    at ``CLEW_MODEL_URL``. The key is ``CLEW_MODEL_KEY``; at the service's own address also the service's own variable.
    ``local:PATH`` is a GGUF file, run in a process of its own. Nothing is reached, loaded or started before the first
    turn.
    """
    provider, colon, name = spec.partition(":")
    environ = os.environ if environ is None else environ
    if not colon or not name.strip() or provider not in (*_ADDRESSES, "local"):
        raise UnknownModel(_FORMS)
    for module in ("pydantic_ai", "anthropic" if provider == "anthropic" else "openai"):
        _need(module, "models")
    if provider == "local":
        path = _gguf(name)
        _need("xllamacpp", "local")
        return _local(path, clerk, limits or Limits(), tools)
    address, key = _address(provider, environ), _key(provider, environ)
    return _remote(provider, name, address, key, clerk, limits or Limits(), tools)


def _need(module: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise MissingExtra(f'This model needs a part that is not installed: pip install "clew[{extra}]".')


def _gguf(name: str) -> Path:
    """The file, if it is one. Raises UnknownModel."""
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(_GGUF))
    except OSError:
        raise UnknownModel("local: is followed by the path of a GGUF file that can be read.") from None
    if magic != _GGUF:
        raise UnknownModel(f"{path.name} is not a GGUF file.")
    return path.resolve()


def _address(provider: str, environ: Mapping[str, str]) -> str:
    """Where the service is. Raises UnknownModel for a setting that is no address, or holds a secret."""
    address = environ.get(_URL, "").strip()
    if not address:
        return _ADDRESSES[provider]
    try:
        parts = urlsplit(address)
        fits = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.fragment
    except ValueError:
        fits = False
        parts = urlsplit("")
    if parts.username is not None or parts.password is not None or parts.query:
        raise UnknownModel(f"{_URL} may hold no name, password or query; a key belongs into {_KEY}.")
    if not fits:
        raise UnknownModel(f"{_URL} must be an http or https address, such as http://127.0.0.1:8000/v1.")
    return address.rstrip("/")


def _key(provider: str, environ: Mapping[str, str]) -> str:
    """The key for the address; empty where none is needed. A service's own variable is for its own address alone."""
    if key := environ.get(_KEY, "").strip():
        return key
    if environ.get(_URL, "").strip():
        return ""
    key = environ.get(_KEYS[provider], "").strip()
    if not key and provider != "ollama":
        raise UnknownModel(f"Set {_KEY} or {_KEYS[provider]} to the key of the model's service.")
    return key


@asynccontextmanager
async def _remote(
    provider: str, name: str, address: str, key: str, clerk: Mind, limits: Limits, tools: Sequence[AgentTool]
) -> AsyncIterator[Mind]:
    from agent.models import services
    from agent.models.engine import Engine
    from agent.models.mind import ModelMind

    async with services.client(limits, address) as http:
        engine = services.engine(provider, name, address, key, http)

        async def start() -> Engine:
            return engine

        yield ModelMind(f"{provider}:{_shown(name)}", start, clerk, limits, tools)


@asynccontextmanager
async def _local(path: Path, clerk: Mind, limits: Limits, tools: Sequence[AgentTool]) -> AsyncIterator[Mind]:
    from agent.models.local import LocalModel
    from agent.models.mind import ModelMind

    async with LocalModel(path, limits) as model:
        yield ModelMind(f"local:{path.name}", model.engine, clerk, limits, tools)


def _shown(name: str) -> str:
    """The model's name as people see it: what does not look like one, is not shown."""
    return name if re.fullmatch(r"[\w.:/@+-]{1,80}", name) and not name.startswith("sk-") else "…"

"""A model as it is reached.

Owns what differs between models behind the one interface that pydantic-ai gives them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Engine:
    """``native_forms``: it keeps to a JSON schema by itself; else the form is a tool that it must call.

    ``caches``: it can be told where a prompt cache may end. ``small``: it is offered no tools, and a form that
    leaves it no choice where there is none. ``window`` is how many tokens it holds, where that is little.
    """

    model: Model
    settings: ModelSettings
    native_forms: bool
    caches: bool = False
    small: bool = False
    window: int | None = None


Start = Callable[[], Awaitable[Engine]]
"""Gives the engine for a turn; a local model is started, or started again. Raises Failed."""

"""What host and worker say to each other: one JSON object a line, over the socket that a worker is born with.

Owns the words and their spelling. Must never import the engine: the host reads them, and no document may crash it.
A worker is trusted with its grant and nothing else, so what it says is read with care: a line that is none of these
words is a ``Malformed``, and whoever said it is ended.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, TypeAlias, get_args

from crdt_docs.errors import Malformed

MAX_LINE: Final = 1 << 20
Outcome: TypeAlias = Literal["done", "failed", "released", "stopped"]
Language: TypeAlias = Literal["en", "zh"]
OUTCOMES: Final[tuple[str, ...]] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Begin:
    """Answer these messages. ``messages`` in any order, ``answer`` the id to answer under, ``agent`` a name to show.

    ``user`` is the name of who wrote the messages, all of them, as the server knows it.
    """

    turn: str
    task: str
    attempt: int
    messages: tuple[str, ...]
    answer: str
    grant: str
    agent: str
    user: str
    named: bool
    language: Language | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A new bearer in place of the one before."""

    token: str


@dataclass(frozen=True, slots=True)
class Queued:
    """The answer to ``Boundary``: messages that came meanwhile."""

    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Not one character more. The worker says ``Ended`` and ends."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker can begin; ``why`` tells if the clerk thinks in it though a model was named."""

    pid: int
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Alive:
    """Said every so often, by a loop that nothing in native code may hold up."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The mind is through with what it was asked: has anything come meanwhile?"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A name for the task."""

    name: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How the turn went, and which messages the answer covers. What was written is durable if it is ``done``.

    ``answer`` is under which id it was written, if not under the one that the turn named.
    """

    outcome: Outcome
    covered: tuple[str, ...] = ()
    why: str | None = None
    answer: str | None = None


ToWorker: TypeAlias = Begin | Grant | Queued | Stop
ToHost: TypeAlias = Ready | Alive | Boundary | Proposed | Ended
_WORDS: Final[dict[str, type[Any]]] = {word.__name__.lower(): word for word in (*get_args(ToWorker), *get_args(ToHost))}


def write_line(word: ToWorker | ToHost) -> bytes:
    """One word as a line."""
    return json.dumps({"word": type(word).__name__.lower(), **asdict(word)}).encode() + b"\n"


def read_for_worker(line: bytes) -> ToWorker:
    """A word of the host's. Raises Malformed."""
    word: ToWorker = _read(line, get_args(ToWorker))
    return word


def read_for_host(line: bytes) -> ToHost:
    """A word of a worker's. Raises Malformed."""
    word: ToHost = _read(line, get_args(ToHost))
    return word


def _read(line: bytes, allowed: tuple[type[Any], ...]) -> Any:
    try:
        said = json.loads(line)
        word = _WORDS[said.pop("word")]
        made = word(**{name: tuple(value) if isinstance(value, list) else value for name, value in said.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Malformed(f"not a word: {type(error).__name__}") from None
    if word not in allowed or not all(_fits(getattr(made, field.name), str(field.type)) for field in fields(made)):
        raise Malformed(f"not a {word.__name__} for here")
    return made


def _fits(value: Any, kind: str) -> bool:
    match kind:
        case "str":
            return _is_text(value)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "tuple[str, ...]":
            return isinstance(value, tuple) and all(_is_text(one) for one in value)
        case "Outcome":
            return value in OUTCOMES
        case "Language | None":
            return value is None or value in get_args(Language)
        case "str | None":
            return value is None or _is_text(value)
    raise AssertionError(kind)


def _is_text(value: Any) -> bool:
    """A string that can be written: without halves of surrogate pairs."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)

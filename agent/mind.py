"""What thinks for the agent, as the rest of it sees it: what a mind is given, and what it may say.

Owns the shapes between the peer, which reads and writes the task, and the minds: the clerk, which needs no model, and
the models. Pure. A mind must never touch a document or the network of the server; whatever it yields is a wish that
``filing`` and the peer carry out, and every proposal points at the words that it comes from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from crdt_docs.contents import Contents
from crdt_docs.entries import Severity

Language = Literal["en", "zh"]
Kind = Literal["constraint", "decision", "question", "answer", "next_step"]


@dataclass(frozen=True, slots=True)
class Message:
    """Something said in the task. ``at`` is milliseconds since the epoch, ``role`` is ``user`` or ``agent``."""

    id: str
    author: str
    role: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Brief:
    """All that a mind gets to know for one turn.

    ``asked`` are the messages to answer, in the task's order; ``before`` those that came before them, agents' included.
    ``contents`` is the working set as it is now. ``begun`` is what an attempt before this one had already written of
    the answer: go on from there. ``follows`` if the last of ``before`` is what this answer says already, to messages
    that came earlier. ``needs_name`` if nobody has named the task yet. ``now`` is milliseconds.
    """

    task_name: str
    language: Language
    asked: tuple[Message, ...]
    before: tuple[Message, ...]
    contents: Contents
    now: int
    needs_name: bool = False
    begun: str = ""
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """One entry for the ledger. ``quote`` stands verbatim in the message ``source``; ``text`` is what is filed.

    ``supersedes`` are ids of decisions (or, of an answer, of other answers), ``answers`` the question's id.
    """

    kind: Kind
    text: str
    source: str
    quote: str
    severity: Severity = "normal"
    topic: str | None = None
    supersedes: tuple[str, ...] = ()
    answers: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """More of the answer, to be appended to what was said before."""

    text: str


@dataclass(frozen=True, slots=True)
class Filed:
    """Entries to add to the ledger now."""

    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class Unfiled:
    """Words that seem to belong into the ledger but could not be filed with confidence; quoted, never dropped."""

    quote: str
    source: str


@dataclass(frozen=True, slots=True)
class Named:
    """A name for the task that its people will recognize."""

    name: str


@dataclass(frozen=True, slots=True)
class Narrated:
    """A paragraph about where the task stands; shown only if it passes ``crdt_docs.fidelity``."""

    text: str


@dataclass(frozen=True, slots=True)
class FellBack:
    """The mind could not do it; what follows is the clerk's. ``why`` is a sentence for people, without secrets."""

    why: str


Thought = Said | Filed | Unfiled | Named | Narrated | FellBack


class Mind(Protocol):
    """Answers a brief. ``name`` is shown to people (``clerk``, ``openai:gpt-…``)."""

    @property
    def name(self) -> str:
        """How people see it."""
        ...

    def think(self, brief: Brief) -> AsyncIterator[Thought]:
        """The thoughts of one turn, in order; cancelled when the turn is stopped.

        Raises nothing for what a model did: a failure is a ``FellBack`` and then the clerk's thoughts.
        """
        ...

"""What a model may do besides answering: a list, of which the one tool so far reads what the prompt had no room for.

Owns the seam. A tool gets the brief, so it can know and say no more than the turn does; what it answers is material.
Must never write, and never raise for what a model asks of it: it answers with a sentence instead.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from anyio import to_thread

from agent.mind import Brief
from agent.models.ledger import rows
from agent.models.material import cut, fenced
from crdt_docs.markdown import write_markdown

_MOST_TOKENS: Final = 3_000
_MOST_FOUND: Final = 5
_AROUND: Final = 600


@dataclass(frozen=True, slots=True)
class AgentTool:
    """``parameters`` is a JSON schema of an object; ``call`` gets arguments that may be anything a model makes up."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    call: Callable[[Brief, Mapping[str, Any]], Awaitable[str]]


async def _look_up(brief: Brief, arguments: Mapping[str, Any]) -> str:
    return await to_thread.run_sync(_read, brief, arguments, abandon_on_cancel=True)


def _read(brief: Brief, arguments: Mapping[str, Any]) -> str:
    words = " ".join(str(arguments.get("words") or "").split())
    if not words:
        return "look_up needs words: the title of a document, or words that occur in it or in the ledger."
    found = list(islice(_found(brief, words.casefold()), _MOST_FOUND))
    if not found:
        return f"Nothing in the working set has these words. Its documents: {_titles(brief)}"
    each = _MOST_TOKENS // len(found)
    return "\n".join(fenced(kind, cut(text, each), title=title) for kind, title, text in found)


def _found(brief: Brief, sought: str) -> Iterator[tuple[str, str, str]]:
    """Documents of this title, whole; else rows of the ledger and places in documents where the words occur."""
    documents = [(document.title or "Untitled", document.body) for document in brief.contents.documents]
    titled = [(title, body) for title, body in documents if " ".join(title.casefold().split()) == sought]
    yield from (("document", title, write_markdown(body)) for title, body in titled)
    if titled:
        return
    yield from (
        (entry.kind, entry.name, entry.text) for entry in rows(brief.contents) if sought in entry.text.casefold()
    )
    for title, body in documents:
        text = write_markdown(body)
        place = text.casefold().find(sought)
        if place >= 0:
            yield "document", title, text[max(place - _AROUND, 0) : place + len(sought) + _AROUND]


def _titles(brief: Brief) -> str:
    titles = [document.title or "Untitled" for document in brief.contents.documents]
    return fenced("titles", cut(json.dumps(titles, ensure_ascii=False), _MOST_TOKENS // 4))


LOOK_UP: Final = AgentTool(
    name="look_up",
    description=(
        "Read from the task's working set what the prompt had no room for: a document by its exact title, or the "
        "places in documents and in the ledger where some words occur."
    ),
    parameters={
        "type": "object",
        "properties": {"words": {"type": "string", "description": "A document's title, or words that occur."}},
        "required": ["words"],
        "additionalProperties": False,
    },
    call=_look_up,
)

TOOLS: Final[tuple[AgentTool, ...]] = (LOOK_UP,)

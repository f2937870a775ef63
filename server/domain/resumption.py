"""What a returning user is told, rendered from the ledger. Owns that nothing else is told, and that it is checked.

The words are the ledger's own, each item quoted and on one line, so that no model can forget, soften or invent one.
``checked`` is earned: the paragraph is searched for every item that must be in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from server.domain.facts import NOTHING, Facts, Item, gather
from server.domain.language import Language
from server.domain.telling import WORDS, Since, missing, tell


@dataclass(frozen=True, slots=True)
class Resumption:
    """The paragraph and the facts under it; ``checked`` if every fact that it owes was found in it."""

    text: str
    facts: Facts
    checked: bool


@dataclass(frozen=True, slots=True)
class Told:
    """A resumption as somebody gets it. ``covers_seq`` is how far it has read, ``looked_at`` Unix seconds.

    ``last_edit`` is the entry or document that a person wrote in last, None where the log does not know.
    """

    resumption: Resumption
    covers_seq: int
    looked_at: float | None = None
    narrative: str | None = None
    last_edit: Item | None = None


def resume(
    name: str,
    ledger: Mapping[str, Any],
    language: Language = "en",
    *,
    changes: Sequence[Item] = (),
    since: Since | None = None,
) -> Resumption:
    """The resumption of a task from its working set, and from what changed since the person last looked."""
    facts = replace(gather(ledger), changes=list(changes))
    return word(name, facts, language, since)


def word(name: str, facts: Facts, language: Language, since: Since | None = None) -> Resumption:
    """The resumption of facts that were gathered before."""
    text = tell(name, facts, language, since)
    return Resumption(text, facts, not missing(text, facts, language))


def unreadable(name: str, language: Language) -> Resumption:
    """What can be said of a task whose document can't be read: its name, and that nothing of it is lost."""
    words = WORDS[language]
    return Resumption(words.BETWEEN.join([words.opening(name), words.unreadable()]), NOTHING, False)

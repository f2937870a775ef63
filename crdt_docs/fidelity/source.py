"""What a summary may draw on besides the ledger. Owns looking things up in it; it is long, so little of it is read.

Must never be read as a ledger: who said a thing here, and whether it still holds, is not known.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from .acts import mentions
from .names import Name
from .values import Value, same, values
from .words import characters, is_cjk, normalise, root, vocabulary, words

LIMIT: Final = 420_000
"""Characters that are read."""
_AROUND: Final = 160
"""Characters around a value that say what it is a value of."""


class Source:
    """A conversation, documents, a task's name: as one text."""

    def __init__(self, text: str) -> None:
        self.text = normalise(text, LIMIT)

    @cached_property
    def lower(self) -> str:
        """All of it in lower case."""
        return self.text.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case."""
        return vocabulary(self.lower)

    @cached_property
    def roots(self) -> frozenset[str]:
        """Its words as they count."""
        latin = {root(one) for one in self.words if one.isalpha() and not is_cjk(one)}
        return frozenset(latin) | characters(self.text)

    @cached_property
    def _values(self) -> list[Value]:
        return values(self.text)

    @cached_property
    def acts(self) -> frozenset[str]:
        """The acts that it speaks of."""
        return mentions(self.text)

    def states(self, value: Value, about: frozenset[str]) -> bool:
        """Whether it has the value near one of the words."""
        for known in self._values:
            if same(value, known):
                near = self.text[max(0, known.start - _AROUND) : known.end + _AROUND]
                if not about or not about.isdisjoint(word.stem for word in words(near)):
                    return True
        return False

    def names(self, part: str) -> bool:
        """Whether it has the word with a capital where no sentence begins, or beside another such word."""
        found = re.search(rf"(?:[\w,] |[A-Z]\w+ ){re.escape(part.capitalize())}\b", self.text)
        return found is not None or (is_cjk(part) and part in self.text)

    def joins(self, name: Name) -> bool:
        """Whether it has a part of the name together with another capital word."""
        parts = "|".join(re.escape(part.capitalize()) for part in name.parts)
        return re.search(rf"[A-Z]\w+ (?:{parts})\b|\b(?:{parts}) [A-Z]\w+", self.text) is not None

"""What a person has set for themselves on this server, and the plan that its operator has put them on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from crdt_docs.ids import UserId
from server.domain.errors import Invalid
from server.domain.language import Language, preferred

STANDARD: Final = "standard"
CONTINUATION: Final = "continuation"
"""The preference that takes the continuation screen away, if it is false."""
MOST: Final = 4096
"""Characters of all preferences together, as JSON."""

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Account:
    """``language`` is None where they leave it to the browser; ``preferences`` are the page's and scripts' own."""

    user: UserId
    language: Language | None = None
    plan: str = STANDARD
    preferences: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def continues(self) -> bool:
        """Whether they are asked, as they come in, if they want to go on with what they were working on."""
        return self.preferences.get(CONTINUATION) is not False

    def speaks(self, asked: str | None, accept_language: str | None) -> Language:
        """In which language to speak to them: what this request asks for, what they chose, what their browser says."""
        return preferred(asked) if asked else self.language or preferred(accept_language)


def merged(before: Mapping[str, Scalar], change: Mapping[str, Scalar | None]) -> dict[str, Scalar]:
    """Preferences after a change; None takes one away. Raises Invalid if they are too many."""
    after = {name: value for name, value in {**before, **change}.items() if value is not None}
    if len(json.dumps(after, ensure_ascii=False)) > MOST:
        raise Invalid(f"Preferences may take up to {MOST} characters together.")
    return after

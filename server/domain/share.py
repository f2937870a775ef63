"""A link by which an owner lets others in to one task. Owns its bounds, and what its guests are called."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Final, NewType

from crdt_docs.ids import TaskId, UserId
from server.domain.access import Role
from server.domain.language import Language

ShareId = NewType("ShareId", str)

MOST_LINKS: Final = 50
"""Living links of one task."""
MOST_USES: Final = 1000
LONGEST: Final = 366 * 86400
HIGHEST: Final = Role.EDITOR

_ANIMALS: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "otter", "heron", "badger", "lynx", "finch", "hare", "newt", "ibis", "mole", "wren", "stoat", "crane",
        "gecko", "quail", "marten", "swift", "tapir", "vole", "plover", "robin",
    ),
    "zh": (
        "水獭", "白鹭", "獾", "猞猁", "雀鸟", "野兔", "蝾螈", "朱鹮", "鼹鼠", "鹪鹩", "白鼬", "仙鹤",
        "壁虎", "鹌鹑", "貂", "雨燕", "貘", "田鼠", "鸻鸟", "知更鸟",
    ),
}  # fmt: skip
_GUEST: Final[dict[Language, str]] = {"en": "Guest {}", "zh": "访客{}"}
_NAMES: Final = "|".join(
    _GUEST[spoken].format(animal).casefold() for spoken, animals in _ANIMALS.items() for animal in animals
)
_GIVEN: Final = re.compile(rf"(?:{_NAMES})(?: \d+)?")


@dataclass(frozen=True, slots=True)
class Share:
    """A link without its secret. Times are Unix seconds.

    ``sign_in``: for people of this server alone, not for guests. ``keyed``: for devices with a key of their own.
    Whoever comes by it is on the task until ``expires_at``, or until it is revoked.
    """

    id: ShareId
    task: TaskId
    role: Role
    created_by: UserId | None
    created_at: float
    expires_at: float
    most_uses: int
    sign_in: bool
    keyed: bool
    uses: int = 0
    used_at: float | None = None
    revoked_at: float | None = None

    def is_open(self, now: float) -> bool:
        """Whether somebody may still come in by it."""
        return self.revoked_at is None and now < self.expires_at and self.uses < self.most_uses


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of a link: the role on the task; not ``fresh`` if they had a place there already, which stays."""

    role: Role
    fresh: bool


def is_guest_name(key: str) -> bool:
    """Whether a name, as it is compared, is one that the server gives to guests."""
    return bool(_GIVEN.fullmatch(" ".join(key.split())))


def guest_name(language: Language, attempt: int) -> str:
    """A name for a guest, such as "Guest otter"; with a number from the second attempt on, for names are unique."""
    name = _GUEST[language].format(secrets.choice(_ANIMALS[language]))
    return name if attempt == 0 else f"{name} {secrets.randbelow(10 ** (attempt + 1)) + 2}"

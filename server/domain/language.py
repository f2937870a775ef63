"""Which language the server's own sentences are in. Owns the choice; must never touch what people wrote."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
_READ: Final = 1000
"""Characters of the header that are read; browsers send a handful of tags."""


def preferred(accept_language: str | None) -> Language:
    """The best of an ``Accept-Language`` header (RFC 9110, 12.5.4); English where it names none of ours.

    A bare tag, such as a ``lang`` parameter, is such a header, too. Of equal weights the first in the header wins.
    """
    best: tuple[float, Language] = (0.0, "en")
    for item in (accept_language or "")[:_READ].split(","):
        tag, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = _weight(parameters)
        primary = tag.partition("-")[0]
        if primary in LANGUAGES and weight > best[0]:
            best = weight, primary
    return best[1]


def _weight(parameters: list[str]) -> float:
    """The item's ``q`` in 0..1; an unreadable one counts as none at all."""
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                weight = float(parameter[2:])
            except ValueError:
                return 0.0
            return weight if 0 <= weight <= 1 else 0.0
    return 1.0

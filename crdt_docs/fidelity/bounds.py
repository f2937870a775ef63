"""Whether a value is told as a most or as a least. Owns the comparing words, English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from .values import Value

Bound = Literal["most", "least", ""]

_I: Final = re.IGNORECASE
_AT_MOST: Final = (
    r"\b(?:at most|up to|max(?:imum|\.)?(?: of)?|cap(?:ped)?(?: of| at)?|limit(?:ed)?(?: of| to)?|within"
    r"|ceiling of|not to exceed)\b"
    r"|至多|最多|上限|不超|以内|限于|封顶|最高|最晚|最迟|控制在"
)
_AT_LEAST: Final = r"\b(?:at least|min(?:imum|\.)?(?: of)?|floor of)\b|至少|最少|下限|起码|最低|最早"
_OVER: Final = (
    r"\b(?:exceed(?:s|ing)?|above|over|beyond|after|(?:more|longer|later|greater|higher) than)\b"
    r"|超过|高于|多于|大于|超出|晚于|迟于|突破"
)
_UNDER: Final = r"\b(?:below|under|before|(?:less|fewer|earlier|shorter|lower) than)\b|低于|少于|小于|早于"
_COMPARES: Final = re.compile(rf"(?P<most>{_AT_MOST})|(?P<least>{_AT_LEAST})|(?P<over>{_OVER})|(?P<under>{_UNDER})", _I)
_NEGATES: Final = re.compile(
    r"(?:\b(?:not|never|no|cannot|nothing|nor|none)\b|n't\b)[\w ]{0,24}$|(?:不|未|勿|别|禁止|严禁)[^,;。]{0,4}$", _I
)
_AFTER_MOST: Final = re.compile(
    r"^\s?(?:or (?:less|fewer|under|earlier|below)|at (?:the )?most|at the latest|max(?:imum)?\b|tops|以内|之内"
    r"|以下|内|封顶|为限|为上限|之前|以前|前)",
    _I,
)
_AFTER_LEAST: Final = re.compile(
    r"^\s?(?:or (?:more|longer|later|above)|at (?:the )?least|min(?:imum)?\b|以上|起|之后|以后)", _I
)


def bound(text: str, parts: Sequence[tuple[int, int]], value: Value) -> Bound:
    """Whether a value is told as a most or a least, by the comparing words around it in its segment."""
    low = max((start for start, end in parts if start <= value.start < end), default=0)
    low = max(low, value.start - 32)
    last = max(_COMPARES.finditer(text, low, value.start), key=lambda match: match.start(), default=None)
    after = text[value.end : value.end + 16]
    if _AFTER_MOST.match(after):
        return "most"
    if _AFTER_LEAST.match(after):
        return "least"
    if last is None:
        return ""
    if last.lastgroup in ("most", "least"):
        return "most" if last.lastgroup == "most" else "least"
    negated = _NEGATES.search(text[max(0, last.start() - 32) : last.start()]) is not None
    return "most" if (last.lastgroup == "under") != negated else "least"

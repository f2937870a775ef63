"""Numbers as people write them: digits with commas and scales, English number words, Chinese numerals."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL: Final = dict(zip(_UNITS, range(20), strict=True)) | dict(zip(_TENS, range(20, 100, 10), strict=True))
_LARGE: Final = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
    "k": 1000, "m": 10**6, "mn": 10**6, "mio": 10**6, "bn": 10**9, "b": 10**9, "百": 100, "千": 1000, "万": 10**4,
    "十万": 10**5,
    "百万": 10**6, "千万": 10**7, "亿": 10**8, "十亿": 10**9, "百亿": 10**10, "千亿": 10**11, "万亿": 10**12,
}  # fmt: skip
DIGITS_ZH: Final = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {
    **{"〇": 0, "两": 2},
    **dict(zip("壹贰叁肆伍陆柒捌玖", range(1, 10), strict=True)),
}
_SCALES_ZH: Final = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
NUMERALS_ZH: Final = "".join(DIGITS_ZH) + "".join(_SCALES_ZH) + "万亿"

NUMBER_WORD: Final = "(?:" + "|".join(sorted(_SMALL, key=len, reverse=True)) + ")"
_MORE: Final = rf"[ -](?:and )?(?:{NUMBER_WORD}|hundred|thousand|million|billion|dozen)"
_WORDS: Final = rf"(?:(?:half a|a|{NUMBER_WORD})(?:{_MORE}){{1,7}}|{NUMBER_WORD})"
_DIGITS: Final = r"(?:\d{1,3}(?:,\d{3}){1,5}(?!\d|,\d)|\d{1,24})(?:\.\d{1,6})?"
_SCALE: Final = (
    r"(?:\s?(?:hundred|thousand|million|billion|trillion|mio|mn|bn)(?![a-z0-9_])|\s?[kmb](?![a-z0-9_])"
    r"|[十百千]?[万亿]|万亿|[百千](?=[个元块人份台]))"
)
_CHINESE: Final = rf"[{NUMERALS_ZH}]{{1,12}}(?:点[{NUMERALS_ZH}]{{1,6}})?"
NUMBER: Final = rf"(?P<n>{_DIGITS}{_SCALE}?|{_CHINESE}|(?<![a-z0-9_]){_WORDS}(?=[^a-z]|$))"
"""A number, as the group ``n``; to be compiled with IGNORECASE."""


def decimal(text: str) -> Decimal:
    """The number that a match of NUMBER's ``n`` writes."""
    text = text.strip().lower().replace(",", "")
    digits = re.match(r"\d+(?:\.\d+)?", text)
    if digits:
        return Decimal(digits.group()) * _LARGE.get(text[digits.end() :].strip(), 1)
    return _chinese(text) if text[0] in NUMERALS_ZH else _english(text)


def canonical(number: Decimal) -> str:
    """One way to write a number, without trailing zeros and exponents."""
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def _english(text: str) -> Decimal:
    total, group = Decimal(0), Decimal(0)
    for part in text.replace("-", " ").split():
        if part == "half":
            group = Decimal("0.5")
        elif part in _SMALL:
            group += _SMALL[part]
        elif part in ("hundred", "dozen"):
            group = (group or Decimal(1)) * _LARGE[part]
        elif part in _LARGE:
            total, group = total + (group or Decimal(1)) * _LARGE[part], Decimal(0)
    return total + group


def _chinese(text: str) -> Decimal:
    whole, _, fraction = text.partition("点")
    number = Decimal(_positional(whole) if all(c in DIGITS_ZH for c in whole) else _scaled(whole))
    places = _positional(fraction) if fraction and all(c in DIGITS_ZH for c in fraction) else 0
    return number + Decimal(places).scaleb(-len(fraction))


def _positional(digits: str) -> int:
    return int("".join(str(DIGITS_ZH[c]) for c in digits))


def _scaled(numeral: str) -> int:
    total, section, digit = 0, 0, 0
    for c in numeral:
        if c in DIGITS_ZH:
            digit = DIGITS_ZH[c]
        elif c in _SCALES_ZH:
            section, digit = section + (digit or 1) * _SCALES_ZH[c], 0
        elif c == "亿":
            total, section, digit = (total + section + digit or 1) * 10**8, 0, 0
        else:
            total, section, digit = total + (section + digit or 1) * 10**4, 0, 0
    return total + section + digit

"""Typed values in a text: amounts, shares, money, spans of time, dates, times of day, versions, measures.

Owns what counts as the same value however it is written: "net-30" and "thirty days", "2 Dec" and "12月2日", "1.5m" and
"1,500,000", "五万" and "50000". Must never guess a value out of half a word: what may be no value is marked ``faint``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from .lexicon import MONTHS, WEEKDAYS
from .numerals import DIGITS_ZH, NUMBER, NUMBER_WORD, NUMERALS_ZH, canonical, decimal

ValueKind = Literal[
    "number", "percent", "money", "span", "date", "weekday", "quarter", "time", "version", "times", "measure"
]
Reading = tuple[int, int, int]
"""A date: year or 0, month or 0, day or 0."""


@dataclass(frozen=True, slots=True)
class Value:
    """``amount`` and ``unit`` are canonical; a ``date`` has ``readings`` instead, more than one if it is ambiguous.

    ``faint`` values (a bare "one", "a week", "3 days ago") may answer for one that is looked for, and are never asked
    after.
    """

    kind: ValueKind
    amount: str
    unit: str
    start: int
    end: int
    readings: tuple[Reading, ...] = ()
    faint: bool = False


def same(a: Value, b: Value) -> bool:
    """Whether two values do not contradict each other; a date may leave out its year or day, an amount its unit."""
    if a.kind == b.kind == "date":
        return any(_agree(one, other) for one in a.readings for other in b.readings)
    if {a.kind, b.kind} == {"date", "weekday"}:
        day, week = (a, b) if a.kind == "date" else (b, a)
        return any(str(_weekday(*reading)) == week.amount for reading in day.readings)
    if a.kind == b.kind:
        return a.amount == b.amount and (a.unit == b.unit or "" in (a.unit, b.unit))
    loose = {"number", "money", "version", "times", "measure", "span"}
    return "number" in (a.kind, b.kind) and {a.kind, b.kind} <= loose and a.amount == b.amount


def answers(told: Value, wanted: Value) -> bool:
    """Whether what is told says all that is wanted: a month is no day, a weekday no date."""
    if told.kind == wanted.kind == "date" and any(day for *_, day in wanted.readings):
        return same(told, wanted) and any(day for *_, day in told.readings)
    if (told.kind == "weekday") != (wanted.kind == "weekday"):
        return False
    return same(told, wanted) and not (told.kind == "number" and wanted.kind in ("span", "measure", "times"))


def _agree(a: Reading, b: Reading) -> bool:
    return all(x == y or 0 in (x, y) for x, y in zip(a, b, strict=True))


def _weekday(year: int, month: int, day: int) -> int:
    try:
        return date(year, month, day).weekday()
    except ValueError:
        return -1


Match = re.Match[str]
Reader = Callable[[Match], Value | None]

_HEAD: Final = r"(?<![a-z0-9_\u00c0-\u024f])"
_START: Final = r"(?<![a-z0-9_.])(?<![a-z]-)(?<!\d,)"
_END: Final = r"(?![a-z0-9_\u00c0-\u024f])"
_CURRENCIES: Final = {
    spelling: line.split()[0]
    for line in """USD $ us$ dollar dollars 美元 美金
EUR € euro euros 欧元
GBP £ pound pounds 英镑
CNY ¥ rmb yuan 元 块 块钱 人民币 元人民币
JPY yen 日元
HKD hk$ 港元 港币
CHF francs
INR ₹ rupees
AUD
CAD
SGD""".splitlines()
    for spelling in [line.split()[0].lower(), *line.split()[1:]]
}
_CODE: Final = "usd|eur|gbp|cny|rmb|jpy|hkd|chf|inr|aud|cad|sgd"
_SIGN: Final = rf"(?P<sign>us\$|hk\$|[$€£¥₹]|{_HEAD}(?:{_CODE})|人民币)"
_COIN: Final = (
    rf"(?P<sign>(?:{_CODE}|dollars?|euros?|pounds?|yuan|yen|francs|rupees){_END}"
    r"|[$€£¥₹]|元人民币|人民币|美元|美金|欧元|英镑|日元|港元|港币|元|块钱?)"
)
_SPAN_UNIT: Final = (
    r"(?P<u>(?:(?:business|working|calendar|consecutive)[ -])?(?:day|week|fortnight|month|year|quarter|hour"
    r"|minute|second"
    rf"|sprint|night)s?{_END}|(?:hrs?|mins?|secs?|wks?|mos?|yrs?|[dhw]){_END}"
    r"|个?(?:工作日|自然日)|天|日(?![元期程常本历])|周(?![一二三四五六日末年期边])|个?星期(?![一二三四五六日天])"
    r"|个?月|个?小时|分钟|秒|年|个?季度"
    r"|晚)"
)
_SPANS: Final = {
    "business day": "workday", "working day": "workday", "calendar day": "day", "consecutive day": "day", "d": "day",
    "w": "week", "wk": "week", "h": "hour", "hr": "hour", "min": "minute", "sec": "second", "mo": "month", "yr": "year",
    "工作日": "workday", "自然日": "day", "天": "day", "日": "day", "周": "week", "星期": "week", "月": "month",
    "小时": "hour", "分钟": "minute", "秒": "second", "年": "year", "季度": "quarter", "晚": "night",
}  # fmt: skip
_MEASURE: Final = (
    rf"(?P<u>(?:[kmgt]i?b|kg|km|cm|mm|ms|[kmg]?hz|px|pt|fps|rpm|kwh|kw|mg|ml|°c|°f|bps|pp|l|g"
    rf"|met(?:re|er)s?|miles?|feet|lit(?:re|er)s?){_END}"
    r"|平方米|公里|公斤|千克|毫秒|吨|克|米)"
)
_UNITS: Final = {
    "metre": "m", "metres": "m", "meter": "m", "meters": "m", "米": "m", "mile": "miles", "liter": "l", "liters": "l",
    "litre": "l", "litres": "l", "公里": "km", "公斤": "kg", "千克": "kg", "毫秒": "ms", "克": "g",
}  # fmt: skip
_COUNTER_ZH: Final = r"(?:[人名位份台套座张间件条次轮项款层分度字页组家稿章节所期步遍批]|个(?![月工自小星季]))"
_MONTH: Final = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?(?![^\W\d_])"
_YEAR: Final = r"(?:,? (?P<y>(?:19|20)\d\d)(?!\d))?"
_DAY: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_ZH_UPTO99: Final = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_CLOCK_HALF: Final = "(?P<half>上午|下午|晚上|早上|中午)?"
_VERSION: Final = r"(?:-?(?:rc|beta|alpha)\.?\d{0,3})?"


def _number_of(kind: ValueKind) -> Reader:
    def read(match: Match) -> Value | None:
        unit = match.groupdict().get("u") or ""
        return Value(kind, canonical(decimal(match["n"])), _UNITS.get(unit.lower(), unit.lower()), *match.span())

    return read


def _money(match: Match) -> Value:
    unit = _CURRENCIES[match["sign"].strip().lower()]
    return Value("money", canonical(decimal(match["n"])), unit, *match.span())


_AGO: Final = re.compile(r" ago\b|\s?前\)", re.IGNORECASE)


def _span(match: Match) -> Value:
    number = decimal(match["n"])
    unit = re.sub(r"[ -]+", " ", match["u"].lower()).removeprefix("个")
    if unit == "年" and re.fullmatch(r"(?:19|20)\d\d", match["n"]):
        return Value("date", "", "", *match.span(), readings=((int(match["n"]), 0, 0),))
    if unit == "月" and not match["u"].startswith("个"):
        return Value("date", "", "", *match.span(), readings=((0, int(number), 0),))
    unit = _SPANS.get(unit.removesuffix("s"), unit.removesuffix("s"))
    if unit in ("week", "fortnight"):
        number, unit = number * (7 if unit == "week" else 14), "day"
    faint = _AGO.match(match.string, match.end()) is not None
    return Value("span", canonical(number), unit, *match.span(), faint=faint)


def _net(match: Match) -> Value:
    return Value("span", canonical(decimal(match["n"])), "day", *match.span())


def _date(match: Match) -> Value | None:
    """A date of any pattern, in every reading that a calendar allows."""
    part = {key: text for key, text in match.groupdict().items() if text}
    year, day = int(part.get("y", 0)), int(decimal(part["d"])) if "d" in part else 0
    if "month" in part:
        readings = [(year, MONTHS[part["month"].lower().rstrip(".")], day)]
    else:
        month = int(decimal(part["m"]))
        readings = (
            [(year, month, day), (year, day, month)] if "/" in match.group() and not year else [(year, month, day)]
        )
    kept = tuple(it for it in dict.fromkeys(readings) if 1 <= it[1] <= 12 and 0 <= it[2] <= 31)
    return Value("date", "", "", *match.span(), readings=kept) if kept else None


def _day_name(match: Match) -> Value | None:
    name = match.group().lower()
    return Value("weekday", str(WEEKDAYS[name]), "", *match.span()) if name in WEEKDAYS else None


def _time(match: Match) -> Value | None:
    part = match.groupdict()
    hour, minute = int(decimal(match["h"])), int(part.get("m") or 0)
    if (part.get("half") or "").lower().replace(".", "") in ("pm", "下午", "晚上") and hour < 12:
        hour += 12
    return Value("time", str(hour * 60 + minute), "", *match.span()) if hour < 25 and minute < 60 else None


def _version(match: Match) -> Value:
    return Value("version", match["n"].lower(), "", *match.span())


def _faint_span(match: Match) -> Value:
    unit = match["u"].lower()
    amount, unit = ("7", "day") if unit == "week" else ("1", unit)
    return Value("span", amount, unit, *match.span(), faint=True)


def _bare(match: Match) -> Value | None:
    """A number without a unit. A lone Chinese numeral is part of a word more often than a value."""
    text = match["n"]
    if text[0] in NUMERALS_ZH and (len(text) == 1 or not any(c in DIGITS_ZH for c in text)):
        return None
    return Value("number", canonical(decimal(text)), "", *match.span(), faint=text.lower() == "one")


def _counted(match: Match) -> Value | None:
    """A Chinese count. "一个" is an article, "第三方" and "一次" are words."""
    text = match["n"]
    faint = text in ("一", "两", "几") or match.group().startswith("第三方")
    return Value("number", canonical(decimal(text)), "", *match.span(), faint=faint)


_TABLE: Final[tuple[tuple[str, Reader], ...]] = (
    (r"(?<!\d)(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)", _date),
    (rf"{_HEAD}{_DAY}(?: of)?[ -](?P<month>{_MONTH}){_YEAR}", _date),
    (rf"{_HEAD}(?P<month>{_MONTH})[ -](?:the )?{_DAY}(?![\d:%.,]\d|\d|%){_YEAR}", _date),
    (rf"(?:(?P<y>(?:19|20)\d\d)年)?(?P<m>{_ZH_UPTO99})月(?:份|(?P<d>{_ZH_UPTO99})[日号]?)?", _date),
    (rf"{_HEAD}(?P<month>(?!may|mar\b|march){_MONTH}){_YEAR}", _date),
    (rf"(?<=(?:in|by|of) )(?P<month>may|march){_END}(?: (?P<y>20\d\d))?", _date),
    (r"(?<![\d.\-])(?P<m>0[1-9]|1[0-2])-(?P<d>0[1-9]|[12]\d|3[01])(?![\d-])(?!\s?(?:day|week|month|hour|%))", _date),
    (r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?:/(?P<y>20\d\d))?(?![\d/])", _date),
    (
        rf"{_HEAD}(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tues?|thurs?|thu|weds?|fri){_END}"
        r"|周[一二三四五六日天]|(?:星期|礼拜)[一二三四五六日天]",
        _day_name,
    ),
    (rf"{_HEAD}q(?P<n>[1-4]){_END}", _number_of("quarter")),
    (r"第?(?P<n>[一二三四1-4])季度", _number_of("quarter")),
    (rf"(?<![\d:.])(?P<h>\d{{1,2}})(?::(?P<m>\d\d))?\s?(?P<half>[ap]\.?m\.?){_END}", _time),
    (rf"{_CLOCK_HALF}(?P<h>{_ZH_UPTO99})[点时](?![间候期尚评击])(?:(?P<m>\d{{1,2}})分?)?", _time),
    (rf"(?<![\d:.]){_CLOCK_HALF}(?P<h>\d{{1,2}}):(?P<m>\d\d)(?!\d)", _time),
    (rf"{_SIGN}\s?{NUMBER}", _money),
    (rf"{_START}{NUMBER}\s?{_COIN}", _money),
    (rf"{_START}{NUMBER}\s?(?:%|percent(?:age points?)?|per cent|pct)", _number_of("percent")),
    (rf"百分之{NUMBER}", _number_of("percent")),
    (rf"{_HEAD}net[ -]?(?P<n>\d{{1,3}}|{'|'.join(('thirty', 'sixty', 'ninety'))})(?:[ -]days?)?(?![\d%])", _net),
    (rf"{_START}{NUMBER}[ -]?{_SPAN_UNIT}", _span),
    (rf"{_START}{NUMBER}(?:\s?[x×]{_END}|-fold| times{_END}|倍)", _number_of("times")),
    (rf"{_HEAD}(?:v(?:er(?:sion)?)?[. ]?)?(?P<n>\d{{1,4}}(?:\.\d{{1,5}}){{2,4}}{_VERSION})(?!\d)", _version),
    (rf"{_HEAD}v(?:er(?:sion)?)?[. ]?(?P<n>\d{{1,4}}(?:\.\d{{1,5}})?{_VERSION}){_END}", _version),
    (r"版本\s?(?P<n>\d{1,3}(?:\.\d{1,4}){0,3})", _version),
    (rf"{_START}{NUMBER}\s?{_MEASURE}", _number_of("measure")),
    (rf"{_HEAD}(?:an?|one|per) (?P<u>day|week|month|year|hour){_END}", _faint_span),
    (rf"{_START}{NUMBER}{_COUNTER_ZH}", _counted),
    (rf"{_START}{NUMBER}(?![^\W\d_\u3040-\u9fff])", _bare),
)
_READERS: Final = [(re.compile(pattern, re.IGNORECASE), read) for pattern, read in _TABLE]
_SEED: Final = re.compile(
    rf"{_HEAD}(?:us\$|hk\$|{_CODE}|net|half|an?|per|may|[qv]|{NUMBER_WORD}|{_MONTH}|mon|tue|wed|thu|fri|sat|sun)"
    rf"|(?<!\d)\d|[$€£¥₹]|[{NUMERALS_ZH}第周星礼上下早晚中人百版]",
    re.IGNORECASE,
)
"""Where a value may begin."""
_RANGE: Final = re.compile(r"\s{0,2}(?:-|–|~|to|and|or|至|到|或)\s{0,2}", re.IGNORECASE)


def values(text: str) -> list[Value]:
    """The values of a normalised text, in order, none inside another."""
    found: list[Value] = []
    after = 0
    for seed in _SEED.finditer(text):
        value = _at(text, seed.start()) if seed.start() >= after else None
        if value is not None:
            found.append(value)
            after = value.end
    return _ranged(found, text)


def _at(text: str, start: int) -> Value | None:
    for pattern, read in _READERS:
        match = pattern.match(text, start)
        value = read(match) if match else None
        if value is not None:
            return value
    return None


def _ranged(found: list[Value], text: str) -> list[Value]:
    """In "3 to 5 days" and "10-12 kg" the first number has the unit of the second."""
    for i, (low, high) in enumerate(zip(found, found[1:], strict=False)):
        if low.kind == "number" != high.kind and high.unit and _RANGE.fullmatch(text, low.end, high.start):
            found[i] = Value(high.kind, low.amount, high.unit, low.start, low.end)
    return found

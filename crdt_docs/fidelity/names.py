"""Names of people, parties and things in a text. Owns how a name is told from a word that only begins a sentence.

Must never take a word for a name on its capital alone where every word has one. Chinese names are found by a surname
between words that people stand between; what is not found here is still held against the ledger as a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .lexicon import COMMON, COMMON_ZH, FRAMING, FUNCTION, GIVEN_NAMES, MONTHS, ROLES, ROLES_ZH, SURNAMES_ZH, WEEKDAYS
from .values import Value
from .words import CJK, is_cjk

_LATIN: Final = re.compile(rf"[^\W\d_{CJK}]{{1,64}}(?:'[^\W\d_{CJK}]{{2,20}})?")
_CODE: Final = re.compile(
    rf"[^\s@{CJK}]{{1,64}}@[\w.-]{{3,64}}|https?://[^\s{CJK}]{{1,200}}|(?<![\w.])(?:[a-z]+[A-Z]\w{{0,30}}"
    rf"|(?=[\w-]{{0,20}}\d)[A-Za-z][A-Za-z]{{0,19}}-?\d[A-Za-z0-9-]{{0,20}})(?![\w{CJK}]|\.\w)",
    re.ASCII,
)
_JOINT: Final = re.compile(r"[ \-&]{1,3}(?:(?:de|del|van|von|der|den|di|da|la|le|bin|al)[ -]){0,2}")
_DOES: Final = re.compile(
    r"(?:'s)?\s(?:will|must|has|had|is|was|should|shall|wants|wanted|said|says|agreed|agrees|sends|sent|signs"
    r"|signed|asked|asks"
    r"|approved|approves|accepted|accepts|rejected|rejects|confirmed|confirms|owns|leads|reviews|reviewed|writes"
    r"|wrote|needs"
    r"|plans|prepares|joins|joined|and|to|pays|paid|can|may|would|insists|prefers|proposed|suggested|promised"
    r"|wrote)(?![^\W_])"
)
_ORGANISATION_ZH: Final = re.compile(rf"[{CJK}]{{2,4}}(?=公司|集团|银行|律所|事务所|科技|大学|医院|基金|工作室)")
_GENERIC_ZH: Final = re.compile(
    "我们|对方|该|本|贵|总|分|子|母|两家|一家|这家|那家|客户|供应商|第三方|保险|有限|股份|合作|物流|外部|会计|律师|咨询|目标|承包|代理|商业|各|另|其他"
)
_BEFORE_ZH: Final = "由请让给向和与跟及、被经交致对找是为,;:。!?(「“\"' \n及或→"
_AFTER_ZH: Final = (
    "了|在|都|均|将|会|已|要|须|于|把|和|与|、|的|负责|同意|确认|批准|签|发|提|审|建议|要求|表示|认为|说|写|起草|准备|安排|接受|拒绝|主持"
    "|预订|完成|回复|联系|寄|打|拿|付|回|催|约|订|做|买|办|看|改|查|整理|测|清|收|送|取|参加|也|给|请|需|应|必须|可|希望|决定|牵头|跟进|交|给|及|或|先生|女士|小姐|经理|总监"
    "|律师|老师|教授|博士|主任|总|[,;:。!?()」”\"' ]|$"
)
_PERSON_ZH: Final = re.compile(
    rf"[{''.join(sorted(SURNAMES_ZH))}](?:(?![了的着过在把被将要也都和与给])[{CJK}]){{1,2}}?(?={_AFTER_ZH})"
)
_COMMON_ZH: Final = {word[0]: [other for other in COMMON_ZH if other[0] == word[0]] for word in COMMON_ZH}


@dataclass(frozen=True, slots=True)
class Name:
    """``parts`` in lower case; ``head`` if the first of them may be an ordinary word that begins a sentence."""

    parts: tuple[str, ...]
    start: int
    end: int
    head: bool = False

    @property
    def text(self) -> str:
        """The parts as one."""
        return " ".join(self.parts)


def alike(a: Name, b: Name) -> bool:
    """Whether one is the other, or a part of it: "Dana" is "Dana Ruiz", "Dana Okafor" is not."""
    return set(a.parts) <= set(b.parts) or set(b.parts) <= set(a.parts)


def names(text: str, taken: Sequence[Value] = ()) -> list[Name]:
    """The names in one sentence; what belongs to a value is none."""
    spans = [(value.start, value.end) for value in taken]
    codes = [match for match in _CODE.finditer(text) if not _within(match.start(), spans)]
    spans += [match.span() for match in codes]
    found = [Name((match.group().lower(),), *match.span()) for match in codes]
    found += _latin(text, spans)
    if is_cjk(text):
        found += _people_zh(text) + _organisations_zh(text)
    return sorted(found, key=lambda name: name.start)


def roles(text: str) -> list[tuple[str, str]]:
    """The parties that the text deals with by their calling: what they count as, and the word itself."""
    found = [
        (ROLES[one], match)
        for match in re.findall(r"[A-Za-z]{4,20}", text)
        if (one := match.lower().removesuffix("s")) in ROLES
    ]
    return found + [(kind, word) for word, kind in ROLES_ZH.items() if word in text]


def _within(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def _latin(text: str, spans: Sequence[tuple[int, int]]) -> list[Name]:
    found: list[Name] = []
    run: list[re.Match[str]] = []
    for match in [*_LATIN.finditer(text), None]:
        capital = match is not None and match.group()[0].isupper() and not _within(match.start(), spans)
        if run and (not capital or match is None or not _JOINT.fullmatch(text, run[-1].end(), match.start())):
            found += _name(text, run)
            run = []
        if capital and match is not None:
            run.append(match)
    return found


def _name(text: str, run: Sequence[re.Match[str]]) -> list[Name]:
    """The name in a run of capitalised words, without the ordinary words at its ends."""
    parts = [match.group().removesuffix("'s") for match in run]
    low, high = 0, len(parts)
    while low < high and _ordinary(parts[low]):
        low += 1
    while high > low and _ordinary(parts[high - 1]):
        high -= 1
    if low == high:
        return []
    head = low == 0 and _begins(text, run[0].start()) and not _surely(parts[0])
    if head and high - low == 1 and not _DOES.match(text, run[0].end()):
        return []
    kept = tuple(part.lower() for part in parts[low:high])
    return [Name(kept, run[low].start(), run[high - 1].end(), head)]


def _ordinary(part: str) -> bool:
    lower = part.lower()
    return (
        lower in COMMON
        or lower in FRAMING
        or lower in FUNCTION
        or lower in MONTHS
        or lower in WEEKDAYS
        or len(part) == 1
    )


def _surely(part: str) -> bool:
    return part.lower() in GIVEN_NAMES or (len(part) > 1 and part.isupper()) or not part[1:].islower()


def _begins(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \"'(*«“")
    return not before or before[-1] in ":.!?;。!?\n•-—–/"


def _people_zh(text: str) -> list[Name]:
    found: list[Name] = []
    after = 0
    for match in _PERSON_ZH.finditer(text):
        start, name = match.start(), match.group()
        free = start == 0 or text[start - 1] in _BEFORE_ZH or text[start - 1] in "成先后"
        counted = text[:start].rstrip()[-1:].isdigit()
        if (
            start >= after
            and free
            and not counted
            and not any(text.startswith(word, start) for word in _COMMON_ZH.get(name[0], ()))
        ):
            found.append(Name((name,), *match.span()))
            after = match.end()
    return found


def _organisations_zh(text: str) -> list[Name]:
    found: list[Name] = []
    for match in _ORGANISATION_ZH.finditer(text):
        name = match.group()[-2:]
        if not _GENERIC_ZH.search(match.group()[-3:]):
            found.append(Name((name,), match.end() - 2, match.end()))
    return found

"""What a message says, in pieces that can be judged one by one.

Owns the cutting: code, quotations and pasted text are blanked, the rest is cut into sentences and those into clauses.
Must never change a character's place: a clause knows where it stands in the message, and every step is linear in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

BLANK: Final = "▪"
"""Stands for a character that is not the writer's own word."""
READ: Final = 20_000
"""Characters of a message that are read; what people type is shorter, what they paste states nothing."""

_QUOTES: Final = {"“": "”", '"': '"', "「": "」", "『": "』", "«": "»", "„": "“", "‘": "’", "'": "'", "`": "`"}
_QUOTE_LENGTH: Final = 600
_APOSTROPHES: Final = 6
"""How many a quotation in single quotes may hold."""
_CJK: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_PASTE: Final = re.compile(
    r"^(?:.{0,60}\b(?:pasting|pasted|forwarding|forwarded|fwd|copying|here's (?:the|their|what)|see below"
    r"|original message)\b.{0,60}"
    r"|.{0,30}(?:贴一下|转发|贴过来|粘贴|原文如下|原话|摘自|复制过来).{0,30})[:：][ \t]*$",
    re.I | re.M,
)
_MAIL: Final = re.compile(
    r"^(?:(?:from|subject|发件人|主题)[:：].*|.{0,80}\bwrote:[ \t]*|-{3,}.{0,60}-{3,}[ \t]*)$", re.I | re.M
)
_CHAT: Final = re.compile(r"^(?:\[?\d{1,2}:\d\d\]?[ \t]*)?(?-i:[A-Z])\w{1,20}:[ \t].{1,400}$", re.M)
_CODE: Final = re.compile(
    r"(?:(?:def|class|import|from|return|raise|elif|else:|try:|except|async|await|const|var|function|public|private|static"
    r"|SELECT|INSERT|UPDATE|DELETE|CREATE)\b.*|(?:#|//|/\*).*|.*[{};]|(?:if|for|while|with) .*:|[\w.\[\]]+ = .*"
    r"|[\w.]+\(.*\))",
)
_CODE_LENGTH: Final = 200
_OWN_WORDS: Final = re.compile(
    r"^(?:Filed:|Already in the ledger:|Not filed, because .{1,80}:|已记录：|台账里已有：|未记录，.{1,40}：)[ \t]*"
    r"(?:\n- .*)*",
    re.M,
)
"""What the clerk itself says of its filing, pasted back."""
_CHINESE_CHAT: Final = re.compile(
    r"^(?:[老小阿][\u4e00-\u9fff]{1,2}|[\u4e00-\u9fff]{1,2}(?:总|工|哥|姐|老师))[:：].{1,400}$", re.M
)
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:incl|max|min|approx|e\.g|i\.e|etc|vs|no|nr|dr|mr|mrs|ms|st|fig|sec|art|ca|resp|dept|inc|ltd|corp)"
    r"|(?:^|\n)\s*\d{1,2})$",
    re.I,
)
_END: Final = re.compile(
    r"[.!?…]+(?=[\s\"')\]”’]|$)|[.!?]*[。！？；;]+[.!?。！？]*|(?<=[\u4e00-\u9fff])\?|\n+|(?<=[^\s])\s(?=\d{1,2}(?:[、)）]|\.[\u4e00-\u9fff]))"
)
_MARK: Final = re.compile(r"\s*(?:(?:[-*•–·]|\d{1,2}[.)、）]|\(\d\)|（\d）|[a-z]\))(?!\d)\s*|\[[ x]?\]\s*)*", re.I)
_COLON: Final = re.compile(r"(?<![0-9])[:：](?!//|\d\d\b|[-o']?[)(DdPp|/\\*](?!\w))|[:：](?=\s)")
_BEFORE_LABEL: Final = re.compile(
    r".*(?:[,，]\s*|\s[-–—]\s|^)(?:(?:ok|so|and|but|btw|also|then|那|另外|还有)[\s,]+)*", re.I | re.S
)
_SUBJECT: Final = (
    r"(?:we|i (?:will|am|have|don't|can|need|think|still|would|want|must|also)|i'(?:m|ll|ve|d)|he|she|they|it|there"
    r"|nobody|no one|everyone|everybody|that's|please|let's|someone|who|whether|what|how"
    r"|the [\w-]+(?: [\w-]+)? (?:is|are|was|will|moves?|goes|stays?|must|has|have|should|can't|needs?|gets?))\b"
)
_GAP: Final = r"\s{1,4}"
_MAYBE: Final = r"\s{0,4}"
_BREAK: Final = re.compile(
    rf",(?!\d){_MAYBE}(?:(?:and|but|so|or|because|since|while|although|and meanwhile|and then)\s)?|[，﹐]{_MAYBE}"
    rf"|{_GAP}(?:-{{1,2}}|–|—|->|<-|=>|→|\|){_GAP}|——|\s?[()（）]\s?"
    rf"|{_GAP}and{_GAP}(?=(?:keep|use|drop|move|skip|switch|go with|stick|cancel|don't|never|must)\s)"
    rf"|{_GAP}(?:and|so|while){_GAP}(?=(?:meanwhile\s)?{_SUBJECT})"
    rf"|{_GAP}(?:but|because|although|cause|cos|cuz){_GAP}"
    rf"|(?<=[{_CJK}]){_GAP}(?=[{_CJK}]{{2}})",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a message: its own words at ``start``, and what stands around them.

    ``plain`` is as long as ``text``, with what is quoted blanked. ``label`` is what stood before a colon
    and ``label_at`` where, if it opens this very clause (else ``start``), ``after`` what parted it from the clause
    before, ``sentence`` counts sentences, ``asked`` says the sentence ends in a question mark.
    """

    text: str
    plain: str
    start: int
    sentence: int
    label: str
    after: str
    asked: bool
    label_at: int

    @property
    def end(self) -> int:
        """Where it ends in the message."""
        return self.start + len(self.text)


def is_chinese(text: str) -> bool:
    """Whether any character of it is Chinese."""
    return any("\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" for char in text)


def blank(text: str) -> str:
    """The same length of text with code, quotations and pasted blocks blanked."""
    chars = list(text.replace("’", "'").replace("‘", "'") if "“" not in text else text.replace("’", "'"))
    _blank_between(text, chars, "```", "```")
    _blank_between(text, chars, "<!--", "-->")
    _blank_lines(text, chars)
    _blank_quotes("".join(chars), chars)
    return "".join(chars)


def split(text: str) -> list[Clause]:
    """The clauses of what is read of a message, in their order."""
    text = text[:READ]
    plain = blank(text)
    found: list[Clause] = []
    carried = ""
    for number, (start, end, listed) in enumerate(_sentences(plain)):
        label, label_at, body = _label(plain, start, end)
        if not label and listed:
            label = carried
        if not plain[body:end].strip(" \t:："):
            carried = label
            continue
        carried = label if listed and label == carried else ""
        asked = plain[end : end + 1] in {"?", "？"}
        found.extend(_clauses(text, plain, body, end, (number, label, asked, label_at)))
    return found


def _blank(chars: list[str], start: int, end: int) -> None:
    for index in range(start, min(end, len(chars))):
        if chars[index] != "\n":
            chars[index] = BLANK


def _blank_between(text: str, chars: list[str], opening: str, closing: str) -> None:
    """Code in fences, and comments of a page's source."""
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        end = len(text) if end < 0 else end + len(closing)
        _blank(chars, start, end)
        start = text.find(opening, end)


def _blank_lines(text: str, chars: list[str]) -> None:
    """Quoted lines, the clerk's own, code, what follows an announcement of a paste, mail, chat logs."""
    if found := _PASTE.search(text):
        _blank(chars, found.end(), len(text))
    if found := _MAIL.search(text):
        _blank(chars, found.start(), len(text))
    for found in _OWN_WORDS.finditer(text):
        _blank(chars, found.start(), found.end())
    lines = _lines(text)
    for start, end in lines:
        if text[start:end].lstrip().startswith((">", "＞", "//")):
            _blank(chars, start, end)
    code = [(start, end) for start, end in lines if _is_code(text[start:end].strip())]
    logged = [found.span() for chat in (_CHAT, _CHINESE_CHAT) for found in chat.finditer(text)]
    speakers = {re.split("[:：]", text[start:end])[0] for start, end in logged}
    is_log = len(speakers) >= 2 and len(lines) <= 2 * len(logged)
    for start, end in (code if len(code) >= 2 else []) + (logged if is_log else []):
        _blank(chars, start, end)


def _lines(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        found.append((at, at + len(line)))
        at += len(line)
    return found


def _is_code(line: str) -> bool:
    return len(line) <= _CODE_LENGTH and _CODE.fullmatch(line) is not None


def _blank_quotes(text: str, chars: list[str]) -> None:
    at = 0
    while at < len(text):
        closing = _QUOTES.get(text[at])
        if closing is None or (text[at] == "'" and at and (text[at - 1].isalnum() or text[at - 1] == BLANK)):
            at += 1
            continue
        end = _closing(text, at, closing)
        if end > at:
            _blank(chars, at + 1, end)
        at = end + 1 if end > at else at + 1


def _closing(text: str, at: int, closing: str) -> int:
    stop = at + _QUOTE_LENGTH
    if closing in "'\"`":
        newline = text.find("\n", at, stop)
        stop = newline if newline >= 0 else stop
    end = text.find(closing, at + 1, stop)
    for _ in range(_APOSTROPHES):
        if closing != "'" or end < 0 or not text[end + 1 : end + 2].isalnum():
            return end
        end = text.find(closing, end + 1, stop)
    return -1


def _sentences(plain: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end (before its closing mark) and whether it is an item of a list."""
    start = 0
    for found in _END.finditer(plain):
        if found[0] == "." and _ABBREVIATED.search(plain, max(start, found.start() - 12), found.start()):
            continue
        if plain[start : found.start()].strip():
            yield _unmarked(plain, start, found.start())
        start = found.end()
    if plain[start:].strip():
        yield _unmarked(plain, start, len(plain))


def _unmarked(plain: str, start: int, end: int) -> tuple[int, int, bool]:
    mark = _MARK.match(plain, start, end)
    after = mark.end() if mark else start
    return (after, end, bool(plain[start:after].strip()))


def _label(plain: str, start: int, end: int) -> tuple[str, int, int]:
    """What stands before a colon, where, and where the rest begins."""
    found = _COLON.search(plain, start, min(end, start + 90))
    if found is None:
        return "", start, start
    whole = plain[start : found.start()]
    label = _BEFORE_LABEL.sub("", whole, count=1).strip() or whole.strip()
    return label, start + whole.rindex(label), found.end()


def _clauses(text: str, plain: str, start: int, end: int, about: tuple[int, str, bool, int]) -> Iterator[Clause]:
    number, label, asked, label_at = about
    after = ""

    def clause(place: tuple[int, int], last: int) -> Clause:
        at, first = place[0], label_at if not after else place[0]
        return Clause(text[at:last], plain[at:last], at, number, label, after, asked, min(first, at))

    for found in _BREAK.finditer(plain, start, end):
        if place := _trim(text, plain, start, found.start()):
            yield clause(place, place[1])
        start, after = found.end(), found[0].strip().lower() or " "
    if place := _trim(text, plain, start, end):
        yield clause(place, place[1] + 1 if asked and place[1] == end else place[1])


def _trim(text: str, plain: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and (text[start].isspace() or plain[start] in ",;:，；：.。"):
        start += 1
    while end > start and (text[end - 1].isspace() or plain[end - 1] in ",;:，；：.。"):
        end -= 1
    return (start, end) if start < end else None

"""Words with marks as one run of Markdown.

Owns escaping and the choice between signs and tags. Must never emit what reads back as something else: a run with
marks is read again before it is given out, and written with tags if the signs did not hold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final

from crdt_docs.markdown_reader import is_safe_link, read_inline
from crdt_docs.richtext import Marks, Node, Span, merged


class Place(Enum):
    """Where the words stand: what a line break is written as, and what must be escaped, depends on it."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    CELL = "cell"


_ORDER: Final = ("link", "bold", "italic", "strike", "underline")
_SIGNS: Final = {"bold": "**", "italic": "*", "strike": "~~"}
_TAGS: Final = {"bold": "strong", "italic": "em", "strike": "del", "underline": "u"}
_WRITTEN: Final = frozenset((*_ORDER, "code"))
_UNWRITABLE: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SPECIAL: Final = re.compile(
    r"[\\`*\[\]]"
    r"|<(?=[A-Za-z/!?]|$)"
    r"|&(?=#?\w+;)"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|~(?=~|$)|(?:(?<=~)|^)~"
    r"|!$"
)
_LINE_START: Final = re.compile(r"(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=][-=\s:|]*$|[:|][-\s:|]*$)")
_NUMBER_START: Final = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_BARE_ADDRESS: Final = re.compile(r"(?!.*&#?\w+;)[^\s<>()\\]+")
_BREAK: Final = "\x00"
"""Stands for a line break while a run is put together; no text holds it, see ``_UNWRITABLE``."""


def write_inline(children: Iterable[Node | Span], place: Place) -> str:
    """The children's words as Markdown without a line end; hard breaks as the place allows them."""
    spans = _clean(children)
    if not spans:
        return ""
    marked = any(span.marks for span in spans)
    written = _finish(_Run(spans, tags=False).write(), place)
    if marked and not _holds(written, spans, place):
        written = _finish(_Run(spans, tags=True).write(), place)
    return written


def _clean(children: Iterable[Node | Span]) -> list[Span]:
    """Spans with the marks that Markdown can show, breaks as spans of their own kind; none if there are no words."""
    out: list[Node | Span] = []
    for child in children:
        if isinstance(child, Span):
            text = _UNWRITABLE.sub("", child.text.replace("\r\n", "\n").replace("\r", "\n"))
            out.append(Span(text, _written_marks(child.marks)))
        elif child.name == "hardBreak":
            out.append(Span(_BREAK))
        else:
            out.extend(_clean(child.children))
    return [span for span in merged(out) if isinstance(span, Span)]


def _written_marks(marks: Marks) -> Marks:
    kept: Marks = {name: {} for name in marks if name in _WRITTEN and name != "link"}
    href = marks.get("link", {}).get("href")
    if isinstance(href, str) and is_safe_link(href):
        title = marks["link"].get("title")
        kept["link"] = {
            "href": href.replace("\r", "").replace("\n", "%0A"),
            **({"title": _flat(title)} if title else {}),
        }
    return kept


def _flat(title: Any) -> str:
    return " ".join(str(title).split())


def _holds(written: str, spans: Sequence[Span], place: Place) -> bool:
    if place is Place.CELL:
        written = written.replace("\\|", "|")
    wanted = [
        Node("hardBreak") if part == _BREAK else Span(part, span.marks) for span in spans for part in _parts(span.text)
    ]
    return read_inline(written) == merged(wanted)


def _parts(text: str) -> list[str]:
    return [part for part in re.split(f"({_BREAK})", text) if part]


class _Run:
    """One pass over the spans that opens and closes marks so that they nest."""

    def __init__(self, spans: Sequence[Span], *, tags: bool) -> None:
        self.spans = spans
        self.tags = tags
        self.out = ""
        self.open: list[tuple[str, dict[str, Any], str]] = []

    def write(self) -> str:
        for index, span in enumerate(self.spans):
            self._close(span, self._first(index))
            self._open(index)
            self.out += self._words(span)
        self._close(Span(""), " ")
        return self.out

    def _first(self, index: int) -> str:
        return self.spans[index].text[0]

    def _close(self, span: Span, following: str) -> None:
        keep = 0
        while keep < len(self.open) and span.marks.get(self.open[keep][0]) == self.open[keep][1]:
            keep += 1
        while len(self.open) > keep:
            self.out += self.open.pop()[2]

    def _open(self, index: int) -> None:
        span = self.spans[index]
        present = {name for name, _, _ in self.open}
        fresh = [name for name in _ORDER if name in span.marks and name not in present]
        fresh.sort(key=lambda name: -self._reach(index, name))
        before = self.out[-1:] or " "
        for place, name in enumerate(fresh):
            inner = "[" if "link" in fresh[place + 1 :] else "`" if "code" in span.marks else span.text[0]
            signs = not self.tags and self._flanked(index, name, before, inner)
            opening, closing = _signs(name, span.marks[name], signs)
            self.out += opening
            self.open.append((name, span.marks[name], closing))
            if not signs or name == "link":
                before = opening[-1]

    def _reach(self, index: int, name: str) -> int:
        """The span up to which (exclusive) the mark runs on unchanged."""
        value = self.spans[index].marks[name]
        while index < len(self.spans) and self.spans[index].marks.get(name) == value:
            index += 1
        return index

    def _flanked(self, index: int, name: str, before: str, inner: str) -> bool:
        """Whether CommonMark sees signs here as opening, and those at the end of the mark's run as closing."""
        end = self._reach(index, name)
        last = self.spans[end - 1]
        tail = "`" if "code" in last.marks else last.text[-1]
        after = self.spans[end] if end < len(self.spans) else None
        beyond = " " if after is None else "*" if after.marks else after.text[0]
        if _is_space(inner) or _is_space(tail) or inner == _BREAK or tail == _BREAK:
            return False
        opens = not _is_punctuation(inner) or _is_space(before) or _is_punctuation(before)
        return opens and (not _is_punctuation(tail) or _is_space(beyond) or _is_punctuation(beyond))

    def _words(self, span: Span) -> str:
        if "code" not in span.marks:
            return _SPECIAL.sub(lambda found: "\\" + found[0], span.text)
        if self.tags or "\n" in span.text or _BREAK in span.text:
            return "<code>" + _SPECIAL.sub(lambda found: "\\" + found[0], span.text) + "</code>"
        fence = "`"
        while re.search(rf"(?<!`){fence}(?!`)", span.text):
            fence += "`"
        text = span.text
        if text[0] == "`" or text[-1] == "`" or (text[0] == " " == text[-1] and text.strip(" ")):
            text = f" {text} "
        return fence + text + fence


def _signs(name: str, attributes: dict[str, Any], signs: bool) -> tuple[str, str]:
    if name == "link":
        title = attributes.get("title")
        quoted = ' "' + re.sub(r'[\\"&]', lambda found: "\\" + found[0], title) + '"' if title else ""
        return "[", f"]({_address(attributes['href'])}{quoted})"
    if signs and name in _SIGNS:
        return _SIGNS[name], _SIGNS[name]
    return f"<{_TAGS[name]}>", f"</{_TAGS[name]}>"


def _address(href: str) -> str:
    if _BARE_ADDRESS.fullmatch(href):
        return href
    return "<" + re.sub(r"[\\<>]|&(?=#?\w+;)", lambda found: "\\" + found[0], href) + ">"


def _is_space(char: str) -> bool:
    return char.isspace() or char == _BREAK


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def _finish(written: str, place: Place) -> str:
    """Make whitespace at the edges survive, escape what would start a block, and write the breaks."""
    lines = [_guard(line, place) for line in written.split(_BREAK)]
    if place is not Place.PARAGRAPH:
        text = "<br>".join(lines)
    else:
        while len(lines) > 1 and not lines[-1]:
            lines.pop()
            lines[-1] += "<br>"
        text = "\\\n".join(lines)
    if place is Place.HEADING and text.endswith("#"):
        text = text[:-1] + "\\#"
    return text.replace("|", "\\|") if place is Place.CELL else text


def _guard(line: str, place: Place) -> str:
    body = line.strip()
    if body != line:
        lead = line[: len(line) - len(line.lstrip())]
        tail = line[len(line.rstrip()) :] if body else ""
        line = _entities(lead) + body + _entities(tail)
    line = line.replace("\n", "&#10;")
    if place is Place.PARAGRAPH:
        if _LINE_START.match(line):
            return "\\" + line
        return _NUMBER_START.sub(r"\1\\\2", line, count=1) if _NUMBER_START.match(line) else line
    return line


def _entities(space: str) -> str:
    return "".join(f"&#{ord(char)};" for char in space)

"""What people ask of the ledger: what was decided, what is open, what must hold, what is next, where things stand.

Owns the recognition of such queries in both languages. Must never answer one: that is for ``replies``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, cast

from agent.clerk.rules import read_patterns
from agent.clerk.sentences import READ, blank, is_chinese

About = Literal["decisions", "questions", "constraints", "next_steps", "everything", "who_said"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for, and in which words about what (empty: about all)."""

    of: About
    subject: str = ""
    critical_only: bool = False


_LONGEST: Final = 200
_LINE: Final = re.compile(r"(?<=[?？。!！\n])\s*|(?<=\.)\s+")
_LABELLED: Final = re.compile(r"[:：]\s*(?=\S)")
_CRITICAL: Final = re.compile(r"\bcritical\b|\bhard\b|关键|硬性|最重要|严格", re.I)
_SUBJECT: Final = re.compile(r"\b(?:about|on|regarding|concerning|for|with|re)\s+(.{2,80}?)[?.!\s]*$", re.I)
_NO_SUBJECT: Final = re.compile(r"(?:so far|now|today|the (?:list|plan|task)|this|it|me|everything)\b", re.I)
_SUBJECT_CHINESE: Final = re.compile(
    r"(?:关于|对于|针对)?(.{1,30}?)(?:的事情?|方面|这块|上|的)?(?:我们|咱们|当时|之前|上次|都|是|最后|到底|怎么)*"
    r"(?:决定|定|说|商量|敲定|约定|有(?:什么|哪些)|还有|是)"
)
_KIND_CHINESE: Final = re.compile(r"约束|限制|要求|决定|问题|待定|没定|下一步|接下来|待办|哪些|什么|任务")
_AROUND_CHINESE: Final = re.compile(
    r"^(?:我们|咱们|当时|之前|上次|目前|现在|请问|那|对于?|关于|帮我|看看|列出|显示|所有|还|都|最后|到底|[，。？?!！\s])+"
)


def find_queries(text: str) -> list[Query]:
    """The queries in a message, each kind once, in the order in which they are asked."""
    found: list[Query] = []
    for line in _LINE.split(blank(text[:READ])):
        query = _query(line.strip()) if 3 <= len(line.strip()) <= _LONGEST else None
        if query and query not in found:
            found.append(query)
    return found


def _query(line: str) -> Query | None:
    """What a line asks for. What only its label says, as in "open question: who pays?", asks for nothing."""
    label = _LABELLED.search(line)
    for name, pattern in read_patterns("queries").items():
        if pattern.search(line, label.end() if label else 0):
            of = cast(About, name)
            return Query(of, _subject(line, of), of == "constraints" and bool(_CRITICAL.search(line)))
    return None


def _subject(line: str, of: About) -> str:
    if of in {"everything", "next_steps"}:
        return ""
    if of == "who_said":
        return line
    if is_chinese(line):
        clause = re.split(r"[，,]", line)[-1]
        found = _SUBJECT_CHINESE.search(clause)
        subject = _AROUND_CHINESE.sub("", found[1]) if found else ""
        return "" if _KIND_CHINESE.search(subject) else subject
    found = _SUBJECT.search(line)
    return found[1].strip() if found and not _NO_SUBJECT.match(found[1]) else ""

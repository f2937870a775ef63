"""The clerk's answer, in words.

Owns the wording in both languages. Must never say more than what was filed, what was not, and what the ledger holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from agent.clerk.ledger import Ledger
from agent.clerk.queries import About, Query
from agent.clerk.terms import shared, terms
from agent.mind import Brief, Kind, Language, Message, Proposal

Item = dict[str, Any]
_MOST: Final = 20
"""Entries of a kind that an answer lists; the ledger itself shows all."""

_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "constraint": "constraint", "decision": "decision", "question": "open question", "answer": "answer", "next_step": "next step",
        "critical": "critical", "important": "important", "normal": "normal",
        "filed": "Filed:", "already": "Already in the ledger:", "unsure": "Not filed, because I could not tell what kind of statement it is:",
        "unsure_hint": "Say it as a decision, a constraint, a question or a next step and I will file it.",
        "replaces": "replaces", "answers": "answers", "in_turn": "overtaken in the same breath, not filed",
        "decisions": "Decided", "questions": "Open", "constraints": "Must hold", "next_steps": "Next",
        "none_decisions": "Nothing is decided", "none_questions": "No question is open", "none_constraints": "No constraint stands", "none_next_steps": "No next step is noted",
        "about": " about “{}”", "in_ledger": " in the ledger.", "superseded": "before that", "conflicting": "in conflict with another decision",
        "nobody": "Nobody said anything about that in this conversation.", "more": "… and {} more in the ledger.",
        "nothing": "I am the clerk, no model is connected. I found nothing to file here and no question that the ledger could answer.",
        "cut": "The message is long; I read its first {} characters.", "correction": "Correction, the ledger changed meanwhile:", "open_quote": "“", "close_quote": "”", "colon": ": ", "semi": "; ", "stop": ".",
    },
    "zh": {
        "constraint": "约束", "decision": "决定", "question": "待定问题", "answer": "回答", "next_step": "下一步",
        "critical": "关键", "important": "重要", "normal": "一般",
        "filed": "已记录：", "already": "台账里已有：", "unsure": "未记录，因为无法确定属于哪一类：",
        "unsure_hint": "请明确说成决定、约束、问题或下一步，我就会记下。",
        "replaces": "取代", "answers": "回答", "in_turn": "同一轮里已被改口，未记录",
        "decisions": "已决定", "questions": "待定", "constraints": "必须遵守", "next_steps": "下一步",
        "none_decisions": "台账里没有决定", "none_questions": "台账里没有待定问题", "none_constraints": "台账里没有约束", "none_next_steps": "台账里没有下一步",
        "about": "（关于“{}”）", "in_ledger": "。", "superseded": "此前", "conflicting": "与另一项决定冲突",
        "nobody": "这段对话里没有人提到过。", "more": "……另有 {} 条，见台账。",
        "nothing": "我是文书，没有连接模型。这条消息里没有可记录的内容，也没有台账能回答的问题。",
        "cut": "消息太长，只读了前 {} 个字符。", "correction": "更正，台账已有变化：", "open_quote": "“", "close_quote": "”", "colon": "：", "semi": "；", "stop": "。",
    },
}  # fmt: skip


class Words:
    """Sentences in one language."""

    def __init__(self, language: Language) -> None:
        self._words = _WORDS[language]

    def __getitem__(self, key: str) -> str:
        return self._words[key]

    def quoted(self, text: str) -> str:
        """Words of people, on one line, in quotation marks."""
        return self["open_quote"] + " ".join(text.split()) + self["close_quote"]

    def filed(self, proposals: Sequence[Proposal], ledger: Ledger) -> list[str]:
        """A line for each entry that was filed."""
        return [self["filed"], *(f"- {self._filed(proposal, ledger)}" for proposal in proposals)] if proposals else []

    def already(self, found: Sequence[tuple[Kind, str]]) -> list[str]:
        """A line for each statement that the ledger held before."""
        return (
            [self["already"], *(f"- {self[kind]}{self['colon']}{self.quoted(q)}" for kind, q in found)] if found else []
        )

    def unsure(self, quotes: Sequence[str]) -> list[str]:
        """What was not filed, in its own words."""
        if not quotes:
            return []
        return [self["unsure"], *(f"- {self.quoted(quote)}" for quote in quotes), self["unsure_hint"]]

    def answered(self, query: Query, ledger: Ledger, brief: Brief) -> list[str]:
        """What the ledger has to say to a query."""
        if query.of == "who_said":
            return self._who_said(query, ledger, brief)
        if query.of == "everything":
            parts: tuple[About, ...] = ("decisions", "constraints", "questions", "next_steps")
            return [line for part in parts for line in self._listed(Query(part), ledger)]
        return self._listed(query, ledger)

    def _filed(self, proposal: Proposal, ledger: Ledger) -> str:
        label = self[proposal.kind]
        if proposal.kind == "constraint":
            label += f" ({self[proposal.severity]})"
        line = f"{label}{self['colon']}{self.quoted(proposal.text)}"
        for old in proposal.supersedes:
            line += f"{self['semi']}{self['replaces']} {self.quoted(_text_of(ledger.decisions, old))}"
        if proposal.answers:
            line += f"{self['semi']}{self['answers']} {self.quoted(_text_of(ledger.questions, proposal.answers))}"
        return line

    def _listed(self, query: Query, ledger: Ledger) -> list[str]:
        items = _items(query, ledger)
        if query.critical_only:
            items = [item for item in items if item.get("severity") == "critical"]
        if query.subject:
            items = _about(query.subject, items)
        if not items:
            about = self["about"].format(query.subject) if query.subject else ""
            return [self[f"none_{query.of}"] + about + self["in_ledger"]]
        lines = [f"{self[query.of]}{self['colon'].rstrip()}"]
        lines += [f"- {self._entry(query.of, item, ledger)}" for item in items[:_MOST]]
        return lines + ([self["more"].format(len(items) - _MOST)] if len(items) > _MOST else [])

    def _entry(self, of: About, item: Item, ledger: Ledger) -> str:
        line = " ".join(str(item["text"]).split())
        if of == "constraints" and item.get("severity") == "critical":
            line += f" ({self['critical']})"
        if of == "decisions":
            if item.get("status") == "conflicting":
                line += f" ({self['conflicting']})"
            olds = [_text_of(ledger.decisions, old) for old in item.get("supersedes") or []]
            line += "".join(f" ({self['superseded']}{self['colon']}{old})" for old in olds if old)
        return line

    def _who_said(self, query: Query, ledger: Ledger, brief: Brief) -> list[str]:
        about = terms(query.subject)
        said = [m for m in brief.before if m.role == "user"]
        scored = [(shared(terms(m.text[:2_000]) | terms(m.author), about), m) for m in said]
        best = max((score for score, _ in scored), default=0.0)
        if best < 1:
            return [self["nobody"]]
        return [self._quote(message) for score, message in scored if score == best][-5:]

    def _quote(self, message: Message) -> str:
        text = " ".join(message.text.split())
        return f"- {message.author}{self['colon']}{self.quoted(text if len(text) <= 300 else text[:300] + '…')}"


def _items(query: Query, ledger: Ledger) -> list[Item]:
    kinds: dict[str, Kind] = {
        "decisions": "decision",
        "questions": "question",
        "constraints": "constraint",
        "next_steps": "next_step",
    }
    return ledger.standing(kinds[query.of])


def _about(subject: str, items: Iterable[Item]) -> list[Item]:
    about = terms(subject)
    if not about:
        return list(items)
    scored = [(shared(about, terms(f"{item.get('topic') or ''} {item['text']}")), item) for item in items]
    return [item for score, item in scored if score >= 0.8]


def _text_of(items: Iterable[Item], key: str) -> str:
    return next((" ".join(str(item["text"]).split()) for item in items if item["id"] == key), "")

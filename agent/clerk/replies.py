"""The clerk's answer, in words.

Owns the wording in both languages. Must never say more than what was filed, what was not, and what the ledger holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agent.clerk.ledger import Ledger
from agent.clerk.queries import About, Query
from agent.clerk.terms import shared, terms
from agent.clerk.topics import sorts
from agent.mind import Brief, Kind, Language, Message, Proposal

Item = dict[str, Any]
_MOST: Final = 20
"""Entries of a kind that an answer lists; the ledger itself shows all."""
_QUOTED: Final = 300
_PARTS: Final[dict[About, Kind]] = {
    "decisions": "decision",
    "constraints": "constraint",
    "questions": "question",
    "next_steps": "next_step",
}

_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "constraint": "constraint",
        "decision": "decision",
        "question": "open question",
        "answer": "answer",
        "next_step": "next step",
        "critical": "critical",
        "important": "important",
        "normal": "normal",
        "filed": "Filed:",
        "already": "Already in the ledger:",
        "unsure": "Not filed, because I could not tell what to file it as:",
        "held": "Not filed, because it changes a constraint that only people can retire:",
        "stands": "now stands",
        "told": "In the ledger:",
        "hint": "Say it as a decision, a constraint, a question or a next step and I will file it.",
        "replaces": "replaces",
        "answers": "answers",
        "decisions": "Decided:",
        "questions": "Open:",
        "constraints": "Must hold:",
        "next_steps": "Next:",
        "no_decisions": "Nothing is decided{} in the ledger.",
        "no_questions": "No question is open{} in the ledger.",
        "no_constraints": "No constraint stands{} in the ledger.",
        "no_next_steps": "No next step is noted{} in the ledger.",
        "about": " about “{}”",
        "superseded": "before that: {}",
        "conflicting": "in conflict with another decision",
        "nobody": "Nobody said anything about that in this conversation.",
        "more": "… and {} more in the ledger.",
        "nothing": "I am the clerk; no model is connected. I found nothing to file in this, and no question that the "
        "ledger could answer.",
        "cut": "The message is long; I read its first {} characters.",
        "correction": "Correction, the ledger has changed meanwhile:",
        "colon": ": ",
        "semicolon": "; ",
    },
    "zh": {
        "constraint": "约束",
        "decision": "决定",
        "question": "待定问题",
        "answer": "回答",
        "next_step": "下一步",
        "critical": "关键",
        "important": "重要",
        "normal": "一般",
        "filed": "已记录：",
        "already": "台账里已有：",
        "unsure": "未记录，因为无法确定该记成哪一类：",
        "held": "未记录，因为它改变了只有人能撤销的约束：",
        "stands": "现行的是",
        "told": "台账里有：",
        "hint": "请明确说成决定、约束、问题或下一步，我就会记下。",
        "replaces": "取代",
        "answers": "回答",
        "decisions": "已决定：",
        "questions": "待定：",
        "constraints": "必须满足：",
        "next_steps": "下一步：",
        "no_decisions": "台账里没有{}决定。",
        "no_questions": "台账里没有{}待定问题。",
        "no_constraints": "台账里没有{}约束。",
        "no_next_steps": "台账里没有{}下一步。",
        "about": "关于“{}”的",
        "superseded": "此前：{}",
        "conflicting": "与另一项决定冲突",
        "nobody": "这段对话里没有人提到过。",
        "more": "……另有 {} 条，见台账。",
        "nothing": "我是文书，没有连接模型。这里没有可记录的内容，也没有台账能回答的问题。",
        "cut": "消息太长，只读了前 {} 个字符。",
        "correction": "更正，台账已有变化：",
        "colon": "：",
        "semicolon": "；",
    },
}


class Words:
    """Sentences in one language."""

    def __init__(self, language: Language) -> None:
        self._words = _WORDS[language]

    def __getitem__(self, key: str) -> str:
        return self._words[key]

    def filed(self, proposals: Sequence[Proposal], ledger: Ledger) -> list[str]:
        """A line for each entry that was filed."""
        return [self["filed"], *(f"- {self._filed(proposal, ledger)}" for proposal in proposals)] if proposals else []

    def already(self, found: Sequence[tuple[Kind, str]]) -> list[str]:
        """A line for each statement that the ledger held before."""
        lines = [f"- {self[kind]}{self['colon']}{_quoted(quote)}" for kind, quote in found]
        return [self["already"], *lines] if lines else []

    def unsure(self, quotes: Sequence[str]) -> list[str]:
        """What was not filed, in its own words."""
        return [self["unsure"], *(f"- {_quoted(_short(quote))}" for quote in quotes), self["hint"]] if quotes else []

    def held(self, found: Sequence[tuple[str, str]]) -> list[str]:
        """What was not filed since a constraint stands that says otherwise."""
        lines = [f"- {_quoted(new)}{self['semicolon']}{self['stands']} {_quoted(old)}" for new, old in found]
        return [self["held"], *lines] if lines else []

    def told(self, items: Sequence[Item], ledger: Ledger) -> list[str]:
        """Entries that tell what a question asks for."""
        return [self["told"], *(f"- {self._entry(item, ledger)}" for item in items[:_MOST])]

    def answered(self, query: Query, ledger: Ledger, brief: Brief) -> list[str]:
        """What the ledger has to say to a query."""
        if query.of == "who_said":
            return self._who_said(query, brief)
        if query.of == "everything":
            return [line for part in _PARTS for line in self._listed(Query(part), ledger)]
        return self._listed(query, ledger)

    def _filed(self, proposal: Proposal, ledger: Ledger) -> str:
        label = self[proposal.kind]
        if proposal.kind == "constraint":
            label += f" ({self[proposal.severity]})"
        line = f"{label}{self['colon']}{_quoted(proposal.text)}"
        for old in proposal.supersedes:
            line += f"{self['semicolon']}{self['replaces']} {_quoted(ledger.text_of(old))}"
        if proposal.answers:
            line += f"{self['semicolon']}{self['answers']} {_quoted(ledger.text_of(proposal.answers))}"
        return line

    def _listed(self, query: Query, ledger: Ledger) -> list[str]:
        items = ledger.standing(_PARTS[query.of])
        if query.critical_only:
            items = [item for item in items if item.get("severity") == "critical"]
        if query.subject:
            items = _about(query.subject, items, ledger)
        if not items:
            about = self["about"].format(query.subject) if query.subject else ""
            return [self[f"no_{query.of}"].format(about)]
        lines = [f"- {self._entry(item, ledger)}" for item in items[:_MOST]]
        more = [self["more"].format(len(items) - _MOST)] if len(items) > _MOST else []
        return [self[query.of], *lines, *more]

    def _entry(self, item: Item, ledger: Ledger) -> str:
        notes = [self["critical"]] if item.get("severity") == "critical" else []
        if item.get("status") == "conflicting" and "supersedes" in item:
            notes.append(self["conflicting"])
        olds = [ledger.text_of(old) for old in item.get("supersedes") or []]
        notes += [self["superseded"].format(old) for old in olds if old]
        return " ".join([*str(item["text"]).split(), *(f"({note})" for note in notes)])

    def _who_said(self, query: Query, brief: Brief) -> list[str]:
        about = terms(query.subject)
        numbers = {term for term in about if term[0].isdigit()}
        said = [m for m in brief.before if m.role == "user" and numbers <= terms(m.text)]
        scored = [(shared(terms(f"{message.author} {message.text}"), about), message) for message in said]
        best = max((score for score, _ in scored), default=0.0)
        if best < 1:
            return [self["nobody"]]
        return [f"- {self._quote(message)}" for score, message in scored if score == best][-_MOST:]

    def _quote(self, message: Message) -> str:
        return f"{message.author}{self['colon']}{_quoted(_short(message.text))}"


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"


def _quoted(text: str) -> str:
    """Words of people, on one line, in quotation marks."""
    return f"“{' '.join(text.split())}”"


def _about(subject: str, items: Sequence[Item], ledger: Ledger) -> list[Item]:
    """The items about a subject: by their words or those of what they replaced, else by the sort it asks for."""
    about = terms(subject)
    if not about:
        return list(items)
    words = [f"{item.get('topic') or ''} {item['text']} {ledger.before(item)}" for item in items]
    found = [item for item, said in zip(items, words, strict=True) if shared(about, terms(said)) >= 0.8]
    sort = sorts(subject)
    return found or [item for item in items if sort & sorts(str(item["text"]))]

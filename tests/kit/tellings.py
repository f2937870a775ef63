"""Tasks whose ledgers have several honest phrasings and several dishonest ones, and summaries made of them.

A ``{slot}`` in a phrasing is a value or a name: ``right`` are its honest spellings, the first being the ledger's,
``wrong`` is another value of the kind. Tasks that are ``held_out`` were written before the scorer had been run on any.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from crdt_docs.fidelity import LedgerItem

Language = Literal["en", "zh"]
Style = Literal["paragraph", "bullets", "headed", "greeting", "shuffled", "short", "paired"]
STYLES: Final[tuple[Style, ...]] = ("paragraph", "bullets", "headed", "greeting", "shuffled", "short", "paired")
_TASKS: Final = Path(__file__).parent.parent / "fixtures" / "summaries" / "tasks.json"

_OPENING: Final[Mapping[Language, Sequence[str]]] = {
    "en": ("You were working on {name}. Continue?", "Welcome back to {name}.", "Here is where {name} stands."),
    "zh": ("您之前在处理“{name}”。要继续吗？", "欢迎回到{name}。", "以下是{name}的进展。"),
}
_GREETING: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("Hi, good to see you again! Let us pick up {name} where you left it.", "Ready when you are."),
    "zh": ("您好，欢迎回来！我们接着处理{name}。", "随时可以继续。"),
}
_HEADS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "constraint": "Must hold",
        "decision": "Decided",
        "question": "Still open",
        "next_step": "Next",
        "output": "Results",
    },
    "zh": {
        "constraint": "必须满足",
        "decision": "已决定",
        "question": "尚待解决",
        "next_step": "下一步",
        "output": "成果",
    },
}


@dataclass(frozen=True)
class Sentence:
    """A sentence of a summary and the row that it tells, empty for one that only frames."""

    row: str
    text: str


@dataclass(frozen=True)
class Telling:
    """A summary as its sentences, in a style."""

    style: Style
    language: Language
    sentences: tuple[Sentence, ...]

    def text(self) -> str:
        """The summary as a reader gets it."""
        gap = "" if self.language == "zh" else " "
        if self.style == "bullets":
            return "\n".join(s.text if not s.row else f"- {s.text}" for s in self.sentences)
        if self.style == "headed":
            return "\n".join(s.text for s in self.sentences)
        return gap.join(s.text for s in self.sentences)


class Task:
    """One task of the fixture."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.name: str = fields["name"]
        self.language: Language = fields["language"]
        self.source: str = fields["source"]
        self.held_out: bool = fields["held_out"]
        self.slots: dict[str, dict[str, Any]] = fields["slots"]
        self.rows: list[dict[str, Any]] = fields["rows"]
        self.lapsed: list[dict[str, Any]] = fields["lapsed"]
        self.revived: dict[str, str] = fields["revived"]

    def fill(self, text: str, spellings: Mapping[str, str] | None = None) -> str:
        """The phrasing with its slots filled, by the ledger's spellings unless others are given."""
        return text.format(**{key: slot["right"][0] for key, slot in self.slots.items()} | dict(spellings or {}))

    def ledger(self) -> tuple[LedgerItem, ...]:
        """Every row, as the scorer gets it."""
        standing = [
            LedgerItem(r["id"], r["kind"], self.fill(r["text"]), r["status"], r["severity"], r["topic"])
            for r in self.rows
        ]
        lapsed = [LedgerItem(r["id"], r["kind"], r["text"], r["status"], "important", "", r["by"]) for r in self.lapsed]
        return (*standing, *lapsed)

    def tell(self, style: Style, seed: int) -> Telling:
        """An honest summary. The seed chooses among phrasings, spellings and openings."""
        chance = random.Random(f"{self.name} {style} {seed}")
        spellings = {key: chance.choice(slot["right"]) for key, slot in self.slots.items()}
        rows = list(self.rows)
        if style == "shuffled":
            chance.shuffle(rows)
        told = [(row, self.fill(chance.choice(row["told"]), spellings)) for row in rows]
        return Telling(style, self.language, tuple(self._arranged(style, told, chance)))

    def _arranged(self, style: Style, told: Sequence[tuple[Any, str]], chance: random.Random) -> Iterator[Sentence]:
        heads, before = _HEADS[self.language], ""
        if style == "greeting":
            yield Sentence("", _GREETING[self.language][0].format(name=self.name))
        elif style != "short":
            yield Sentence("", chance.choice(_OPENING[self.language]).format(name=self.name))
        for row, text in told:
            if style == "headed" and row["kind"] != before:
                before = row["kind"]
                yield Sentence("", f"\n{heads[before]}:" if self.language == "en" else f"\n{heads[before]}：")
            if style == "paired" and row["kind"] == "decision" and self.language == "en":
                text = f"As for what is settled: {text}"
            yield Sentence(row["id"], capital(text))
        if style == "greeting":
            yield Sentence("", _GREETING[self.language][1])


def capital(text: str) -> str:
    """The sentence with a capital at its head."""
    return text[:1].upper() + text[1:]


def tasks() -> list[Task]:
    """Every task of the fixture."""
    return [Task(fields) for fields in json.loads(_TASKS.read_text(encoding="utf-8"))]

"""What can be wrong with a summary, as operators that make a wrong one of a right one. Each says if it must be blocked.

The dishonest phrasings come with the tasks; the operators that need none work on any summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kit.tellings import Sentence, Task, Telling, capital


@dataclass(frozen=True)
class Mutant:
    """A summary gone wrong. ``blocked`` if it must not be shown; else its score must fall."""

    operator: str
    text: str
    blocked: bool = True


def mutants(task: Task, telling: Telling) -> Iterator[Mutant]:
    """Every wrong summary that the operators make of this one."""
    for row in task.rows:
        yield from _turned(task, telling, row)
        yield from _dropped(task, telling, row)
    for key, slot in task.slots.items():
        yield from _changed(task, telling, key, slot)
    for name, text in task.revived.items():
        yield Mutant(name, _with(telling, text))
    for operator in (_exchanged, _merged, _repeated, _invented, _cut):
        yield from operator(task, telling)


def _turned(task: Task, telling: Telling, row: dict[str, Any]) -> Iterator[Mutant]:
    for name, text in row["turned"].items():
        wrong = capital(task.fill(text))
        yield Mutant(name, _instead(telling, row["id"], wrong))
        if name in ("asserted", "superseded", "negated"):
            yield Mutant(f"{name} besides", _with(telling, wrong))


def _dropped(task: Task, telling: Telling, row: dict[str, Any]) -> Iterator[Mutant]:
    must = row["severity"] != "normal" or row["kind"] in ("constraint", "next_step", "question")
    yield Mutant(f"drop {row['kind']}", _instead(telling, row["id"], None), must)


def _changed(task: Task, telling: Telling, key: str, slot: dict[str, Any]) -> Iterator[Mutant]:
    text = telling.text()
    for spelling in sorted(slot["right"], key=len, reverse=True):
        if spelling in text:
            yield Mutant(f"wrong {slot['kind']}", text.replace(spelling, slot["wrong"]))
            break
    for right, wrong in _UNITS.get(task.language, ()):
        if right in text and slot["kind"] in ("money", "measure", "span"):
            yield Mutant("wrong unit", re.sub(rf"(?<=\d){re.escape(right)}|(?<=\s){re.escape(right)}", wrong, text))


_UNITS: Final = {
    "en": (("€", "$"), ("euros", "dollars"), ("MB", "GB"), ("minutes", "hours"), ("nights", "weeks")),
    "zh": (("万元", "万美元"), ("分钟", "小时"), ("MB", "GB"), ("晚", "周")),
}


def _exchanged(task: Task, telling: Telling) -> Iterator[Mutant]:
    """Two values of one kind change places."""
    slots = [
        slot for slot in task.slots.values() if slot["kind"] in ("span", "date", "percent", "money", "person", "number")
    ]
    text = telling.text()
    for i, one in enumerate(slots):
        for other in slots[i + 1 :]:
            a = next((s for s in sorted(one["right"], key=len, reverse=True) if s in text), None)
            b = next((s for s in sorted(other["right"], key=len, reverse=True) if s in text), None)
            if one["kind"] == other["kind"] and a and b:
                yield Mutant("exchange values", text.replace(a, "\0").replace(b, a).replace("\0", b))


def _merged(task: Task, telling: Telling) -> Iterator[Mutant]:
    """Two constraints become one that has the value of one of them."""
    one, other = [row for row in task.rows if row["kind"] == "constraint"][:2]
    joint = {
        "en": f"{_stop(task.fill(one['told'][0]))}, and the same goes for the rest.",
        "zh": f"{_stop(task.fill(one['told'][0]))}，其余同理。",
    }[task.language]
    merged = replace(
        telling,
        sentences=tuple(
            Sentence(s.row, joint) if s.row == one["id"] else s for s in telling.sentences if s.row != other["id"]
        ),
    )
    yield Mutant("merge constraints", merged.text())


def _repeated(task: Task, telling: Telling) -> Iterator[Mutant]:
    """A value that is right is told of a thing that nobody spoke of, too."""
    right = next(
        slot["right"][0] for slot in task.slots.values() if slot["kind"] in ("span", "percent", "money", "number")
    )
    text = {"en": f"The escrow notification is {right} as well.", "zh": f"托管账户的通知也是{right}。"}[task.language]
    yield Mutant("repeat value", _with(telling, text))


def _invented(task: Task, telling: Telling) -> Iterator[Mutant]:
    wrong = {
        "en": {
            "invented number": "There are 317 comments left.",
            "invented money": "It comes to $7,250 in all.",
            "invented date": "The board meets on 19 November.",
            "invented name": "Marguerite Dubois will join the call.",
            "invented name at the head": "Zebulon agreed to everything.",
            "invented party": "All of this was cleared with the government.",
            "invented act": "The invoice has been paid.",
        },
        "zh": {
            "invented number": "还剩317条意见。",
            "invented money": "合计7,250元。",
            "invented date": "11月19日开会。",
            "invented name": "欧阳修竹也会参加,由郑凯主持。",
            "invented party": "这些都已和市政府谈妥。",
            "invented act": "尾款已经支付。",
        },
    }[task.language]
    for name, text in wrong.items():
        yield Mutant(name, _with(telling, text))


def _cut(task: Task, telling: Telling) -> Iterator[Mutant]:
    text = telling.text()
    yield Mutant("truncate", text[: len(text) * 3 // 5])
    yield Mutant("truncate late", text[: len(text) - 9])
    yield Mutant("empty", "")
    yield Mutant("blank", " \n ")
    yield Mutant("framing only", telling.sentences[0].text if not telling.sentences[0].row else "Hello!")
    filler = {
        "en": " We talked about this and that, and much more than that.",
        "zh": "我们还聊了许多别的事情，说了很多很多话。",
    }
    yield Mutant("padding", text + filler[task.language] * 40, blocked=False)


def _instead(telling: Telling, row: str, text: str | None) -> str:
    kept = [
        Sentence(s.row, text if text and s.row == row else s.text) for s in telling.sentences if text or s.row != row
    ]
    return replace(telling, sentences=tuple(kept)).text()


def _with(telling: Telling, text: str) -> str:
    last = telling.sentences[-1]
    more = Sentence("besides", text)
    sentences = (*telling.sentences[:-1], more, last) if not last.row else (*telling.sentences, more)
    return replace(telling, sentences=sentences).text()


def _stop(text: str) -> str:
    return text.rstrip(".。")

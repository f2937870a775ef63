"""Makes the golden bytes of schema 1. Run once, by hand, from the repository's root:

    PYTHONPATH=.:tests python tests/kit/golden.py

The files in ``tests/fixtures/schema1`` are then never made again: they stand for documents that people have.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kit.yjs_oracle import YjsOracle
from pycrdt import Doc, Map, Text

from crdt_docs.entries import Words
from crdt_docs.ids import Part
from crdt_docs.schema import PART_ROOTS, seed_update
from crdt_docs.updates.splice import merge
from crdt_docs.updates.trim import trim
from crdt_docs.working_set import WorkingSet, put_entry, read

FOLDER = Path(__file__).parents[1] / "fixtures" / "schema1"
DOCUMENT = "7c0e5f0e-8a55-4d3a-9a53-0d3c3ef1f001"
START = 1_764_000_000_000

CONTRACT = """# 采购合同 Acme 😀

第一条　**标的**：甲方（Acme）向乙方购买*设备*，价格 `EUR 10_000`。

> Delivery ~~in March~~ by 30 April\\
> or earlier.

1. Payment
2. Liability
   - capped
   - <u>gross negligence</u> excepted

| Item | Price |
| --- | --- |
| Pump \\| valve | 10 |
| 泵 | 20 |

- [x] NDA signed
- [ ] 税号

```python
total = 30
```

***

See [the draft](https://example.org/a?b=1&c=2 "v2").
"""


class Minutes:
    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        self.at += 60_000
        return self.at


def make_rich() -> list[bytes]:
    """Two people and an agent, apart and together, as a log of updates that can be spliced."""
    now = Minutes()
    seed = seed_update(1001, name="Acme contract revision 合同", goal="Sign by Friday 😀", document=DOCUMENT)
    ann, wei = (_peer(name, client, seed, now) for name, client in (("Ann", 2001), ("伟 Wei", 2002)))
    first = ann.add_message("We agreed on Net 30, right? 😀")
    ann.add_constraint("No data leaves the EU", severity="critical", source=first)
    retired = ann.add_constraint("Under 10 pages")
    payment, law = ann.decide("Net 30", topic="payment", source=first), ann.decide("Dutch law", topic="law")
    question, dropped = ann.ask("Who signs for Acme?"), ann.ask("Which font?")
    ann.add_document("合同 Draft", CONTRACT)
    _meet(ann, wei)
    ann.decide("Net 45", topic="payment", supersedes=[payment])
    wei.decide("Net 60 天", topic="payment", supersedes=[payment])
    ann.decide("Swiss law", topic="law", supersedes=[law])
    ann.answer(question, "The CFO")
    wei.answer(question, "王总 👩‍💼")
    ann.retire(retired, "they want annexes")
    wei.retire(retired)
    wei.drop(dropped)
    wei.edit_words("questions", dropped, "text", 0, insert="(minor) ")
    ann.edit_words("decisions", law, "text", 6, insert="contract ")
    wei.add_message("Net 60 天 is what they asked for", role="user")
    wei.add_message("I noted both.", role="agent", turn="turn-1", refs=[first])
    wei.add_output("Itinerary", "**Day 1** Delft\n\n**Day 2** 上海\n", kind="plan", state="final", run="run-1")
    ann.add_output("Scan", kind="file", blob="ab" * 32, next="read it")
    with ann.doc.transaction():
        _add_others(ann.doc)
    _meet(ann, wei)
    return [seed, ann.doc.get_update(), wei.doc.get_update()]


def _peer(name: str, client: int, seed: bytes, now: Minutes) -> WorkingSet:
    doc: Doc[Any] = Doc(client_id=client)
    doc.apply_update(seed)
    return WorkingSet(doc, name, now)


def _meet(left: WorkingSet, right: WorkingSet) -> None:
    mine, theirs = left.doc.get_update(), right.doc.get_update()
    left.doc.apply_update(theirs)
    right.doc.apply_update(mine)


def _add_others(doc: Doc[Any]) -> None:
    fields = {"city": "上海", "nights": 3, "breakfast": True}
    put_entry(doc.get("slots", type=Map), "trip", {"intent": "book", "state": "open", "fields": fields})
    call = {"tool": "mail.send", "intent_key": "k1", "args": {"to": "a@b.c"}, "status": "proposed", "by": "Clerk"}
    doc.get("calls", type=Map)["call-1"] = Map(dict(call))
    summary: Map[Any] = doc.get("summary", type=Map)
    put_entry(summary, "checked", {})
    summary["covers_seq"], summary["by"] = 12, "Clerk"
    summary["text"] = Text("You were revising the Acme contract 合同.")


def make_margin() -> bytes:
    """Comments and a suggestion, as a commenter writes them."""
    doc: Doc[Any] = Doc(client_id=3001)
    comment = {
        "text": Words("Is 30 days enough? 🤔"),
        "document": DOCUMENT,
        "quote": "Net 30",
        "by": "Ann",
        "at": START,
    }
    made = put_entry(doc.get("comments", type=Map), "comment-1", {**comment, "replies": {}, "resolved": {}})
    put_entry(made["replies"], "reply-1", {"text": Words("不够"), "by": "伟 Wei", "at": START + 60_000})
    suggestion = {"text": Words("Net 45"), "document": DOCUMENT, "quote": "Net 30", "by": "Clerk", "at": START}
    put_entry(doc.get("suggestions", type=Map), "suggestion-1", {**suggestion, "accepted": {}, "declined": {}})
    return doc.get_update()


def main() -> None:
    rich = merge(make_rich())
    files = {"seed.bin": make_rich()[0], "rich.bin": rich, "trimmed.bin": trim(rich), "margin.bin": make_margin()}
    expected: dict[str, Any] = {}
    with YjsOracle() as yjs:
        for name, update in files.items():
            part: Part = "margin" if name == "margin.bin" else "main"
            (FOLDER / name).write_bytes(update)
            loaded = yjs.load([update], dict.fromkeys(PART_ROOTS[part], "map"))
            expected[name] = {"part": part, "yjs": loaded.json}
            if part == "main":
                doc: Doc[Any] = Doc()
                doc.apply_update(update)
                expected[name]["projection"] = read(doc)
    text = json.dumps(expected, ensure_ascii=False, indent=1, sort_keys=True)
    (FOLDER / "expected.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""What the engine reads out of a document. Runs only in workers: applying and reading may crash, hang or panic.

Owns the one ``apply_update`` of the server. Must never write, nor be imported by the serving process.
"""

from __future__ import annotations

import json
from typing import Any

from pycrdt import Doc

from crdt_docs.contents import Contents, read_contents
from crdt_docs.markdown import write_markdown
from crdt_docs.richtext import plain_text
from server.domain import likeness
from server.engine.report import task_report


def project(update: bytes) -> bytes:
    """The working set as JSON, see ``crdt_docs.working_set.read``."""
    return json.dumps(_contents(update).as_dict(), ensure_ascii=False, allow_nan=False).encode()


def export(update: bytes, kind: str, title: str) -> bytes:
    """The working set as a file of ``kind``: ``md``, ``docx`` or ``json``. ``title`` heads it, being SQL's name."""
    contents = _contents(update)
    if kind == "md":
        return write_markdown(task_report(contents, title)).encode()
    if kind == "docx":
        from server.engine.docx import write_docx  # a quarter of a second to load, and seldom asked for

        return write_docx(task_report(contents, title))
    if kind == "json":
        data = {"name": title, **contents.as_dict()}
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2).encode()
    raise ValueError(f"no export of kind {kind}")


def profile(update: bytes) -> bytes:
    """What messages are compared with to tell whether they are about this working set, see ``likeness.load``."""
    return likeness.dump(likeness.profile(search_text(update).decode()))


def search_text(update: bytes) -> bytes:
    """All words of the working set, one entry or block per line, as UTF-8: the ledger first, as readers may stop."""
    contents = _contents(update)
    lines = [contents.meta["goal"]]
    for items in (contents.constraints, contents.decisions, contents.questions):
        for item in items:
            lines += [item["text"], *(answer["text"] for answer in item.get("answers", ()))]
    for document in contents.documents:
        lines += [document.title, plain_text(document.body)]
    for item in contents.outputs:
        lines += [item["text"], item["markdown"]]
    lines += [item["text"] for item in reversed(contents.messages)]
    return "\n".join(line for line in lines if line).encode()


def _contents(update: bytes) -> Contents:
    doc: Doc[Any] = Doc()
    doc.apply_update(update)
    return read_contents(doc)

"""A task taken elsewhere: Markdown that reads back, Word files that open, JSON that is JSON, words to search."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import docx
import pytest
from docx.oxml.ns import qn
from kit.trees import make_body
from pycrdt import Doc

from crdt_docs.markdown_reader import read_markdown
from crdt_docs.richtext import Node, Span
from crdt_docs.schema import seed_update
from crdt_docs.working_set import WorkingSet
from server.engine.cache import At, ProjectionCache
from server.engine.docx import write_docx
from server.engine.projections import export, project, search_text

DOCUMENT = "00000000-0000-4000-8000-000000000001"
BODY = """# 合同 Contract

Plain **bold** *italic* ~~struck~~ `code` [link](https://x.y/z) and <u>under</u>\\
next line

> quoted

1. one
2. two
   - nested
     - deeper

- [x] done
- [ ] open

```python
if x:
    y
```

| a | b |
| --- | --- |
| 1 | 2 |

***

3. three
"""


@pytest.fixture(scope="module")
def task() -> bytes:
    doc: Doc[Any] = Doc(client_id=3)
    doc.apply_update(seed_update(1, name="Acme", goal="Sign by Friday 😀", document=DOCUMENT))
    people = WorkingSet(doc, "Ann", lambda: 1_764_000_000_000)
    people.add_document("Draft", BODY)
    people.retire(people.add_constraint("Under 10 pages"))
    old = people.decide("Net 30")
    people.decide("Net 45", supersedes=[old])
    people.answer(people.ask("Which law?"), "Dutch")
    people.add_output("Summary", "Short *words*\n", state="final")
    people.add_message("第一\nline two with *stars*")
    return doc.get_update()


def opened(data: bytes) -> Any:
    return docx.Document(io.BytesIO(data))


def test_the_markdown_of_a_task_names_everything_and_reads_back(task: bytes) -> None:
    written = export(task, "md", "Acme contract").decode()
    for words in (
        "# Acme contract\n\nSign by Friday 😀\n",
        "## Draft\n\n# 合同 Contract",
        "- Net 30 (superseded)\n- Net 45\n",
        "- Under 10 pages (retired)\n",
        "- Which law?\n  - Dutch\n",
        "## Summary (final)\n\nShort *words*\n",
        "**Ann**: 第一\\\nline two with \\*stars\\*\n",
    ):
        assert words in written
    assert "## Notes" not in written
    assert read_markdown(written)


def test_a_word_file_opens_and_holds_what_the_document_says(task: bytes) -> None:
    found = opened(export(task, "docx", "Acme contract"))
    by_style: dict[str, list[str]] = {}
    for paragraph in found.paragraphs:
        by_style.setdefault(paragraph.style.name, []).append(paragraph.text)
    assert by_style["Heading 1"] == ["Acme contract", "合同 Contract"]
    assert by_style["List Number"] == ["one", "two", "three"]
    assert by_style["List Bullet 2"][0] == "nested"
    assert by_style["List Bullet 3"] == ["deeper"]
    assert by_style["List Bullet"][:2] == ["☑ done", "☐ open"]
    assert by_style["Quote"] == ["quoted"]
    assert "if x:\n    y" in by_style["Normal"]
    (table,) = found.tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["a", "b"], ["1", "2"]]


def test_marks_are_words_own(task: bytes) -> None:
    found = opened(export(task, "docx", "Acme"))
    (paragraph,) = (each for each in found.paragraphs if each.text.startswith("Plain"))
    runs = {run.text: run for run in paragraph.runs}
    assert runs["bold"].font.bold
    assert runs["italic"].font.italic
    assert runs["struck"].font.strike
    assert runs["under"].font.underline
    assert runs["code"].font.name == "Courier New"
    assert not runs["Plain "].font.bold
    (link,) = paragraph.hyperlinks
    assert (link.text, link.address) == ("link", "https://x.y/z")
    assert "\n" in paragraph.text


def test_each_numbered_list_counts_for_itself(task: bytes) -> None:
    found = opened(export(task, "docx", "Acme"))
    numbers = [(p.text, p._p.pPr.numPr.numId.val) for p in found.paragraphs if p.style.name == "List Number"]
    assert numbers[0][1] == numbers[1][1] != numbers[2][1]
    starts = {
        num.numId: override.val
        for num in found.part.numbering_part.element.num_lst
        for override in num.iter(qn("w:startOverride"))
    }
    assert [starts[number] for _, number in numbers] == [1, 1, 3]


def test_suggestions_become_tracked_changes() -> None:
    body = [
        Node(
            "paragraph",
            {},
            [
                Span("keep "),
                Span("old", {"deletion": {"id": "1", "by": "Clerk"}}),
                Span("new", {"insertion": {"id": "1", "by": "Clerk"}, "bold": {}}),
            ],
        )
    ]
    (paragraph,) = opened(write_docx(body)).paragraphs
    (inserted,) = paragraph._p.iter(qn("w:ins"))
    (deleted,) = paragraph._p.iter(qn("w:del"))
    assert [text.text for text in inserted.iter(qn("w:t"))] == ["new"]
    assert [text.text for text in deleted.iter(qn("w:delText"))] == ["old"]
    assert inserted.get(qn("w:author")) == deleted.get(qn("w:author")) == "Clerk"


def test_merged_cells_are_merged_and_a_span_past_the_edge_is_cut() -> None:
    def cell(text: str, **spans: int) -> Node:
        return Node("tableCell", dict(spans), [Node("paragraph", {}, [Span(text)])])

    table = Node(
        "table",
        {},
        [
            Node("tableRow", {}, [cell("tall", rowspan=9), cell("wide", colspan=2)]),
            Node("tableRow", {}, [cell("c"), cell("d")]),
        ],
    )
    (found,) = opened(write_docx([table])).tables
    assert [[c.text for c in row.cells] for row in found.rows] == [["tall", "wide", "wide"], ["tall", "c", "d"]]


@pytest.mark.parametrize("seed", range(40))
def test_any_document_becomes_a_word_file_that_opens(seed: int) -> None:
    body = make_body(random.Random(seed))
    words = [text for node in body for text in _words(node)]
    found = opened(write_docx(body))
    inside = "".join(found.element.body.itertext())
    for text in words:
        for part in text.replace("\t", "\n").split("\n"):
            assert part in inside


def _words(node: Node | Span) -> list[str]:
    return [node.text] if isinstance(node, Span) else [text for child in node.children for text in _words(child)]


def test_characters_that_xml_cannot_hold_are_left_out_and_unsafe_links_are_words() -> None:
    span = Span("a\x00b\x0bc\ufffe", {"link": {"href": "javascript:alert(1)"}})
    (paragraph,) = opened(write_docx([Node("paragraph", {}, [span])])).paragraphs
    assert paragraph.text == "abc"
    assert not paragraph.hyperlinks


def test_an_empty_task_still_makes_files() -> None:
    seed = seed_update(1, name="New", document=DOCUMENT)
    assert export(seed, "md", "New").decode() == "# New\n"
    assert [p.text for p in opened(export(seed, "docx", "New")).paragraphs] == ["New"]
    assert json.loads(export(seed, "json", "New"))["name"] == "New"


def test_an_unknown_kind_is_refused(task: bytes) -> None:
    with pytest.raises(ValueError, match="pdf"):
        export(task, "pdf", "x")


def test_json_is_the_projection(task: bytes) -> None:
    exported = json.loads(export(task, "json", "Acme"))
    assert exported.pop("name") == "Acme"
    assert exported == json.loads(project(task))


def test_every_word_can_be_searched(task: bytes) -> None:
    found = search_text(task).decode()
    for words in ("Sign by Friday", "合同", "nested", "if x:", "Net 30", "Dutch", "Short", "第一", "Under 10 pages"):
        assert words in found


def test_the_cache_holds_the_newest_of_each_document_within_its_bound() -> None:
    cache = ProjectionCache(100)
    cache.put(At("a", 1), b"x" * 40)
    cache.put(At("a", 2), b"y" * 40)
    cache.put(At("a", 1), b"z")
    assert cache.get(At("a", 1)) is None
    assert cache.get(At("a", 2)) == b"y" * 40
    cache.put(At("b", 1), b"b" * 50)
    assert cache.get(At("a", 2)) is not None
    cache.put(At("c", 1), b"c" * 50)
    assert cache.get(At("b", 1)) is None, "the least recently used goes first"
    assert cache.size == 90
    cache.put(At("d", 1), b"d" * 101)
    assert cache.get(At("d", 1)) is None
    cache.forget("a")
    cache.forget("never held")
    assert cache.size == 50

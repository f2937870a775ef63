"""Rich text as a Word document.

Owns the mapping to Word's styles. Suggestions become tracked changes, so that a reviewer in Word can go on with them.
Must never write a character that XML cannot hold, nor a link that is not safe to follow.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt
from docx.text.paragraph import Paragraph

from crdt_docs.markdown_reader import is_safe_link
from crdt_docs.richtext import Node, Span

_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_DEEPEST_LIST: Final = 3
_MONOSPACE: Final = "Courier New"
_MAX_COLUMNS: Final = 63
"""Word's own bound on a table's columns."""


def write_docx(nodes: Iterable[Node | Span]) -> bytes:
    """The tree as the bytes of a .docx file."""
    writer = _Writer()
    writer.blocks(writer.document, nodes)
    out = io.BytesIO()
    writer.document.save(out)
    return out.getvalue()


class _Writer:
    def __init__(self) -> None:
        self.document: Any = docx.Document()
        self.styles: dict[str, str] = {style.name: style.style_id for style in self.document.styles}
        self.end: Any = self.document.element.body.sectPr
        self.changes = 0

    def paragraph(self, place: Any, style: str | None = None) -> Any:
        """A new paragraph at the end; ``add_paragraph`` would look through all before it, each time."""
        element = OxmlElement("w:p")
        if style is not None:
            element.style = self.styles[style]
        if place is self.document:
            self.end.addprevious(element)
            return Paragraph(element, self.document._body)
        place._tc.append(element)
        return Paragraph(element, place)

    def blocks(self, place: Any, nodes: Iterable[Node | Span], style: str | None = None) -> None:
        """Write blocks into the document or a table cell; ``style`` is the enclosing block's, if it has one."""
        for node in nodes:
            if isinstance(node, Span):
                self.words(self.paragraph(place, style), [node])
            else:
                self.block(place, node, style)

    def block(self, place: Any, node: Node, style: str | None) -> None:
        match node.name:
            case "paragraph":
                self.words(self.paragraph(place, style), node.children)
            case "heading":
                self.words(self.paragraph(place, f"Heading {_level(node)}"), node.children)
            case "bulletList" | "taskList" | "orderedList":
                self.list(place, node, 1)
            case "blockquote":
                self.blocks(place, node.children, "Quote")
            case "codeBlock":
                self.code(self.paragraph(place), node)
            case "horizontalRule":
                _rule(self.paragraph(place))
            case "table":
                self.table(place, node)
            case _:
                self.blocks(place, node.children, style)

    def list(self, place: Any, node: Node, depth: int) -> None:
        """Write a list's items. Each numbered list counts for itself."""
        level = min(depth, _DEEPEST_LIST)
        style = ("List Number" if node.name == "orderedList" else "List Bullet") + (f" {level}" if level > 1 else "")
        number = self.numbering(style, node.attributes.get("start", 1)) if node.name == "orderedList" else None
        for item in node.children:
            if isinstance(item, Node):
                self.item(place, item, style, number, depth)

    def item(self, place: Any, item: Node, style: str, number: int | None, depth: int) -> None:
        follow = style.replace("Bullet", "Continue").replace("Number", "Continue")
        first = True
        for child in item.children:
            if isinstance(child, Node) and child.name in ("bulletList", "taskList", "orderedList"):
                self.list(place, child, depth + 1)
            elif isinstance(child, Node) and child.name == "paragraph" and first:
                paragraph = self.paragraph(place, style)
                if number is not None:
                    _set_numbering(paragraph, number)
                if item.name == "taskItem":
                    paragraph.add_run("☑ " if item.attributes.get("checked") is True else "☐ ")
                self.words(paragraph, child.children)
            else:
                self.blocks(place, [child], follow)
            first = False

    def numbering(self, style: str, start: Any) -> int:
        """A new numbering of that style's look, which starts where the list does."""
        root = self.document.part.numbering_part.element
        look = self.document.styles[style].element.pPr.numPr.numId.val
        abstract = root.num_having_numId(look).abstractNumId.val
        made = root.add_num(abstract)
        made.add_lvlOverride(ilvl=0).add_startOverride(start if isinstance(start, int) and start >= 0 else 1)
        number: int = made.numId
        return number

    def words(self, paragraph: Any, children: Iterable[Node | Span]) -> None:
        for child in children:
            if isinstance(child, Node):
                if child.name == "hardBreak":
                    paragraph.add_run().add_break()
                else:
                    self.words(paragraph, child.children)
                continue
            run = paragraph.add_run(_UNWRITABLE.sub("", child.text))
            _dress(run, child)
            self.link(paragraph, run, child)
            self.change(run, child)

    def link(self, paragraph: Any, run: Any, span: Span) -> None:
        href = span.marks.get("link", {}).get("href")
        if not isinstance(href, str) or not is_safe_link(href):
            return
        target = paragraph.part.relate_to(_UNWRITABLE.sub("", href), RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        anchor = OxmlElement("w:hyperlink")
        anchor.set(qn("r:id"), target)
        run.font.underline = True
        _wrap(run, anchor)

    def change(self, run: Any, span: Span) -> None:
        """Make a suggestion a tracked change."""
        kind = "insertion" if "insertion" in span.marks else "deletion" if "deletion" in span.marks else None
        if kind is None:
            return
        self.changes += 1
        wrapper = OxmlElement("w:ins" if kind == "insertion" else "w:del")
        wrapper.set(qn("w:id"), str(self.changes))
        wrapper.set(qn("w:author"), _UNWRITABLE.sub("", str(span.marks[kind].get("by") or "Clew")))
        if kind == "deletion":
            for text in run._r.findall(qn("w:t")):
                text.tag = qn("w:delText")
        _wrap(run, wrapper)

    def code(self, paragraph: Any, node: Node) -> None:
        text = "".join(child.text for child in node.children if isinstance(child, Span))
        run = paragraph.add_run(_UNWRITABLE.sub("", text))
        run.font.name = _MONOSPACE
        run.font.size = Pt(9)

    def table(self, place: Any, node: Node) -> None:
        rows = [row for row in node.children if isinstance(row, Node)]
        cells, columns = _layout(rows)
        if not cells:
            return
        # A cell's add_table knows no style argument, a document's does; both take it afterwards.
        table = place.add_table(len(rows), columns)
        table.style = self.document.styles["Table Grid"]
        places = table._cells  # once, for each look at a cell makes them all
        for cell, row, column, high, wide in cells:
            target = places[row * columns + column]
            if high > 1 or wide > 1:
                target = target.merge(places[(row + high - 1) * columns + column + wide - 1])
            self.cell(target, cell)

    def cell(self, target: Any, cell: Node) -> None:
        blank = target.paragraphs[0]
        self.blocks(target, cell.children)
        if len(target.paragraphs) > 1 and not blank.text:
            blank._p.getparent().remove(blank._p)
        if cell.name == "tableHeader":
            for paragraph in target.paragraphs:
                for run in paragraph.runs:
                    run.font.bold = True
        if target._tc[-1].tag != qn("w:p"):
            target.add_paragraph()  # Word calls a cell that ends in a table corrupt


def _layout(rows: Sequence[Node]) -> tuple[list[tuple[Node, int, int, int, int]], int]:
    """Each cell with its row, column, height and width, and how many columns there are."""
    taken: set[tuple[int, int]] = set()
    out: list[tuple[Node, int, int, int, int]] = []
    columns = 0
    for number, row in enumerate(rows):
        column = 0
        for cell in (child for child in row.children if isinstance(child, Node)):
            while (number, column) in taken:
                column += 1
            high = min(_count(cell.attributes.get("rowspan")), len(rows) - number)
            wide = _count(cell.attributes.get("colspan"))
            while wide > 1 and any((number, column + offset) in taken for offset in range(wide)):
                wide -= 1
            if column + wide > _MAX_COLUMNS:
                break
            taken.update((number + down, column + right) for down in range(high) for right in range(wide))
            out.append((cell, number, column, high, wide))
            column += wide
            columns = max(columns, column)
    return out, columns


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 1 <= value <= _MAX_COLUMNS else 1


def _level(node: Node) -> int:
    level = node.attributes.get("level")
    return level if isinstance(level, int) and 1 <= level <= 6 else 1


def _dress(run: Any, span: Span) -> None:
    for mark in ("bold", "italic", "strike", "underline"):
        if mark in span.marks:
            setattr(run.font, mark, True)
    if "code" in span.marks:
        run.font.name = _MONOSPACE


def _wrap(run: Any, wrapper: Any) -> None:
    """Put an element between the run and what holds it."""
    run._r.addprevious(wrapper)
    wrapper.append(run._r)


def _set_numbering(paragraph: Any, number: int) -> None:
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val = 0
    properties.get_or_add_numId().val = number


def _rule(paragraph: Any) -> None:
    border = OxmlElement("w:pBdr")
    line = OxmlElement("w:bottom")
    for name, value in (("val", "single"), ("sz", "6"), ("space", "1"), ("color", "auto")):
        line.set(qn(f"w:{name}"), value)
    border.append(line)
    paragraph._p.get_or_add_pPr().append(border)

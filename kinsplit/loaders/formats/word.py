"""Word documents (`.docx`, `.docm` and templates), as Word shows them without marked changes.

The text has its headings and lists with the numbers that Word shows, tables, code, equations and the texts of charts
and diagrams. Text boxes, footnotes and comments follow the block in which they are anchored, endnotes the text. Page
headers go before the text and footers after it, each once and without page numbers. Deleted and hidden text is left
out. A single cell is no table.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kinsplit.loaders.archive import Archive, BombError, Relation, chosen, linear, local_name
from kinsplit.loaders.content import PICTURE, Content, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import decode, legible
from kinsplit.loaders.html.page import PageReader
from kinsplit.loaders.markup.headings import filing_headings, layered, titled, without_running
from kinsplit.loaders.markup.writer import MarkdownWriter
from kinsplit.loaders.office.drawings import DAMAGED, read_drawing, write_chart, write_diagram
from kinsplit.loaders.office.lists import BULLET, OpenLists
from kinsplit.loaders.office.references import PAGE, Notes, WordFields
from kinsplit.loaders.office.styles import Numbering, RunLook, Style, Styles, W, is_on, number, value
from kinsplit.loaders.office.symbols import FONTS, in_font, sign
from kinsplit.text.blocks import markdown_headings

_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
# A page number in a page header or footer, with the words for it.
_PAGE_NUMBER = re.compile(
    r"(?:\b(?:pages?|pg?|no|nr|seite|blatt|página|pagina|pág|pag|sida|side|strona|str|sayfa|halaman|trang|стр|страница)\b"
    rf"[\s.:#-]{{0,3}}|第\s?){{0,2}}{PAGE}(?:\s?[/|-]?\s?(?:(?:of|von|de|di|sur|av|af|z|из)\s)?{PAGE})?(?:\s?[页頁])?",
    re.IGNORECASE,
)
_BOTH_SIDES = "evenAndOddHeaders"
_EDGES = " |/-–—·•"
_ONLY_NUMBER = re.compile(r"\W*\d{0,4}\W*")
_EMOJI = "{http://schemas.microsoft.com/office/word/2015/wordml/symex}"
# Files that Word inserts where it opens the document.
_PAGES = frozenset({"htm", "html", "xhtml"})
_INSERTED = _PAGES | {"docx", "docm"}
# Says of a paragraph that it goes on in the next one: its mark was deleted, or it is a large initial.
_UNFINISHED = (
    *(f"{W}rPr/{W}{name}" for name in ("del", "moveFrom")),
    *(f"{W}framePr[@{W}dropCap='{place}']" for place in ("drop", "margin")),
)
_WRAPPERS = frozenset(W + name for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo"))


def read(data: bytes) -> Reading:
    """Return the text of a Word document, with its title."""
    archive = Archive(data, "Word document")
    try:
        return _Document(archive).reading()
    except RecursionError:
        raise UnreadableError("nests its content too deeply. Open it and save it again.") from None


class _Document:
    """Walks through the parts of a document in the order of its text and tells a writer what is there.

    Every element that is not known only wraps its content.
    """

    def __init__(self, archive: Archive, writer: MarkdownWriter | None = None) -> None:
        self._archive = archive
        self._is_inserted = writer is not None
        self._writer = writer or MarkdownWriter()
        targets = (one.target for one in archive.relations().values() if one.kind == "officeDocument")
        self._main = next(targets, "word/document.xml")
        self._known: dict[str, dict[str, Relation]] = {}  # relations by part
        self._relations = self._relations_of(self._main)
        self._body = archive.xml(self._main)
        if self._body.find(f"{W}body") is None:
            raise UnreadableError("is not a valid Word document: it has no body. Open it and save it again.")
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"))
        self._settings = self._part("settings")
        self._lines: dict[str, list[str]] = {}  # of page headers and footers by part
        self._notes = Notes(self._part)
        self._waiting: deque[Callable[[], None]] = deque()  # writes notes of the last block
        self._endnotes: list[Callable[[], None]] = []
        self._look = RunLook()
        self._fields = WordFields(self._body, self._writer.left_out, in_margin=False)
        self._lists = OpenLists(self._writer)
        self._in_code = self._in_margin = self._in_note = self._ends_in_equation = False
        self._begun: list[Any] = []  # paragraphs that go on in the next one
        self._tables = 0  # open ones
        self._prefix = ""  # of the next paragraph
        self._after: list[Callable[[], None]] = []  # writes what is anchored in the open paragraph

    def reading(self) -> Reading:
        """Return the text and what was left out."""
        self._margins("header")
        self.write()
        self._margins("footer")
        text = legible(self._writer.finish())
        for name in self._archive.names:
            if name.rpartition("/")[2] == "vbaProject.bin":
                self._writer.left_out.add("set of macros", "sets of macros")
        title = self._archive.title
        tagged, bold = without_running(markdown_headings(text), 0.5), without_running(self._writer.bold_lines)
        headings = titled(layered(filing_headings(text), tagged, bold), title)
        content = Content(text, title or self._writer.first_heading, headings=headings)
        return Reading((content,), self._writer.left_out.warnings)

    def write(self) -> None:
        """Write all text but page headers and footers."""
        self._walk(self._body)
        self._settle()
        self._write_notes()
        self._waiting.extend(self._endnotes)
        self._write_notes()

    def _target(self, kind: str) -> str:
        """Return the name of the part that the text has of a kind; empty without one."""
        targets = (one.target for one in self._relations_of(self._main).values() if one.kind == kind)
        return next((target for target in targets if target in self._archive), "")

    def _part(self, kind: str) -> Any:
        """Return the root of the part that the text has of a kind, or None."""
        name = self._target(kind)
        return self._archive.xml(name) if name else None

    def _relations_of(self, name: str) -> dict[str, Relation]:
        if name not in self._known:
            self._known[name] = self._archive.relations(name)
        return self._known[name]

    def _in_part(self, name: str, root: Any, prefix: str = "") -> None:
        """Write the content of another part, or a note in it, as blocks of their own."""
        around = self._relations, self._fields, self._look
        self._relations = self._relations_of(name)
        self._fields = WordFields(root, self._writer.left_out, in_margin=self._in_margin)
        self._look, self._prefix = RunLook(), prefix
        self._walk(root)
        self._settle()
        self._prefix = ""
        self._relations, self._fields, self._look = around

    def _walk(self, parent: Any) -> None:
        for element in parent:
            if element.tag in _HANDLERS:
                _HANDLERS[element.tag](self, element)
            else:
                self._walk(element)

    # Blocks

    def _paragraph(self, element: Any) -> None:
        properties = element.find(f"{W}pPr")
        self._begun.append(element)
        if properties is None or all(properties.find(way) is None for way in _UNFINISHED):
            self._end_paragraph(properties)

    def _end_paragraph(self, properties: Any) -> None:
        """Write a paragraph, with those before it that go on in it."""
        parts, self._begun = self._begun, []
        style = self._styles.paragraph(properties)
        is_hidden = properties is not None and is_on(properties.find(f"{W}rPr"), "vanish")
        self._begin(style, *((0, "") if is_hidden else self._numbering.label(style)))
        if self._prefix:
            self._writer.text(self._prefix)
            self._prefix = ""
        look, after, self._after = self._look, self._after, []
        for part in parts:
            self._look = style.look if part is parts[-1] else self._styles.paragraph(part.find(f"{W}pPr")).look
            self._walk(part)
        if not self._in_code:
            self._writer.end_heading()
        self._look, after, self._after = look, self._after, after
        for write in after:
            write()
        self._write_notes()

    def _settle(self) -> None:
        """End what is open where a part, a cell or a text box ends."""
        if self._begun:
            self._end_paragraph(self._begun[-1].find(f"{W}pPr"))
        self._lists.end()
        self._end_code()

    def _begin(self, style: Style, level: int, label: str) -> None:
        """Begin a heading, an item, code or another paragraph."""
        is_heading = style.outline > 0 and not self._in_margin
        is_code = style.is_code and not is_heading
        if not is_code:
            self._end_code()
        if is_heading or is_code or not label:
            self._lists.end()
            self._write_notes()
        if is_heading:
            self._writer.start_heading(min(style.outline, 6), "" if label == BULLET else label)
        elif is_code and self._in_code:
            self._writer.text("\n")
        elif is_code:
            self._writer.start_pre("")
            self._in_code = True
        elif label:
            self._lists.item(level, label)

    def _end_code(self) -> None:
        if self._in_code:
            self._writer.end_pre()
        self._in_code = False

    def _table(self, element: Any) -> None:
        rows = [row for row in _within(element, "tr") if not self._is_left_out(row)]
        cells = [list(_within(row, "tc")) for row in rows]
        self._settle()
        self._write_notes()
        if self._in_margin or sum(map(len, cells)) == 1:
            for cell in (cell for row in cells for cell in row):
                self._walk(cell)
            return
        self._tables += 1
        self._writer.start_table()
        merged: dict[int, int] = {}  # columns of cells that reach into the next row, with their widths
        for row, own in zip(rows, cells, strict=True):
            merged = self._row(row, own, merged)
        self._writer.end_table()
        self._tables -= 1
        self._write_notes()

    def _row(self, row: Any, cells: list[Any], merged: dict[int, int]) -> dict[int, int]:
        """Write a row; return where its cells may go on in the next one."""
        self._writer.start_row()
        column = number(row.find(f"{W}trPr"), "gridBefore")
        if column:
            self._writer.start_cell(column, 1)
        reaching: dict[int, int] = {}
        for cell in cells:
            properties = cell.find(f"{W}tcPr")
            width = max(number(properties, "gridSpan", 1), 1)
            down, right = value(properties, "vMerge"), value(properties, "hMerge")
            self._writer.start_cell(width, 1)
            is_covered = right == "continue" or (down == "continue" and merged.get(column) == width)
            if not (is_covered or (properties is not None and properties.find(f"{W}cellDel") is not None)):
                self._walk(cell)
            if down:
                reaching[column] = width
            self._settle()
            self._writer.end_cell()
            column += width
        return reaching

    def _is_left_out(self, row: Any) -> bool:
        properties = row.find(f"{W}trPr")
        if is_on(properties, "hidden"):
            self._writer.left_out.add("hidden row")
            return True
        return properties is not None and properties.find(f"{W}del") is not None

    # Text

    def _run(self, element: Any) -> None:
        around = self._look
        properties = element.find(f"{W}rPr")
        if properties is not None:
            self._look = self._styles.look(properties, around)
        self._walk(element)
        self._look = around

    def _say(self, text: str) -> None:
        """Add text to the open paragraph, unless the field or the look around it hides it."""
        look = self._look
        self._ends_in_equation = False
        if not text or self._fields.is_muted:
            return
        if look.hidden:
            self._writer.left_out.add("character of hidden text", "characters of hidden text", len(text))
            return
        if look.script == "superscript":
            self._writer.superscript(text)
        elif look.script:
            self._writer.subscript(text)
        else:
            self._writer.text(text, bold=look.bold)

    def _is_unseen(self) -> bool:
        return self._look.hidden or self._fields.is_muted

    def _text(self, element: Any) -> None:
        text = element.text or ""
        self._say(in_font(text, self._look.font) if self._look.font.lower() in FONTS else text)

    def _symbol(self, element: Any) -> None:
        font, code = (element.get(element.tag.partition("}")[0] + "}" + name, "") for name in ("font", "char"))
        place = int(code, 16) if re.fullmatch(r"[0-9A-Fa-f]{1,6}", code) else 0
        self._say(sign(place, font, self._writer.left_out))

    def _line(self, element: Any) -> None:
        del element
        if not self._is_unseen():
            self._writer.line_break()

    def _ruby(self, element: Any) -> None:
        """Write the base text and its reading in brackets behind it."""
        for base in element.findall(f"{W}rubyBase"):
            self._walk(base)
        reading = "".join(text.text or "" for top in element.findall(f"{W}rt") for text in top.iter(f"{W}t"))
        self._say(f"({reading})" if reading else "")

    def _equation(self, element: Any) -> None:
        if self._ends_in_equation:
            self._say(" ")
        self._say(linear(element))
        self._ends_in_equation = True

    def _equations(self, element: Any) -> None:
        """Write equations that stand on lines of their own."""
        for equation in element.iter(f"{_MATH}oMath"):
            self._line(equation)
            self._say(linear(equation))
        self._line(element)

    # Fields and notes

    def _field_mark(self, element: Any) -> None:
        self._say(self._fields.mark(element))

    def _field_code(self, element: Any) -> None:
        self._fields.add_code(element)

    def _simple_field(self, element: Any) -> None:
        if self._fields.is_page(element.get(f"{W}instr", "")):
            self._say(PAGE)
        else:
            self._walk(element)

    def _reference(self, element: Any) -> None:
        """Write the mark of a note, whose text follows later."""
        if self._is_unseen():
            return
        label, note, prefix = self._notes.refer(element)
        if label:
            self._writer.mark(label)
        if note is not None:
            kind = local_name(note)
            later = self._endnotes if kind == "endnote" else self._waiting
            later.append(partial(self._in_part, self._target(f"{kind}s"), note, prefix))

    def _write_notes(self) -> None:
        """Write the notes of the last blocks, unless a table, a list, code or another note is open."""
        while self._waiting and not (self._tables or self._lists or self._in_code or self._in_margin or self._in_note):
            self._in_note = True
            self._waiting.popleft()()
            self._in_note = False

    # Drawings

    def _drawing(self, element: Any) -> None:
        """Write a drawing's alternative text, or after the paragraph the text in it."""
        if self._is_unseen():
            return
        found = read_drawing(element)
        for box in found.boxes:
            self._after.append(partial(self._box, box))
        for link in found.charts:
            self._after.append(partial(self._from_part, link, partial(write_chart, self._writer)))
        for link in found.diagrams:
            self._after.append(partial(self._from_part, link, partial(write_diagram, self._writer)))
        if found.objects:
            self._writer.left_out.add("embedded object", count=found.objects)
        for words in found.words:
            self._say(f" {words} ")
        if not (found.boxes or found.charts or found.diagrams or any(found.words)):
            self._say(f" {'; '.join(found.descriptions)} ")
            if found.pictures and not (found.descriptions or found.objects or found.is_decorative):
                self._writer.left_out.add(*PICTURE, found.pictures)

    def _box(self, box: Any) -> None:
        self._walk(box)
        self._settle()

    def _from_part(self, link: str, write: Callable[[bytes], object]) -> None:
        """Write what another part shows, given the id of the relation to it or its name."""
        relation = self._relations.get(link)
        try:
            write(self._archive.read(relation.target if relation else link))
        except BombError:
            raise
        except UnreadableError:
            self._writer.left_out.add(*DAMAGED)

    def _inserted(self, element: Any) -> None:
        """Write a file that Word shows here; count it if it has another format or lies outside."""
        relation = self._relations.get(element.get(f"{_RELATIONSHIPS}id", ""))
        name = relation.target if relation else ""
        suffix = name.lower().rpartition(".")[2]
        if name in self._archive and suffix in _INSERTED and not self._is_inserted:
            self._settle()
            self._from_part(name, self._page if suffix in _PAGES else self._document)
        else:
            self._writer.left_out.add("inserted file")

    def _page(self, data: bytes) -> None:
        PageReader(self._writer).read(decode(data).text)

    def _document(self, data: bytes) -> None:
        _Document(Archive(data, "Word document"), self._writer).write()

    # Page headers and footers

    def _margins(self, kind: str) -> None:
        """Write the lines of the page headers or footers, each once."""
        lines: dict[str, None] = {}
        parts: dict[str, str] = {}  # by the pages that they are for; a section inherits those of the one before it
        for section in self._body.iter(f"{W}sectPr"):
            for reference in section.findall(f"{W}{kind}Reference"):
                relation = self._relations.get(reference.get(f"{_RELATIONSHIPS}id", ""))
                parts[reference.get(f"{W}type", "default")] = relation.target if relation else ""
            shown = {"default": True, "first": is_on(section, "titlePg"), "even": is_on(self._settings, _BOTH_SIDES)}
            for pages, name in parts.items():
                if shown.get(pages, True) and name in self._archive:
                    lines |= dict.fromkeys(self._margin(name))
        for line in lines:
            self._writer.text(line)
            self._writer.block()

    def _margin(self, name: str) -> list[str]:
        """Return the lines of a page header or footer without page numbers."""
        if name not in self._lines:
            around, self._writer, self._in_margin = (self._writer, self._lists), MarkdownWriter(), True
            self._lists = OpenLists(self._writer)
            self._in_part(name, self._archive.xml(name))
            text, self._in_margin = self._writer.finish(), False
            around[0].left_out.update(self._writer.left_out)
            self._writer, self._lists = around
            lines = (_PAGE_NUMBER.sub("", line).strip(_EDGES) for line in text.split("\n"))
            self._lines[name] = [" ".join(line.split()) for line in lines if not _ONLY_NUMBER.fullmatch(line)]
        return self._lines[name]


def _within(parent: Any, name: str) -> Iterator[Any]:
    """Yield the rows of a table or the cells of a row, also those in controls."""
    for child in parent:
        if child.tag == W + name:
            yield child
        elif child.tag in _WRAPPERS:
            yield from _within(child, name)


def _skip(document: _Document, element: Any) -> None:
    del document, element


_SKIPPED = (
    *("pPr", "rPr", "sectPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sdtEndPr", "rubyPr", "del", "moveFrom"),
    *("delText", "delInstrText", "tblPrEx", "customXmlPr", "smartTagPr"),
)
# What the document does with an element; it walks through any other.
_HANDLERS: dict[str, Callable[[_Document, Any], None]] = {
    **dict.fromkeys((W + name for name in _SKIPPED), _skip),
    f"{W}p": _Document._paragraph,
    f"{W}tbl": _Document._table,
    f"{W}r": _Document._run,
    f"{W}t": _Document._text,
    f"{W}sym": _Document._symbol,
    f"{_EMOJI}symEx": _Document._symbol,
    f"{W}noBreakHyphen": lambda document, _: document._say("\u2011"),
    f"{W}tab": lambda document, _: document._say("\t"),
    f"{W}ptab": lambda document, _: document._say("\t"),
    f"{W}br": _Document._line,
    f"{W}cr": _Document._line,
    f"{W}ruby": _Document._ruby,
    f"{_MATH}oMath": _Document._equation,
    f"{_MATH}oMathPara": _Document._equations,
    f"{_MC}AlternateContent": lambda document, element: document._walk(chosen(element)),
    f"{W}fldChar": _Document._field_mark,
    f"{W}instrText": _Document._field_code,
    f"{W}fldSimple": _Document._simple_field,
    f"{W}pgNum": lambda document, _: document._say(PAGE if document._in_margin else ""),
    f"{W}footnoteReference": _Document._reference,
    f"{W}endnoteReference": _Document._reference,
    f"{W}commentReference": _Document._reference,
    f"{W}drawing": _Document._drawing,
    f"{W}pict": _Document._drawing,
    f"{W}object": _Document._drawing,
    f"{W}altChunk": _Document._inserted,
    f"{W}subDoc": _Document._inserted,
}

FORMAT = Format(
    "word", (".docx", ".docm", ".dotx", ".dotm"), "headings, lists and tables as Markdown, with notes", read
)

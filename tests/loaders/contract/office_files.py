"""Builders of Word documents, presentations, spreadsheets and PDFs, by the libraries that write them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape

import xlsxwriter
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import qn
from PIL import Image
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.loaders.contract import blocks as b
from tests.loaders.office import document, office_xml, paragraph, run, saved, zipped


def _picture() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (64, 64), "grey").save(target, "PNG")
    return target.getvalue()


#: A grey picture.
GREY = _picture()

# Word


def _xml(word: Any, xml: str) -> None:
    """Add blocks to a document, before the properties of its section."""
    body = word.element.body
    for child in list(parse_xml(office_xml("w:body", xml))):
        body.insert(len(body) - 1, child)


def _word(write: Callable[[Any], str]) -> Callable[[Any, Any], None]:
    return lambda word, block: _xml(word, write(block))


def _word_table(table: b.Table) -> str:
    rows = []
    for row, places in enumerate(table.begins):
        cells = []
        for column, begin in enumerate(places):
            if column and places[column - 1] == begin:
                continue
            tall = sum(begin in line for line in table.begins) > 1
            merge = ("<w:vMerge/>" if begin[0] < row else '<w:vMerge w:val="restart"/>') if tall else ""
            span = f'<w:gridSpan w:val="{places.count(begin)}"/>'
            cells.append(f"<w:tc><w:tcPr>{span}{merge}</w:tcPr>{paragraph(escape(table.rows[row][column]))}</w:tc>")
        rows.append(f"<w:tr>{''.join(cells)}</w:tr>")
    return f"<w:tbl><w:tblPr/>{_grid(len(table.rows[0]))}{''.join(rows)}</w:tbl>{paragraph('')}"


def _grid(columns: int) -> str:
    return f"<w:tblGrid>{'<w:gridCol/>' * columns}</w:tblGrid>"


def _word_nested(block: b.Nested) -> str:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc><w:tcPr/>{cell}</w:tc>' for cell in cells)}</w:tr>"

    header = row(*map(paragraph, ("name", "parts", "use")))
    outer = row(paragraph(block.before), _word_table(b.Table(block.inner)), paragraph(block.after))
    return f"<w:tbl><w:tblPr/>{_grid(3)}{header}{outer}</w:tbl>{paragraph('')}"


def _word_items(word: Any, block: b.Items) -> None:
    numbering = word.part.numbering_part.element
    count = len(numbering.findall(qn("w:num"))) + 1
    abstract = (
        f'<w:abstractNum w:abstractNumId="{90 + count}"><w:lvl w:ilvl="0"><w:start w:val="{block.start}"/>'
        '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
    )
    number = f'<w:num w:numId="{90 + count}"><w:abstractNumId w:val="{90 + count}"/></w:num>'
    definition, instance = parse_xml(office_xml("w:numbering", abstract + number))
    numbering.insert(0, definition)
    numbering.append(instance)
    place = f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{90 + count}"/></w:numPr>'
    _xml(word, "".join(paragraph(escape(item), properties=place) for item in block.items))


def _word_note(word: Any, block: b.Note) -> None:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    note = f'<w:footnote w:id="2">{paragraph(block.note)}</w:footnote>'
    data = office_xml("w:footnotes", note).encode()
    word.part.relate_to(Part(PackURI("/word/footnotes.xml"), kind, data, word.part.package), RT.FOOTNOTES)
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
    _xml(word, paragraph(run(block.before), raised, run(block.after)))


def _word_picture(word: Any, block: b.Picture) -> None:
    shape = word.add_picture(io.BytesIO(GREY))
    properties = shape._inline.docPr
    properties.set("descr", block.text)


def _word_comment(word: Any, block: b.Comment) -> None:
    shown = word.add_paragraph().add_run("Heron")
    word.add_comment(shown, block.text, author="Ann")


def _word_code(word: Any, block: b.Code) -> None:
    if "Code" not in [style.name for style in word.styles]:
        word.styles.add_style("Code", 1)
    for line in block.text.split("\n"):
        word.add_paragraph(line, style="Code")


def _word_box(block: b.Box) -> str:
    checked = f'<w14:checkbox><w14:checked w14:val="{int(block.checked)}"/></w14:checkbox>'
    shown = run("☒" if block.checked else "☐")
    control = f"<w:sdt><w:sdtPr>{checked}</w:sdtPr><w:sdtContent>{shown}</w:sdtContent></w:sdt>"
    return paragraph(control, run(f" {block.text}"))


_RAISED = '<w:vertAlign w:val="superscript"/>'
_FRAME = (
    '<w:r><w:pict><v:shape type="#_x0000_t202"><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></v:shape>'
    "</w:pict></w:r>"
)
_WORD: dict[type, Callable[[Any, Any], object]] = {
    b.Words: lambda word, block: word.add_paragraph(block.text),
    b.Scripts: lambda word, block: word.add_paragraph(block.text),
    b.Heading: lambda word, block: word.add_heading(block.text, block.level),
    b.Power: _word(lambda block: paragraph(run(block.before), run(block.raised, _RAISED), run(block.after))),
    b.Note: _word_note,
    b.Items: _word_items,
    b.Code: _word_code,
    b.Table: _word(_word_table),
    b.Nested: _word(_word_nested),
    b.Box: _word(_word_box),
    b.Ruby: _word(
        lambda block: paragraph(
            run(block.before),
            f"<w:r><w:ruby><w:rt>{run(block.reading)}</w:rt><w:rubyBase>{run(block.base)}</w:rubyBase></w:ruby></w:r>",
            run(block.after),
        )
    ),
    **dict.fromkeys((b.Picture, b.Photo), _word_picture),
    b.Hidden: _word(lambda block: paragraph(run(block.text, "<w:vanish/>"))),
    b.Comment: _word_comment,
    b.Header: lambda word, block: word.sections[0].header.add_paragraph(block.text),
    b.Footer: lambda word, block: word.sections[0].footer.add_paragraph(block.text),
    b.TextBox: _word(lambda block: paragraph(run("Heron"), _FRAME.format(paragraph(block.text)))),
}
WORD = b.Builder(".docx", document, _WORD, saved)

# Presentations


class _Slides:
    def __init__(self) -> None:
        self.made = Presentation()
        self.turn()

    def turn(self, layout: int = 6) -> None:
        """Begin a slide, by default one without a title."""
        self._layout, self._slide, self._down = layout, None, 0.2

    @property
    def slide(self) -> Any:
        """The slide, which is made with its first shape."""
        if self._slide is None:
            self._slide = self.made.slides.add_slide(self.made.slide_layouts[self._layout])
        return self._slide

    def box(self) -> Any:
        return self.slide.shapes.add_textbox(*self.place()).text_frame

    def place(self) -> tuple[Any, ...]:
        self._down += 0.8
        return Inches(1), Inches(self._down), Inches(7), Inches(0.6)


def _slide_text(slides: _Slides, block: Any) -> None:
    slides.box().text = block.text


def _slide_title(slides: _Slides, block: b.Heading) -> None:
    slides.turn(layout=5)
    slides.slide.shapes.title.text = block.text
    slides.place()


def _slide_power(slides: _Slides, block: b.Power) -> None:
    line = slides.box().paragraphs[0]
    for text in block:
        line.add_run().text = text
    line.runs[1]._r.get_or_add_rPr().set("baseline", "30000")


def _slide_items(slides: _Slides, block: b.Items) -> None:
    frame = slides.box()
    for number, item in enumerate(block.items):
        line = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        line.text = item
        line._p.get_or_add_pPr().append(
            parse_xml(
                '<a:buAutoNum xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" type="arabicPeriod"'
                f' startAt="{block.start}"/>'
            )
        )


def _slide_table(slides: _Slides, table: b.Table) -> None:
    size = len(table.rows), len(table.rows[0])
    made = slides.slide.shapes.add_table(*size, *slides.place()).table
    for row in range(size[0]):
        for column, columns, rows, text in table.cells(row):
            cell = made.cell(row, column)
            if columns * rows > 1:
                cell.merge(made.cell(row + rows - 1, column + columns - 1))
            cell.text = text


def _slide_picture(slides: _Slides, block: b.Picture) -> None:
    shape = slides.slide.shapes.add_picture(io.BytesIO(GREY), *slides.place())
    shape._element._nvXxPr.cNvPr.set("descr", block.text)


def _slide_notes(slides: _Slides, block: b.SpeakerNotes) -> None:
    slides.slide.notes_slide.notes_text_frame.text = block.text


def _hidden_slide(slides: _Slides, block: b.Hidden) -> None:
    slides.turn()
    slides.slide._element.set("show", "0")
    _slide_text(slides, block)


SLIDES = b.Builder(
    ".pptx",
    _Slides,
    {
        **dict.fromkeys((b.Words, b.Scripts, b.TextBox), _slide_text),
        b.Heading: _slide_title,
        b.Power: _slide_power,
        b.Items: _slide_items,
        b.Table: _slide_table,
        **dict.fromkeys((b.Picture, b.Photo), _slide_picture),
        b.SpeakerNotes: _slide_notes,
        b.Hidden: _hidden_slide,
        b.Page: lambda slides, block: slides.turn(),
    },
    lambda slides: saved(slides.made),
)

# Spreadsheets


class _Book:
    def __init__(self) -> None:
        self.target = io.BytesIO()
        self.made = xlsxwriter.Workbook(self.target)
        self.sheet = self.made.add_worksheet("Data")
        self.row = 0

    def turn(self, row: int) -> int:
        """Return the row where a block begins, and leave an empty one behind it."""
        begin, self.row = self.row, self.row + row + 1
        return begin

    def finish(self) -> bytes:
        self.made.close()
        return self.target.getvalue()


def _sheet_words(book: _Book, block: Any) -> None:
    book.sheet.write_string(book.turn(1), 0, block.text)


def _sheet_table(book: _Book, table: b.Table) -> None:
    begin = book.turn(len(table.rows))
    for row in range(len(table.rows)):
        for column, columns, rows, text in table.cells(row):
            if columns * rows > 1:
                book.sheet.merge_range(begin + row, column, begin + row + rows - 1, column + columns - 1, text)
            else:
                book.sheet.write_string(begin + row, column, text)


def _sheet_power(book: _Book, block: b.Power) -> None:
    raised = book.made.add_format({"font_script": 1})
    book.sheet.write_rich_string(book.turn(1), 0, block.before, raised, block.raised, block.after)


def _sheet_number(book: _Book, block: b.Number) -> None:
    book.sheet.write_number(book.turn(1), 0, block.value, book.made.add_format({"num_format": block.format}))


def _sheet_hidden(book: _Book, block: b.Hidden) -> None:
    row = book.turn(1)
    book.sheet.write_string(row, 0, block.text)
    book.sheet.set_row(row, None, None, {"hidden": True})


def _sheet_picture(book: _Book, block: b.Picture) -> None:
    options = {"image_data": io.BytesIO(GREY), "description": block.text}
    book.sheet.insert_image(book.turn(1), 4, "dot.png", options)


def _sheet_comment(book: _Book, block: b.Comment) -> None:
    row = book.turn(1)
    book.sheet.write_string(row, 0, "Heron")
    book.sheet.write_comment(row, 0, block.text)


XLSX = b.Builder(
    ".xlsx",
    _Book,
    {
        **dict.fromkeys((b.Words, b.Scripts), _sheet_words),
        b.Table: _sheet_table,
        b.Power: _sheet_power,
        b.Number: _sheet_number,
        b.Hidden: _sheet_hidden,
        **dict.fromkeys((b.Picture, b.Photo), _sheet_picture),
        b.Comment: _sheet_comment,
        b.TextBox: lambda book, block: book.sheet.insert_textbox(book.turn(5), 2, block.text),
        b.Header: lambda book, block: book.sheet.set_header(f"&C{block.text}"),
        b.Footer: lambda book, block: book.sheet.set_footer(f"&C{block.text}"),
    },
    _Book.finish,
)

_NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {
        "office": "office",
        "table": "table",
        "text": "text",
        "style": "style",
        "draw": "drawing",
        "number": "datastyle",
        "svg": "svg-compatible",
        "manifest": "manifest",
    }.items()
)
_SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
_RAISE = (
    '<style:style style:name="up" style:family="text"><style:text-properties style:text-position="super 58%"/>'
    "</style:style>"
)


def _ods_cell(text: str, more: str = "") -> str:
    return f'<table:table-cell office:value-type="string"{more}><text:p>{text}</text:p></table:table-cell>'


def _ods_row(*cells: str, more: str = "") -> str:
    return f"<table:table-row{more}>{''.join(cells)}</table:table-row><table:table-row/>"


def _ods_table(table: b.Table) -> str:
    lines = []
    for row, places in enumerate(table.begins):
        sizes = {column: (columns, rows, text) for column, columns, rows, text in table.cells(row)}
        cells = []
        for column, _ in enumerate(places):
            if column not in sizes:
                cells.append("<table:covered-table-cell/>")
                continue
            columns, rows, text = sizes[column]
            span = f' table:number-columns-spanned="{columns}" table:number-rows-spanned="{rows}"'
            cells.append(_ods_cell(escape(text), span))
        lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
    return "".join(lines) + "<table:table-row/>"


def _ods(write: Callable[[Any], str]) -> Callable[[list[str], Any], None]:
    return lambda target, block: target.append(write(block))


_IMAGE = '<draw:image xlink:href="Pictures/grey.png" xmlns:xlink="http://www.w3.org/1999/xlink"/>'


def _ods_picture(block: b.Picture) -> str:
    picture = f"<draw:frame>{_IMAGE}{f'<svg:desc>{block.text}</svg:desc>' if block.text else ''}</draw:frame>"
    return _ods_row(f"<table:table-cell>{picture}</table:table-cell>")


def _ods_file(rows: list[str]) -> bytes:
    styles = f"<office:automatic-styles>{_RAISE}</office:automatic-styles>"
    sheet = f'<table:table table:name="Data">{"".join(rows)}</table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'
    listed = (
        entry.format("/", _SPREADSHEET)
        + entry.format("content.xml", "text/xml")
        + entry.format("Pictures/grey.png", "image/png")
    )
    return zipped(
        {
            "mimetype": _SPREADSHEET,
            "META-INF/manifest.xml": f"<manifest:manifest {_NAMES}>{listed}</manifest:manifest>",
            "Pictures/grey.png": GREY,
            "content.xml": f"<office:document-content {_NAMES}>{styles}{body}</office:document-content>",
        }
    )


ODS = b.Builder(
    ".ods",
    list,
    {
        **dict.fromkeys((b.Words, b.Scripts), _ods(lambda block: _ods_row(_ods_cell(escape(block.text))))),
        b.Table: _ods(_ods_table),
        b.Power: _ods(
            lambda block: _ods_row(
                _ods_cell(f'{block.before}<text:span text:style-name="up">{block.raised}</text:span>{block.after}')
            )
        ),
        b.Number: _ods(lambda block: _ods_row(_ods_cell(block.shown))),
        b.Hidden: _ods(lambda block: _ods_row(_ods_cell(block.text), more=' table:visibility="collapse"')),
        **dict.fromkeys((b.Picture, b.Photo), _ods(_ods_picture)),
        b.Comment: _ods(
            lambda block: _ods_row(
                f"<table:table-cell><office:annotation><text:p>{block.text}</text:p></office:annotation>"
                "<text:p>Heron</text:p></table:table-cell>"
            )
        ),
        b.TextBox: _ods(
            lambda block: _ods_row(
                "<table:table-cell><draw:frame><draw:text-box>"
                f"<text:p>{block.text}</text:p></draw:text-box></draw:frame></table:table-cell>"
            )
        ),
    },
    _ods_file,
)

# PDF

_SIZE, _LEADING = 10, 12


class _Pages:
    def __init__(self) -> None:
        self.target = io.BytesIO()
        self.canvas = Canvas(self.target, pagesize=(600, 800))
        self.height = 700.0
        self.margins: list[tuple[float, str]] = []

    def line(self, text: str, left: float = 60, size: float = _SIZE) -> None:
        self.canvas.setFont("Helvetica", size)
        self.canvas.drawString(left, self.height, text)

    def feed(self, lines: float = 1) -> None:
        self.height -= lines * _LEADING

    def turn(self) -> None:
        for height, text in self.margins:
            self.canvas.setFont("Helvetica", _SIZE)
            self.canvas.drawString(60, height, text)
        self.canvas.showPage()
        self.height = 700

    def finish(self) -> bytes:
        self.turn()
        self.canvas.save()
        return self.target.getvalue()


def _pdf_words(pages: _Pages, block: b.Words) -> None:
    for line in block.text.split("\n"):
        pages.line(line)
        pages.feed()
    pages.feed()


def _pdf_heading(pages: _Pages, block: b.Heading) -> None:
    size = 24 - 4 * block.level
    pages.feed(size / _SIZE)
    pages.canvas.bookmarkPage(block.text, fit="XYZ", left=0, top=pages.height + size, zoom=0)
    pages.canvas.addOutlineEntry(block.text, block.text, level=block.level - 1)
    pages.line(block.text, size=size)
    pages.feed(2.5)


def _pdf_power(pages: _Pages, block: b.Power) -> None:
    pages.line(block.before)
    left = 60 + pages.canvas.stringWidth(block.before, "Helvetica", _SIZE)
    pages.height += 4
    pages.line(block.raised, left, 6)
    left += pages.canvas.stringWidth(block.raised, "Helvetica", 6)
    pages.height -= 4
    pages.line(block.after, left)
    pages.feed(2)


def _pdf_table(pages: _Pages, table: b.DrawnTable) -> None:
    for row in table.rows:
        for column, text in enumerate(row):
            pages.line(text, 60 + 120 * column)
        pages.feed(1.5)
    pages.feed()


def _pdf_columns(pages: _Pages, block: b.Columns) -> None:
    top = pages.height
    for left, lines in ((60, block.left), (320, block.right)):
        pages.height = top
        for line in lines:
            pages.line(line, left)
            pages.feed()
    pages.feed()


def _pdf_box(pages: _Pages, block: b.Box) -> None:
    pages.canvas.acroForm.checkbox(name=block.text, checked=block.checked, x=60, y=pages.height - 4)
    pages.line(block.text, 90)
    pages.feed(3)


def _pdf_picture(pages: _Pages, block: b.Photo) -> None:
    pages.canvas.drawImage(ImageReader(io.BytesIO(GREY)), 60, pages.height - 90, 100, 100)
    pages.feed(9)


PDF = b.Builder(
    ".pdf",
    _Pages,
    {
        b.Words: _pdf_words,
        b.Heading: _pdf_heading,
        b.Power: _pdf_power,
        b.DrawnTable: _pdf_table,
        b.Columns: _pdf_columns,
        b.Box: _pdf_box,
        b.Photo: _pdf_picture,
        b.Header: lambda pages, block: pages.margins.append((770, block.text)),
        b.Footer: lambda pages, block: pages.margins.append((30, block.text)),
        b.Page: lambda pages, block: pages.turn(),
    },
    _Pages.finish,
)

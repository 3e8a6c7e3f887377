"""Rich text (`.rtf`): headings, lists with the numbers that are shown, tables, and notes at the end.

Headings are paragraphs with an outline level, or with a style that has one. Footnotes and comments become marks such as
`[1]`, and their texts follow the document. Headers, footers and text boxes stand where the file has them. Hidden and
deleted text, pictures without a description, embedded objects and formulas are left out and counted.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from kinsplit.loaders.content import PICTURE, Format, Reading, UnreadableError
from kinsplit.loaders.decoding import legible
from kinsplit.loaders.markup.headings import plain_headings
from kinsplit.loaders.markup.markdown import markdown_content
from kinsplit.loaders.markup.writer import MarkdownWriter

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,9})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL
)
_CODECS = {
    2: "symbol",
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    134: "gb18030",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
_CHARACTERS = {
    "emdash": "—",
    "endash": "–",
    "emspace": "\u2003",
    "enspace": "\u2002",
    "qmspace": "\u2005",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "tab": "\t",
    "nestcell": " ",
    "nestrow": "; ",
}
_SYMBOLS = {b"~": "\xa0", b"_": "\u2011", b"\\": "\\", b"{": "{", b"}": "}"}
_PARTS = frozenset({"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "shptxt"})
_COUNTED = {"objdata": "embedded object", "moMath": "formula"}
# Destinations whose text nobody sees; so are those that a program may skip (`\*`), except the few below.
_UNSEEN = frozenset(
    {
        *("colortbl", "fldinst", "nonshppict", "pn", "xe", "tc", "rxe", "bkmkstart", "bkmkend", "filetbl"),
        *("template", "generator", "listtable", "revtbl", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc"),
        *("aftncn", "atnid", "atnauthor", "atnref", "mmathPict", "shprslt", "do", *_COUNTED),
    }
)
_SEEN = frozenset({"shppict", "shpinst", "picprop", "annotation", "ud"})
# Parts of pictures and shapes, whose text is not the document's.
_DRAWN = {"pict": "picture", "sp": "property", "sn": "name", "sv": "value"}
_DEEPEST = 8  # list level
_LONGEST_SCRIPT = 64  # characters of a superscript whose parts are joined

_Kind = Literal["text", "superscript", "subscript", "mark", "break"]


class _Run(NamedTuple):
    kind: _Kind
    text: str = ""
    bold: bool = False


@dataclass(slots=True)
class _Style:
    """The state that a group inherits and that its end restores."""

    where: str = "body"  # the destination: "body", "part", "note", "unseen" and others
    font: int = -1
    fallback: int = 1  # characters behind one in Unicode that older programs show instead
    hidden: bool = False
    bold: bool = False
    script: _Kind = "text"
    style: int = 0
    outline: int = -1
    level: int = 0
    in_table: bool = False


@dataclass(slots=True)
class _RichText:
    """Reads tokens, and writes each paragraph when it ends."""

    writer: MarkdownWriter = field(default_factory=MarkdownWriter)
    title: str = ""
    style: _Style = field(default_factory=_Style)
    around: list[_Style] = field(default_factory=list)
    codec: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    outlines: dict[int, int] = field(default_factory=dict)  # levels of headings by style
    raw: bytearray = field(default_factory=bytearray)  # bytes that are not decoded yet
    left: int = 0  # fallback characters to skip
    starred: bool = False
    runs: list[_Run] = field(default_factory=list)
    waiting: list[list[_Run]] = field(default_factory=list)  # paragraphs around notes and parts
    label: str = ""
    lists: int = 0
    cell: list[list[_Run]] = field(default_factory=list)
    row: list[list[list[_Run]]] = field(default_factory=list)
    rows: list[list[list[list[_Run]]]] = field(default_factory=list)
    notes: list[list[_Run]] = field(default_factory=list)
    property: str = ""  # name of a shape's or picture's property
    pictures: int = 0  # those without a description
    is_bare: bool = False  # whether the shape or picture has a picture and no description so far

    def read(self, data: bytes) -> str:
        """Return the text of a file."""
        at = 0
        while at < len(data):
            token = _TOKEN.match(data, at)
            if token is None:
                break  # a backslash at the end
            at = token.end()
            word, number, hexed, symbol, brace, text = token.groups()
            if hexed or text:
                self._bytes(bytes.fromhex(hexed.decode()) if hexed else text)
                continue
            if word == b"bin":
                at += max(int(number or 0), 0)
                continue
            self._flush()
            if brace:
                self.left = 0
                self._open() if brace == b"{" else self._close()
            elif word:
                self._word(word.decode(), int(number) if number else None)
            elif symbol and self.left:
                self.left -= 1
            elif symbol == b"*":
                self.starred = True
            elif symbol in (b"\r", b"\n"):
                self._paragraph()
            elif symbol:
                self._text(_SYMBOLS.get(symbol, ""))
        self._flush()
        while self.around:
            self._close()
        self._paragraph()
        self._table()
        for number, runs in enumerate(self.notes, 1):
            self._write([_Run("mark", str(number)), _Run("text", " "), *runs])
        if self.pictures:
            self.writer.left_out.add(*PICTURE, self.pictures)
        return self.writer.finish()

    def _bytes(self, data: bytes) -> None:
        skipped = min(self.left, len(data))
        self.left -= skipped
        self.raw += data[skipped:]

    def _flush(self) -> None:
        if self.raw:
            codec = self.fonts.get(self.style.font, self.codec)
            is_symbol = codec == "symbol"
            text = "".join(chr(0xF000 + b) for b in self.raw) if is_symbol else self.raw.decode(codec, "replace")
            self.raw.clear()
            self._text(legible(text))

    def _text(self, text: str) -> None:
        style = self.style
        if style.where == "label":
            self.label += text
        elif style.where == "title":
            self.title += text
        elif style.where == "name":
            self.property += text
        elif style.where in ("body", "part", "note", "description") and text and not style.hidden:
            last = self.runs[-1] if self.runs else None
            if last and last.kind == style.script != "text" and len(last.text) < _LONGEST_SCRIPT:
                self.runs[-1] = last._replace(text=last.text + text)
            else:
                self.runs.append(_Run(style.script, text, style.bold))

    def _open(self) -> None:
        self.around.append(replace(self.style))
        self.starred = False

    def _close(self) -> None:
        if not self.around:
            return
        ended, self.style = self.style, self.around.pop()
        if ended.where == self.style.where:
            return
        if ended.where == "note":
            self.notes.append(self.runs)
            self.runs = self.waiting.pop()
        elif ended.where == "part":
            self._paragraph()
            self.runs = self.waiting.pop()

    def _word(self, word: str, number: int | None) -> None:
        starred, self.starred = self.starred, False
        if self.style.where == "unseen":
            return
        if self._is_destination(word, starred=starred):
            return
        style, on = self.style, number != 0
        match word:
            case "par" | "sect" | "page" | "column":
                if style.where == "note":
                    self.runs.append(_Run("break"))
                else:
                    self._paragraph()
            case "line":
                self.runs.append(_Run("break"))
            case "cell":
                self._end_cell()
            case "row":
                self.rows.append(self.row)
                self.row = []
            case "u" if number is not None:
                self.left = style.fallback
                self._unicode(number % 0x10000)
            case _ if word in _CHARACTERS:
                self._text(_CHARACTERS[word])
            case "ansicpg" | "f" | "fcharset" | "uc" | "s" | "outlinelevel" | "ilvl" if number is not None:
                self._number(word, number)
            case "v" | "deleted":
                if on and not style.hidden:
                    self.writer.left_out.add("hidden or deleted passage")
                style.hidden = on
            case "b":
                style.bold = on
            case "super" | "up":
                style.script = "superscript" if on else "text"
            case "sub" | "dn":
                style.script = "subscript" if on else "text"
            case "nosupersub":
                style.script = "text"
            case "plain":
                style.hidden, style.bold, style.script = False, False, "text"
            case "pard":
                style.style, style.outline, style.level, style.in_table = 0, -1, 0, False
            case "intbl":
                style.in_table = True

    def _number(self, word: str, number: int) -> None:
        style = self.style
        match word:
            case "ansicpg":
                self.codec = _codec(number)
            case "f" | "s":
                style.font, style.style = (number, style.style) if word == "f" else (style.font, number)
            case "fcharset" if style.where == "fonts" and number in _CODECS:
                self.fonts[style.font] = _CODECS[number]
            case "uc":
                style.fallback = min(max(number, 0), 8)
            case "outlinelevel" if style.where == "styles":
                self.outlines[style.style] = number
            case "outlinelevel":
                style.outline = number
            case "ilvl":
                style.level = min(max(number, 0), _DEEPEST)

    def _is_destination(self, word: str, *, starred: bool) -> bool:
        """Begin the destination of a group, if the word names one."""
        style = self.style
        if word in _COUNTED:
            self.writer.left_out.add(_COUNTED[word])
        if word == "title" and style.where == "info":
            style.where = "title"
        elif word in ("fonttbl", "stylesheet", "info"):
            style.where = {"fonttbl": "fonts", "stylesheet": "styles", "info": "info"}[word]
        elif word in ("listtext", "pntext"):
            style.where, self.label = "label", ""
        elif word in ("footnote", "annotation") and style.where in ("body", "part"):
            style.where = "note"
            self.runs.append(_Run("mark", str(len(self.notes) + 1)))
            self.waiting.append(self.runs)
            self.runs = []
        elif word in _PARTS and style.where == "body":
            style.where = "part"
            self.waiting.append(self.runs)
            self.runs = []
        elif word == "shp":
            self.is_bare = False
        elif word in _DRAWN:
            self._begin_drawn(_DRAWN[word])
        elif word in _UNSEEN or (starred and word not in _SEEN):
            style.where = "unseen"
        else:
            return False
        return True

    def _begin_drawn(self, what: str) -> None:
        """Begin a picture, or a property of a shape or picture, with its name or value."""
        if what == "name":
            self.property = ""
        elif what == "picture":
            self.pictures, self.is_bare = self.pictures + 1, True
        elif what == "value" and self.property == "wzDescription":
            self.pictures, self.is_bare = self.pictures - self.is_bare, False
            what = "description"
        self.style.where = what

    def _unicode(self, unit: int) -> None:
        last = self.runs[-1] if self.runs else None
        if 0xDC00 <= unit < 0xE000 and last and "\ud800" <= last.text[-1:] < "\udc00":  # the second half of one
            point = 0x10000 + (ord(last.text[-1]) - 0xD800) * 0x400 + unit - 0xDC00
            self.runs[-1] = last._replace(text=last.text[:-1] + chr(point))
        else:
            self._text(legible(chr(unit)))

    def _end_cell(self) -> None:
        self._paragraph_of_cell()
        self.row.append(self.cell)
        self.cell = []

    def _paragraph_of_cell(self) -> None:
        label = [_Run("text", f"{self.label} ")] if self.label else []
        self.cell.append([*label, *self.runs])
        self.runs, self.label = [], ""

    def _paragraph(self) -> None:
        if self.style.in_table and self.style.where == "body":
            self._paragraph_of_cell()
        elif any(run.text.strip() for run in self.runs):
            self._table()
            self._write(self.runs)
        self.runs, self.label = [], ""

    def _write(self, runs: list[_Run]) -> None:
        """Write a paragraph as a heading, an item or a plain one."""
        label, depth = " ".join(self.label.split()), self.style.level + 1 if self.label else 0
        outline = self.style.outline if self.style.outline >= 0 else self.outlines.get(self.style.style, -1)
        is_heading = 0 <= outline < 6 and self.style.where == "body" and not self.rows
        for _ in range(depth if not is_heading else 0, self.lists):
            self.writer.end_list()
        for _ in range(self.lists, depth if not is_heading else 0):
            self.writer.start_list(ordered=False)
        self.lists = 0 if is_heading else depth
        if is_heading:
            self.writer.start_heading(outline + 1, label)
        elif depth:
            self.writer.start_item(label=label if any(map(str.isalnum, label)) else None)
        self._inline(runs)
        if is_heading:
            self.writer.end_heading()
        else:
            self.writer.block()

    def _inline(self, runs: list[_Run]) -> None:
        for run in runs:
            match run.kind:
                case "text":
                    self.writer.text(run.text, bold=run.bold)
                case "break":
                    self.writer.line_break()
                case "mark":
                    self.writer.mark(run.text)
                case "superscript":
                    self.writer.superscript(run.text)
                case "subscript":
                    self.writer.subscript(run.text)

    def _table(self) -> None:
        """Write the rows so far; a merged cell is an empty one."""
        if self.cell or self.row:
            self.rows.append([*self.row, self.cell])
            self.row, self.cell = [], []
        if not self.rows:
            return
        for _ in range(self.lists):
            self.writer.end_list()
        self.lists = 0
        self.writer.start_table()
        for row in self.rows:
            self.writer.start_row()
            for paragraphs in row:
                self.writer.start_cell()
                for runs in paragraphs:
                    self._inline(runs)
                    self.writer.block()
        self.writer.end_table()
        self.rows = []


def _codec(number: int) -> str:
    """Return the codec of a code page."""
    name = {65001: "utf-8", 10000: "mac_roman", 936: "gb18030"}.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def read(data: bytes) -> Reading:
    """Return the text of an RTF file."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnreadableError("is not a valid RTF file: it doesn't begin as such files do. Save it again.")
    file = _RichText()
    text = file.read(data.lstrip())
    title = " ".join(file.title.split()) or None
    content = markdown_content(text, title or file.writer.first_heading, above=title)
    return Reading(
        (replace(content, headings=content.headings or plain_headings(text)),), file.writer.left_out.warnings
    )


FORMAT = Format("rtf", (".rtf",), "headings, lists, tables and notes as Markdown", read)

"""The parts of an Excel file (`.xlsx`, `.xlsm`) beside the values of its cells.

Libraries give values. How a cell shows its value, what is hidden and what stands beside the cells is read here, from
the package's XML. Sheets may hold millions of cells, so they are read in pieces, and only the cells whose text differs
from their value.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinsplit.loaders.archive import Archive, local_name
from kinsplit.loaders.content import PICTURE, Attachment, LeftOut
from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.loaders.office.drawings import described
from kinsplit.loaders.sheets.number_formats import BUILT_IN, NumberFormat, number_format

#: What cells may lack, in the singular and the plural.
FORMULA = ("formula without a value", "formulas without a value")
_PIECE = 2**22
_MOST_NAMED = 30  # styles that a pattern names
_LOOKED_AT = 2**16  # bytes of a piece that tell how a program writes cells
_MOST_BYTES = 2**28  # of the parts that are read as a whole
#: Days between the two first days that Excel counts from.
EPOCH_1904 = 1462

_NAME = rb"<(?:\w+:)?"
_HIDDEN_ROW = re.compile(_NAME + rb'row\b(?=[^<>]*\shidden=["\'](?:1|true))[^<>]*\sr=["\'](\d+)')
_COLUMN = re.compile(_NAME + rb"col\b([^<>]*)>")
# Cells begin with these attributes in this order as nearly every program writes them; those of others are put so.
_START = rb'c r="([A-Z]{1,3})(\d{1,7})"'
_ODD = re.compile(_NAME + rb'c(?=[\s/>])(?! r="[A-Z]{1,3}\d{1,7}"(?: s="\d+")?(?: t="\w+")?(?: [^<>]*)?/?>)')
_TAG = re.compile(_NAME + rb"(row|c)((?:\s[^<>]*)?/?)>")
_REFERENCE = re.compile(rb"([A-Z]{1,3})(\d{1,7})")
_ATTRIBUTE = re.compile(rb'\s([\w:]+)\s*=\s*["\']([^"\'<>]*)["\']')
_FORMULA = _NAME + rb"f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)\s*"
_VALUED = rb"(?: [^<>]*)?>\s*(?:" + _FORMULA + rb")?" + _NAME + rb"v\b[^<>]*>([^<]*)<"
_UNKNOWN = re.compile(
    _START + rb"((?: [^<>]*)?)>\s*" + _FORMULA + rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</"
)
_INLINE = re.compile(_START + rb'(?: [^<>]*)? t="inlineStr"[^<>]*>(.*?)</(?:\w+:)?is>', re.DOTALL)
_STRING = re.compile(_NAME + rb"si\b[^<>]*?(?:/>|>(.*?)</(?:\w+:)?si>)", re.DOTALL)
_PRINTED = re.compile(_NAME + rb"(?:odd|even|first)(?:Header|Footer)\b[^<>]*>([^<]+)<")
_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K\d\d[+-]\d{3}|\d{1,3}|[A-Z])')
_PART, _PAGE = re.compile("&[LCR]"), re.compile("&[PN]")
_SCRIPTS: dict[str, Script] = {"superscript": "superscript", "subscript": "subscript"}

Place = tuple[int, int]


@dataclass(slots=True)
class SheetParts:
    """The contents of a sheet other than the values of its cells; rows and columns count from 0.

    Attributes:
        shown: The text of the cells that don't show their value.
        hidden_rows: Rows that are not shown.
        hidden_columns: Columns that are not shown.
        comments: Comments and notes, with the reference of their cell.
        texts: Text boxes, and alternative texts of pictures.
        printed: Headers and footers.
        attachments: Files inside the sheet.
        left_out: What was not kept.
    """

    shown: dict[Place, str] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    comments: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)


class ExcelPackage:
    """The parts of an Excel file by sheet.

    Raises:
        UnreadableError: A part is damaged.
    """

    def __init__(self, data: bytes) -> None:
        self._archive = Archive(data, "spreadsheet", _MOST_BYTES)
        targets = (one.target for one in self._archive.relations().values() if one.kind == "officeDocument")
        workbook = next(targets, "xl/workbook.xml")
        self._is_1904 = False
        self._parts: dict[str, str] = {}
        self._formats: list[NumberFormat | None] = []
        self._scripted: dict[int, str] = {}
        related = self._archive.relations(workbook)
        kinds = {one.kind: one.target for one in related.values() if one.target in self._archive}
        self._open(workbook, {id_: one.target for id_, one in related.items()}, kinds)

    def _open(self, workbook: str, by_id: Mapping[str, str], by_kind: Mapping[str, str]) -> None:
        """Read what holds for all sheets."""
        for element in self._archive.xml(workbook).iter():
            match local_name(element):
                case "workbookPr":
                    self._is_1904 = element.get("date1904") in ("1", "true")
                case "sheet":
                    id_ = next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
                    self._parts[element.get("name", "")] = by_id.get(id_, "")
        if "styles" in by_kind:
            self._formats = self._styles(by_kind["styles"])
        if "sharedStrings" in by_kind:
            self._scripted = self._strings(by_kind["sharedStrings"])

    def sheet(self, name: str) -> SheetParts:
        """Return the parts of the sheet with a name."""
        found = SheetParts()
        part = self._parts.get(name, "")
        if part not in self._archive:
            return found
        self._read_cells(part, found)
        threads: dict[str, list[str]] = {}
        notes: list[tuple[str, str]] = []
        for kind, target in self._archive.relations(part).values():
            if target not in self._archive:
                continue
            match kind:
                case "threadedComment":
                    for comment in _named(self._archive.xml(target), "threadedComment"):
                        threads.setdefault(comment.get("ref", ""), []).append(_text(comment, "text"))
                case "comments":
                    notes += self._notes(target)
                case "drawing":
                    self._read_drawing(self._archive.xml(target), found)
                case "package":
                    found.attachments.append(Attachment(posixpath.basename(target), self._archive.read(target)))
                case "oleObject":
                    found.left_out.add("embedded object")
                case "ctrlProp":
                    found.left_out.add("form control")
        # The note of a thread only tells older versions of Excel that there is one.
        found.comments = [(ref, text) for ref, texts in threads.items() for text in texts]
        found.comments += [(ref, text) for ref, text in notes if ref not in threads]
        return found

    def _notes(self, part: str) -> Iterable[tuple[str, str]]:
        return [(note.get("ref", ""), _text(note, "t")) for note in _named(self._archive.xml(part), "comment")]

    def _read_cells(self, part: str, found: SheetParts) -> None:
        numbers = [b"%d" % number for number, each in enumerate(self._formats) if each]
        styled = b"|".join(numbers) or b"(?!)"
        if len(numbers) > _MOST_NAMED:
            styled = b"[0-9]+"
        kinds = b"[es]" if self._scripted else b"e"
        cell = re.compile(
            _START + b'(?: s="(%b)"(?: t="n"|(?![^<>]* t="))|(?: s="[0-9]+")? t="(%b)")' % (styled, kinds) + _VALUED
        )
        order = _Order()
        for piece in self._pieces(part):
            if _ODD.search(piece, 0, piece.rfind(b">", 0, _LOOKED_AT) + 1):
                piece = _TAG.sub(order, piece)
            self._keep(cell.findall(piece), found.shown)
            if b"vertAlign" in piece:
                cells = ((place(*reference), _scripted(content)) for *reference, content in _INLINE.findall(piece))
                found.shown.update((where, text) for where, text in cells if text)
            if b"<f" in piece or b":f" in piece:
                unknown = sum(b't="str"' not in attributes for *_, attributes in _UNKNOWN.findall(piece))
                found.left_out.add(*FORMULA, unknown)
            if b"hidden" in piece:
                found.hidden_rows.update(int(row) - 1 for row in _HIDDEN_ROW.findall(piece))
                found.hidden_columns.update(*map(_hidden, _COLUMN.findall(piece)))
            if b"Header" not in piece and b"Footer" not in piece:
                continue
            found.printed += dict.fromkeys(filter(None, map(_printed, _PRINTED.findall(piece))))

    def _keep(self, cells: list[tuple[bytes, bytes, bytes, bytes, bytes]], shown: dict[Place, str]) -> None:
        """Keep the texts of the cells that don't show their value."""
        offsets = [EPOCH_1904 * (self._is_1904 and each.is_date) if each else 0 for each in self._formats]
        formats = {b"%d" % at: (each.number, offsets[at]) for at, each in enumerate(self._formats) if each}
        for letters, row, style, kind, content in cells:
            if style in formats:
                try:
                    number = float(content)
                except ValueError:
                    continue
                write, offset = formats[style]
                shown[int(row) - 1, _COLUMNS[letters]] = write(number + offset)
            elif kind == b"e":
                shown[place(letters, row)] = _decoded(content)
            elif kind == b"s" and content.isdigit() and (text := self._scripted.get(int(content))):
                shown[place(letters, row)] = text

    def _styles(self, part: str) -> list[NumberFormat | None]:
        """Return the number format of each style, or None where a cell shows its value."""
        root = self._archive.xml(part)
        codes = BUILT_IN | {
            int(each.get("numFmtId")): each.get("formatCode", "")
            for each in _named(root, "numFmt")
            if each.get("numFmtId", "").isdigit()
        }
        styles = [style for block in _named(root, "cellXfs") for style in _named(block, "xf")]
        numbers = [style.get("numFmtId", "0") for style in styles]
        return [unless_general(codes.get(int(number) if number.isdigit() else 0, "General")) for number in numbers]

    def _strings(self, part: str) -> dict[int, str]:
        """Return the shared strings in which something stands above or below the line."""
        data = self._archive.read(part)
        if b"vertAlign" not in data:
            return {}
        texts = ((number, _scripted(content)) for number, content in enumerate(_STRING.findall(data)))
        return {number: text for number, text in texts if text}

    def _read_drawing(self, root: Any, found: SheetParts) -> None:
        for element in _shapes(root):
            kind = local_name(element)
            if kind == "sp":
                paragraphs = (_text(paragraph, "t") for paragraph in _named(element, "p"))
                found.texts += filter(None, [" ".join(" ".join(paragraphs).split())])
            elif kind == "pic":
                text = next(map(described, _named(element, "cNvPr")), "")
                if text:
                    found.texts.append(text)
                else:
                    found.left_out.add(*PICTURE)
            else:
                kinds = set(map(local_name, element.iter()))
                found.left_out.add("chart" if kinds & {"chart", "relIds"} == {"chart"} else "diagram")

    def _pieces(self, part: str) -> Iterator[bytes]:
        """Yield a sheet in pieces that end between rows."""
        rest = b""
        for chunk in self._archive.pieces(part, _PIECE):
            rest += chunk
            end = rest.rfind(b"<", 0, max(rest.rfind(b"<row "), rest.rfind(b":row ")) + 1)
            if end > 0:
                yield rest[:end]
                rest = rest[end:]
        yield rest


class _Columns(dict[bytes, int]):
    """Numbers of columns by their letters."""

    def __missing__(self, letters: bytes) -> int:
        number = 0
        for letter in letters:
            number = number * 26 + letter - 64
        self[letters] = number - 1
        return number - 1


_COLUMNS = _Columns()


def unless_general(code: str) -> NumberFormat | None:
    """Return a number format, or None where a cell shows its value."""
    made = number_format(code)
    return None if made.is_general else made


def place(letters: bytes, row: bytes) -> Place:
    """Return the row and column of a reference such as `B2`."""
    return int(row) - 1, _COLUMNS[letters]


def letters_of(column: int) -> str:
    """Return the letters of a column that counts from 0."""
    return (letters_of(column // 26 - 1) if column > 25 else "") + chr(65 + column % 26)


class _Order:
    """Puts the attributes of cells in the usual order, with the references that some programs leave out."""

    def __init__(self) -> None:
        self._row = self._column = 0

    def __call__(self, tag: re.Match[bytes]) -> bytes:
        found = dict(_ATTRIBUTE.findall(tag[2]))
        reference = found.get(b"r", b"")
        if tag[1] == b"row":
            self._row, self._column = int(reference) if reference.isdigit() else self._row + 1, 0
            return tag[0]
        if stated := _REFERENCE.fullmatch(reference):
            self._column = _COLUMNS[stated[1]]
        else:
            found[b"r"] = f"{letters_of(self._column)}{self._row}".encode()
        self._column += 1
        attributes = b"".join(b' %b="%b"' % (name, found[name]) for name in (b"r", b"s", b"t") if name in found)
        return b"<c%b%b>" % (attributes, b" /" if tag[2].endswith(b"/") else b"")


def _hidden(attributes: bytes) -> range:
    """Return the columns of a `col` if they are hidden."""
    found = dict(re.findall(rb'\s(\w+)=["\'](\w+)["\']', attributes))
    if found.get(b"hidden") not in (b"1", b"true") or not found.get(b"min", b"").isdigit():
        return range(0)
    first, last = int(found[b"min"]), found.get(b"max", b"")
    return range(first - 1, min(int(last), 2**14) if last.isdigit() else first)


def _decoded(text: bytes) -> str:
    return html.unescape(text.decode("utf-8", "replace"))


def _scripted(content: bytes) -> str:
    """Return the text of runs in which something stands above or below the line, else nothing."""
    if b"vertAlign" not in content:
        return ""
    pieces: list[tuple[str, Script | None]] = []
    for run in re.split(rb"<(?:\w+:)?r[\s>]", content):
        texts = re.findall(rb"<(?:\w+:)?t(?:\s[^<>]*)?>([^<]*)<", run.partition(b"rPh")[0])
        script = re.search(rb'vertAlign[^<>]*\sval=["\'](\w+)', run)
        pieces.append((_decoded(b"".join(texts)), _SCRIPTS.get(script[1].decode()) if script else None))
    shown = ""
    for at, (text, kind) in enumerate(pieces):
        after = pieces[at + 1][0] if at + 1 < len(pieces) else ""
        shown += written(text, kind, shown[-100:], after) if kind else text
    return shown


def _printed(text: bytes) -> str:
    """Return the words of a header or footer, without the parts that number the pages."""
    parts = (part for part in _PART.split(_decoded(text)) if not _PAGE.search(part))
    shown = " ".join(" ".join(_CODE.sub(" ", part) for part in parts).split())
    return shown if any(map(str.isalpha, shown)) else ""


def _named(element: Any, name: str) -> Iterator[Any]:
    return (each for each in element.iter() if local_name(each) == name)


def _text(element: Any, name: str) -> str:
    return "".join(each.text or "" for each in _named(element, name))


def _shapes(element: Any) -> Iterator[Any]:
    """Yield shapes, pictures and frames, without those that only replace others in old programs."""
    for child in element:
        name = local_name(child)
        if name in ("sp", "pic", "graphicFrame"):
            yield child
        elif name != "Fallback":
            yield from _shapes(child)

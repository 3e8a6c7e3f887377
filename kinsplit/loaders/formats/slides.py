"""PowerPoint presentations (`.pptx` and the like): every slide is a page that begins with its title as a heading.

The slide's shapes follow from the top left to the bottom right, groups as one shape: text with its lists, tables,
equations as a line of text (see `equations`), diagrams (SmartArt) as their texts, charts as their titles and data.
Shapes without text, such as pictures, films and drawings, give their alternative text. Speaker notes follow under a
`### Notes` heading, then comments. Footers, and texts of a layout, stand on the first slide that shows them; slide
numbers and hidden slides are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

from kinsplit.loaders.archive import Archive, BombError, Relation, chosen, drawn, linear, local_name
from kinsplit.loaders.content import PICTURE, Format, LeftOut, Reading, UnreadableError
from kinsplit.loaders.decoding import legible
from kinsplit.loaders.markup.markdown import markdown_content
from kinsplit.loaders.markup.writer import MarkdownWriter
from kinsplit.loaders.office.drawings import DAMAGED, described, write_chart, write_diagram
from kinsplit.loaders.office.lists import BULLET, OpenLists, in_form
from kinsplit.loaders.office.symbols import FONTS, in_font

_BREAK = "\n\n"
_DEEPEST = 8  # indentation level of PowerPoint; a file may claim any
_ROW = 457_200  # half an inch; shapes less apart from the top stand in one row
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TITLES, _PAGES = frozenset({"title", "ctrTitle"}), frozenset({"sldNum", "sldImg"})
_AROUND = frozenset({"dt", "ftr", "hdr", *_PAGES})
_ON = frozenset({"1", "true", "on"})
_SHAPES = frozenset({"sp", "grpSp", "graphicFrame", "pic", "cxnSp", "contentPart"})
_PICTURES = frozenset({"pic", "contentPart"})
_OFFSETS = [f"{way}/{_A}off" for way in (f"{_P}spPr/{_A}xfrm", f"{_P}grpSpPr/{_A}xfrm", f"{_P}xfrm")]
_BULLETS = frozenset({"buNone", "buChar", "buAutoNum", "buBlip"})
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_FORMS = {
    "alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
    "circleNumDb": "decimalEnclosedCircle", "ea1Chs": "japaneseCounting",
}  # fmt: skip
_MARKS = {"Period": "{}.", "ParenR": "{})", "ParenBoth": "({})"}


def read(data: bytes) -> Reading:
    """Return the text of a presentation with its slides as pages."""
    archive = Archive(data, "PowerPoint presentation")
    try:
        return _Presentation(archive).reading()
    except RecursionError:
        raise UnreadableError("nests its shapes too deeply. Open it and save it again.") from None


class _Part:
    """A slide, a layout, a master or a page of notes, with what it inherits."""

    def __init__(self, archive: Archive, name: str) -> None:
        self.name = name
        self.root = archive.xml(name)
        self.relations = archive.relations(name)
        self.tree = self.root.find(f"{_P}cSld/{_P}spTree")

    def related(self, kind: str) -> Iterator[Relation]:
        """Yield the parts of a kind."""
        return (one for one in self.relations.values() if one.kind == kind)

    @cached_property
    def places(self) -> dict[tuple[str, str], Any]:
        """The placeholders by type, and by number."""
        found: dict[tuple[str, str], Any] = {}
        for shape in () if self.tree is None else self.tree.iter(f"{_P}sp"):
            if (place := _place(shape)) is not None:
                found.setdefault((_kind(place), ""), shape)
                found.setdefault(("", place.get("idx", "0")), shape)
        return found


class _Presentation:
    """The slides of a presentation, and what is common to them."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.left_out = LeftOut()
        targets = (one.target for one in archive.relations().values() if one.kind == "officeDocument")
        self._main = next(targets, "ppt/presentation.xml")
        self._root = archive.xml(self._main)
        self._relations = archive.relations(self._main)
        self._known: dict[str, _Part] = {}
        self.footers: set[str] = set()

    def reading(self) -> Reading:
        """Return the text and what was left out."""
        pages = []
        for number, link in enumerate(self._root.iterfind(f"{_P}sldIdLst/{_P}sldId"), 1):
            relation = self._relations.get(link.get(f"{_RELATIONSHIPS}id", ""))
            if relation is None:
                raise UnreadableError(f"is broken: it has no slide {number:,}. Open it and save it again.")
            slide = _Part(self.archive, relation.target)
            if slide.tree is None:
                raise UnreadableError(f"is broken at {slide.name}: it is no slide. Open it and save it again.")
            if slide.root.get("show", "1") in _ON:
                writer = MarkdownWriter()
                pages.append(legible(_Slide(self, slide, writer).text()))
                self.left_out.update(writer.left_out)
            else:
                pages.append("")  # PowerPoint counts it among its pages
                self.left_out.add("hidden slide")
        if any(name.rpartition("/")[2] == "vbaProject.bin" for name in self.archive.names):
            self.left_out.add("set of macros", "sets of macros")
        starts = list(accumulate((len(page) + len(_BREAK) for page in pages), initial=0))[:-1]
        first = next((line[3:] for page in pages for line in page.splitlines()[:1] if line.startswith("## ")), None)
        title = self.archive.title or ""
        # PowerPoint's default title.
        own = title if title.lower() not in {"", "powerpoint presentation"} else first
        content = markdown_content(_BREAK.join(pages), own, above=own, pages=starts)
        return Reading((content,), self.left_out.warnings)

    def part(self, name: str) -> _Part | None:
        """Return a part that several slides share, or None without it."""
        if name not in self._known and name in self.archive:
            self._known[name] = _Part(self.archive, name)
        return self._known.get(name)

    @cached_property
    def authors(self) -> dict[str, str]:
        """The names of the authors of comments by their ids."""
        parts = [one.target for one in self._relations.values() if one.kind in {"authors", "commentAuthors"}]
        found = (author for name in parts if name in self.archive for author in self.archive.xml(name))
        return {author.get("id", ""): author.get("name", "") for author in found}


class _Slide:
    """Writes a slide, or the page of its notes."""

    def __init__(self, presentation: _Presentation, part: _Part, writer: MarkdownWriter) -> None:
        self._presentation = presentation
        self._part = part
        self._writer = writer

    def text(self) -> str:
        """Return the slide's text."""
        write = self._writer
        shapes = list(_shapes(self._part.tree))
        title = next((one for one in shapes if _kind(_place(one)) in _TITLES and _has_text(one)), None)
        if title is not None:
            write.start_heading(2)
            self._lines(title, is_listed=False)
            write.end_heading()
        self._in_order([shape for shape in shapes if shape is not title])
        self._background()
        for notes in self._related("notesSlide"):
            shapes = list(_shapes(notes.tree))
            if any(_has_text(shape) for shape in shapes if _kind(_place(shape)) not in _AROUND):
                write.start_heading(3)
                write.text("Notes")
                write.end_heading()
                _Slide(self._presentation, notes, write)._in_order(shapes)
        for comments in self._related("comments"):
            self._comments(comments.root)
        return write.finish()

    def _related(self, kind: str) -> list[_Part]:
        archive = self._presentation.archive
        return [_Part(archive, one.target) for one in self._part.related(kind) if one.target in archive]

    def _in_order(self, shapes: list[Any], *, is_described: bool = False) -> bool:
        """Write shapes in rows from the top, and from the left within a row; return whether they have a text."""
        has_text = False
        for *_, shape in sorted((*self._position(shape), at, shape) for at, shape in enumerate(shapes)):
            has_text = self._shape(shape, is_described=is_described) or has_text
        return has_text

    def _position(self, shape: Any) -> tuple[int, int]:
        """Return the row and the distance from the left."""
        offsets = (one.find(way) for one in self._line(shape) for way in _OFFSETS)
        offset = next((found for found in offsets if found is not None), None)
        return (0, 0) if offset is None else (round(_number(offset.get("y")) / _ROW), _number(offset.get("x")))

    @cached_property
    def _above(self) -> list[_Part]:
        """The layout and the master, from which placeholders inherit."""
        found = [self._part]
        for kind in ("slideLayout", "slideMaster"):
            names = [one.target for one in found[-1].related(kind)]
            part = self._presentation.part(names[0]) if names else None
            if part is None:
                break
            found.append(part)
        return found[1:]

    def _line(self, shape: Any) -> list[Any]:
        """Return a shape and those that it inherits from."""
        line, place = [shape], _place(shape)
        for part in self._above if place is not None else ():
            kind, number = _kind(place), place.get("idx", "")
            keys = [("", number)] if number and part is self._above[0] else [(kind, ""), ("body", "")]
            if (found := next((part.places[key] for key in keys if key in part.places), None)) is not None:
                line.append(found)
                place = _place(found)
        return line

    def _shape(self, shape: Any, *, is_described: bool) -> bool:
        """Write a shape's text, else its alternative text; return whether it has one.

        A picture without any is counted, unless a group around it is described.
        """
        properties = next((one for one in shape.iter() if local_name(one) == "cNvPr"), None)
        if properties is not None and properties.get("hidden") in _ON:
            self._writer.left_out.add("hidden shape")
            return True
        if (kind := _kind(_place(shape))) in _AROUND:
            if kind not in _PAGES:
                self._around(shape)
            return True
        description = "" if properties is None else described(properties)
        if local_name(shape) == "grpSp":
            is_described = is_described or bool(description)
            has_text = self._in_order(list(_shapes(shape)), is_described=is_described)
        else:
            has_text = self._content(shape)
        if not has_text and description:
            self._writer.text(description)
            self._writer.block()
        elif not (has_text or is_described or _is_decorative(properties)) and local_name(shape) in _PICTURES:
            self._writer.left_out.add(*PICTURE)
        return has_text or bool(description)

    def _around(self, shape: Any) -> None:
        """Write a footer, or a date that does not change, once for all slides."""
        text = "".join(text.text or "" for text in shape.iter(f"{_A}t"))
        if next(shape.iter(f"{_A}fld"), None) is None and text not in self._presentation.footers:
            self._presentation.footers.add(text)
            self._lines(shape, is_listed=False)

    def _background(self) -> None:
        """Write the texts that the layout and the master show on all slides once."""
        below = self._part
        for part in self._above:
            if below.root.get("showMasterSp", "1") not in _ON:
                break
            for shape in () if part.tree is None else _shapes(part.tree):
                if _place(shape) is None and _has_text(shape):
                    self._around(shape)
            below = part

    def _content(self, shape: Any) -> bool:
        """Write the text of a shape; return whether there is any."""
        if _has_text(shape):
            self._lines(shape)
            return True
        for element in drawn(shape) if local_name(shape) == "graphicFrame" else ():
            match local_name(element):
                case "tbl" if any((text.text or "").strip() for text in element.iter(f"{_A}t")):
                    self._table(element)
                    return True
                case "chart":
                    return self._drawn(element.get(f"{_RELATIONSHIPS}id", ""), write_chart)
                case "relIds":
                    return self._drawn(element.get(f"{_RELATIONSHIPS}dm", ""), write_diagram)
                case "oleObj":
                    self._writer.left_out.add("embedded object")
        return False

    def _drawn(self, link: str, write: Callable[[MarkdownWriter, bytes], bool]) -> bool:
        """Write what is drawn from the data of another part; return whether it has a text."""
        relation = self._part.relations.get(link)
        try:
            return write(self._writer, self._presentation.archive.read(relation.target if relation else link))
        except BombError:
            raise
        except UnreadableError:
            self._writer.left_out.add(*DAMAGED)
            return False

    def _table(self, table: Any) -> None:
        write = self._writer
        write.start_table()
        for row in table.iterfind(f"{_A}tr"):
            write.start_row()
            for cell in row.iterfind(f"{_A}tc"):
                write.start_cell(1, 1)  # those that a merged cell covers stand in the file, too
                if cell.get("hMerge") not in _ON and cell.get("vMerge") not in _ON:
                    self._lines(cell)
                write.end_cell()
        write.end_table()

    # Text

    def _lines(self, shape: Any, *, is_listed: bool = True) -> None:
        """Write paragraphs, each on a line of its own, and those with bullets or numbers as items."""
        lists = OpenLists(self._writer)
        line = self._line(shape)
        counts: dict[int, tuple[str, int]] = {}
        is_first = True
        for paragraph in _paragraphs(shape):
            properties = paragraph.find(f"{_A}pPr")
            stated = None if properties is None else properties.get("lvl")
            level = min(max(_number(stated), 0), _DEEPEST)
            label = _label(self._bullet(line, properties, level), level, counts) if is_listed else ""
            if label:
                lists.item(level, label)
            else:
                lists.end()
            if not (label or is_first):
                self._writer.line_break()
            self._runs(paragraph)
            is_first = bool(label)
        lists.end()
        self._writer.block()

    def _bullet(self, line: list[Any], properties: Any, level: int) -> Any:
        """Return the element that says which bullet or number a paragraph has, or None."""
        way = f"{_P}txBody/{_A}lstStyle/{_A}lvl{level + 1}pPr"
        stated = [properties, *(one.find(way) for one in line)]
        kind = _kind(_place(line[0]))
        if len(line) > 1 and self._above[1:]:
            style = "titleStyle" if kind in _TITLES else "bodyStyle"
            stated.append(self._above[1].root.find(f"{_P}txStyles/{_P}{style}/{_A}lvl{level + 1}pPr"))
        bullets = (one for own in stated if own is not None for one in own if local_name(one) in _BULLETS)
        return next(bullets, None)

    def _runs(self, parent: Any) -> None:
        write = self._writer
        for element in parent:
            match local_name(element):
                case "r" | "fld":
                    self._run(element)
                case "br":
                    write.line_break()
                case "m":
                    write.text("".join(map(linear, element)))
                case "AlternateContent":
                    self._runs(chosen(element))

    def _run(self, run: Any) -> None:
        text, properties = run.findtext(f"{_A}t") or "", run.find(f"{_A}rPr")
        for name in ("latin", "sym"):
            font = None if properties is None else properties.find(_A + name)
            face = "" if font is None else font.get("typeface", "").lower()
            if face in FONTS:
                text = in_font(text, face) if name == "latin" else _PRIVATE.sub(partial(_sign, face), text)
        raised = _number(None if properties is None else properties.get("baseline"))
        if raised:
            (self._writer.superscript if raised > 0 else self._writer.subscript)(text)
        else:
            self._writer.text(text)

    def _comments(self, root: Any) -> None:
        """Write the comments on the slide, and the replies to them."""
        for comment in (one for one in root.iter() if local_name(one) in {"cm", "reply"}):
            bodies = (child for child in comment if local_name(child) in {"text", "txBody"})
            text = " ".join(text for body in bodies for text in body.itertext())
            if not text.strip():
                continue
            author = self._presentation.authors.get(comment.get("authorId", ""))
            self._writer.text(f"Comment by {author}: {text}" if author else f"Comment: {text}")
            self._writer.block()


def _shapes(parent: Any) -> Iterator[Any]:
    """Yield the shapes of a slide or a group."""
    for child in parent:
        if local_name(child) == "AlternateContent":
            yield from _shapes(chosen(child))
        elif local_name(child) in _SHAPES:
            yield child


def _place(shape: Any) -> Any:
    """Return the element that says which placeholder a shape is, or None."""
    return next((place for part in shape if local_name(part).startswith("nv") for place in part.iter(f"{_P}ph")), None)


def _is_decorative(properties: Any) -> bool:
    parts = () if properties is None else properties.iter()
    return any(local_name(one) == "decorative" and one.get("val") in _ON for one in parts)


def _kind(place: Any) -> str:
    return "" if place is None else str(place.get("type", "obj"))


def _paragraphs(shape: Any) -> Iterator[Any]:
    """Yield the paragraphs of a shape or a cell that show something other than the number of the slide."""
    for body in (child for child in shape if local_name(child) == "txBody"):
        for paragraph in body.iterfind(f"{_A}p"):
            texts = sum(1 for one in paragraph.iter() if local_name(one) == "t" and (one.text or "").strip())
            if texts > len(paragraph.findall(f"{_A}fld[@type='slidenum']")):
                yield paragraph


def _has_text(shape: Any) -> bool:
    return next(_paragraphs(shape), None) is not None


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"-?\d{1,12}", text) else 0


def _sign(font: str, match: re.Match[str]) -> str:
    return in_font(match[0], font)


def _label(bullet: Any, level: int, counts: dict[int, tuple[str, int]]) -> str:
    """Return what is shown before a paragraph, and count its number among those of the text so far."""
    for deeper in [deeper for deeper in counts if deeper > level]:
        del counts[deeper]
    kind = "" if bullet is None else local_name(bullet)
    if kind != "buAutoNum":
        counts.pop(level, None)
        return "" if kind in {"", "buNone"} else BULLET
    first = _number(bullet.get("startAt", "1"))
    series = f"{bullet.get('type')} {first}"
    own, last = counts.get(level, ("", 0))
    counts[level] = series, last + 1 if own == series else first
    form, mark, rest = bullet.get("type", "arabicPeriod").partition("P")
    return _MARKS.get(mark + rest, "{}").format(in_form(counts[level][1], _FORMS.get(form, "decimal")))


FORMAT = Format(
    "slides",
    (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"),
    "slides as pages, with tables, the data of charts and speaker notes",
    read,
)

"""PowerPoint presentations (`.pptx`): every slide is a page that begins with its title as a Markdown heading.

The slide's shapes follow from the top left to the bottom right, groups as one shape: text with indented lists,
equations as a line of text (see `equations`), tables as pipe tables, diagrams (SmartArt) as their texts, charts as
their titles and data. Shapes without text, such as pictures, films and drawings, give their alternative
text. Speaker notes follow under a `### Notes` heading. Footers, dates and slide numbers are left out, and so are hidden
slides, which are counted in a warning. An unreadable shape, or a chart with too many values to be listed, is named in a
warning, and the others are read.

Charts of Office files as text: the titles, and a table of the data that the chart shows. The data are those that the
file keeps beside the drawing, so that no embedded workbook is opened. A chart of categories has a row for each category
and a column for each series; scatter and bubble charts have a row for each point. Percentages and dates are written as
such if the number format of the file says that they are.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.decoding import legible
from kinsplit.loaders.formats.archive import Archive, linear, local_name, parse
from kinsplit.loaders.formats.markdown import escaped, markdown_content, pipe_table, without_blanks
from kinsplit.support.extras import needs

_MOST_ROWS = 200  # A longer table is a data set, and would bury the text around it.
_POINTS = {"xVal": "x", "yVal": "y", "bubbleSize": "size"}
_CACHES = frozenset({"strCache", "numCache", "strLit", "numLit", "lvl"})
_AXES = frozenset({"catAx", "dateAx", "serAx", "valAx", "axis"})
_LITERAL = re.compile(r'"[^"]*"|\[[^][]*\]|\\.|General|Standard')
_DATE = re.compile(r"[yd]|mmm", re.IGNORECASE)
_DAY_ZERO = datetime.date(1899, 12, 30)


class ChartText(NamedTuple):
    """The text of a chart."""

    text: str
    left_out: int  # Number of rows if there are too many for a table, of which only the header is kept; else 0.


def chart_text(data: bytes) -> ChartText:
    """Return the text of a chart from the XML of its part, or raise UnreadableError if the XML is damaged."""
    root = parse(data)
    axes = [_axis_words(_child(element, "title")) for element in root.iter() if local_name(element) in _AXES]
    titles = [_axis_words(_child(_child(root, "chart"), "title")), "; ".join(filter(None, axes))]
    series = _all(root, "ser")
    rows = _table(series) if series else _newer_table(root)
    left_out = len(rows) - 1 if len(rows) > _MOST_ROWS else 0
    rows = without_blanks(rows)
    table = ", ".join(filter(None, rows[0])) if left_out else pipe_table(rows) if len(rows) > 1 else ""
    return ChartText("\n\n".join(filter(None, [*map(escaped, titles), table])), left_out)


def _table(series: list[Any]) -> list[list[str]]:
    if points := [name for name in _POINTS if any(_child(one, name) is not None for one in series)]:
        rows = [["", *(_POINTS[name] for name in points)]]
        for one in series:
            rows += _rows(_name(one), [_values(_child(one, name)) for name in points])
        return rows
    categories = next((found for one in series if (found := _values(_child(one, "cat")))), {})
    columns = [categories, *(_values(_child(one, "val")) for one in series)]
    return [["", *map(_name, series)], *_rows(None, columns)]


def _newer_table(root: Any) -> list[list[str]]:
    """Return the header and rows of a chart of the newer kind (`chartex`), such as a waterfall or a tree map."""
    names = iter([_name(one) for one in _all(root, "series")])
    header: list[str] = []
    columns: list[dict[int, str]] = []
    for dimension in (element for element in root.iter() if local_name(element) in {"strDim", "numDim"}):
        levels = [_cached(element) for element in dimension if local_name(element) == "lvl"]
        columns += reversed(levels)
        header += ["" if local_name(dimension) == "strDim" else next(names, "")] * len(levels)
    return [header, *_rows(None, columns)] if columns else []


def _rows(name: str | None, columns: list[dict[int, str]]) -> Iterator[list[str]]:
    for number in sorted({number for column in columns for number in column}):
        yield [*([] if name is None else [name]), *(column.get(number, "") for column in columns)]


def _name(series: Any) -> str:
    text = _child(series, "tx")
    return " ".join(_values(text).values()) or _axis_words(text)


def _values(source: Any) -> dict[int, str]:
    """Return the values by number of their points. An outer level of categories names the first of its points."""
    found: dict[int, str] = {}
    for level in () if source is None else map(_cached, (e for e in source.iter() if local_name(e) in _CACHES)):
        name, inner, found = "", found or level, {}
        for number, text in inner.items():
            name = level.get(number, name)
            found[number] = text if inner is level else f"{name} {text}".strip()
    return found


def _cached(cache: Any) -> dict[int, str]:
    code = cache.get("formatCode") or getattr(_child(cache, "formatCode"), "text", None)
    found = {}
    for point in _all(cache, "pt"):
        text = " ".join((getattr(_child(point, "v"), "text", None) or point.text or "").split())
        if text and (number := point.get("idx", "")).isdecimal() and len(number) < 10:
            found[int(number)] = _number(text, point.get("formatCode") or code)
    return dict(sorted(found.items()))


def _number(text: str, code: str | None) -> str:
    """Return a number as the chart shows it; text has no number format."""
    if code is None:
        return text
    code = _LITERAL.sub("", code)
    try:
        value = float(text)
        if "%" in code:
            return f"{value * 100:.12g}%"
        if _DATE.search(code):
            return (_DAY_ZERO + datetime.timedelta(days=value)).isoformat()
        return f"{value:.15g}"
    except (ValueError, OverflowError):
        return text


def _all(element: Any, name: str) -> list[Any]:
    return [each for each in element.iter() if local_name(each) == name]


def _child(element: Any, name: str) -> Any:
    return next((child for child in element if local_name(child) == name), None) if element is not None else None


def _axis_words(element: Any) -> str:
    """Return the text of a title, with a space between its paragraphs."""
    if element is None:
        return ""
    paragraphs = ("".join(text.text or "" for text in _all(paragraph, "t")) for paragraph in _all(element, "p"))
    return " ".join([*paragraphs, *(value.text or "" for value in _all(element, "v"))]).strip()


_BREAK = "\n\n"
_DEEPEST = 8  # maximum indentation level of PowerPoint; a file may claim any
_DML = "http://schemas.openxmlformats.org/drawingml/2006/main"
_DGM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_DIAGRAM = f"{{{_DGM}}}relIds"
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_EQUATION = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_RUN = f'<a:r xmlns:a="{_DML}"><a:t/></a:r>'


def read(data: bytes) -> Reading:
    """Return the text of a presentation with its slides as pages."""
    with needs("files"):
        from pptx import Presentation

    markup = Archive(data, "PowerPoint presentation").without_media()
    try:
        presentation = Presentation(markup)
        slides = list(enumerate(presentation.slides, 1))
        shown = [(number, slide) for number, slide in slides if slide.element.get("show") != "0"]
        hidden = len(slides) - len(shown)
        lost: list[str] = []
        pages = [legible(_BREAK.join(_slide(slide, partial(_lose, lost, number)))) for number, slide in shown]
        title = presentation.core_properties.title.strip()
    except MemoryError:
        raise
    except RecursionError:
        raise UnreadableError("nests its shapes too deeply. Open it and save it again.") from None
    except Exception as error:  # python-pptx raises exceptions of any kind for a malformed part
        reason = f"is broken or not a valid PowerPoint presentation: {error!r}. Open it and save it again."
        raise UnreadableError(reason) from error
    starts = list(accumulate((len(page) + len(_BREAK) for page in pages), initial=0))[:-1]
    first = next((line[3:] for page in pages for line in page.splitlines()[:1] if line.startswith("## ")), None)
    # PowerPoint's default title.
    own = title if title.lower() not in {"", "powerpoint presentation"} else first
    warnings = (f"{hidden:,} hidden slides were left out",) if hidden else ()
    content = markdown_content(_BREAK.join(pages), own, above=own, pages=starts)
    return Reading((content,), (*warnings, *lost))


# Warns of a part that can't be read.
_Lose = Callable[[Any, str], None]


def _lose(warnings: list[str], number: int, shape: Any, reason: str) -> None:
    warnings.append(f"slide {number:,}: its shape {shape.name!r} {reason}")


def _slide(slide: Any, lose: _Lose) -> Iterator[str]:
    _make_plain(slide.element)
    title = slide.shapes.title
    if title is not None and (not title.has_text_frame or not title.text_frame.text.strip()):
        title = None  # The place of the title may hold a picture.
    if title is not None:
        yield f"## {' '.join(title.text_frame.text.split())}"
    for shape in _in_order(slide.shapes):
        if title is None or shape.element is not title.element:  # Ids of shapes are not unique.
            yield from _readable(shape, lose)
    if slide.has_notes_slide:
        _make_plain(slide.notes_slide.element)
        if (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            yield "### Notes"
            yield _text(frame)


def _make_plain(slide: Any) -> None:
    """Replace elements in a slide's XML that python-pptx skips with all their text: alternatives and equations."""
    from pptx.oxml import parse_xml

    for element in list(slide.iter(_ALTERNATIVES)):
        # PowerPoint shows the first one; the others are fallbacks for other programs, often a picture.
        choice = next((form for form in element if len(form)), ())
        for child in reversed(choice):
            element.addnext(child)
        element.getparent().remove(element)
    for element in list(slide.iter(_EQUATION)):
        run = parse_xml(_RUN)
        run.t.text = "".join(map(linear, element))
        element.getparent().replace(element, run)


def _in_order(shapes: Iterable[Any]) -> list[Any]:
    """Return shapes in rows from the top, and from the left within a row; half an inch counts as the same row."""
    return sorted(shapes, key=lambda shape: (round(_position(shape, "top") / 457_200), _position(shape, "left")))


def _position(shape: Any, side: str) -> int:
    try:
        return getattr(shape, side) or 0
    except Exception:  # python-pptx raises exceptions of any kind for a malformed shape, which may still have text
        return 0


def _readable(shape: Any, lose: _Lose) -> list[str]:
    try:
        return list(_blocks(shape, lose))
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # python-pptx raises exceptions of any kind for a malformed shape
        lose(shape, f"can't be read ({error!r})")
        return []


def _blocks(shape: Any, lose: _Lose) -> Iterator[str]:
    """Yield a shape's texts, else its alternative text."""
    found = [block for block in _texts(shape, lose) if block.strip()]
    yield from found or filter(None, [_alternative(shape)])


def _alternative(shape: Any) -> str:
    properties = next(shape.element.iter("{*}cNvPr"), None)  # The first one is the shape's own.
    return "" if properties is None else " ".join(properties.get("descr", "").split())


def _texts(shape: Any, lose: _Lose) -> Iterator[str]:
    from pptx.enum.shapes import PP_PLACEHOLDER
    from pptx.shapes.group import GroupShape

    around = {PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.HEADER}
    if shape.is_placeholder and shape.placeholder_format.type in around:
        return
    if isinstance(shape, GroupShape):
        for inner in _in_order(shape.shapes):
            yield from _readable(inner, lose)
    elif shape.has_text_frame:
        yield _text(shape.text_frame)
    elif shape.has_table:
        rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows]
        if rows := without_blanks(rows):
            yield pipe_table(rows)
    elif (chart := next(shape.element.iter("{*}chart"), None)) is not None:
        text, left_out = chart_text(shape.part.related_part(chart.get(f"{_RELATIONSHIPS}id")).blob)
        if left_out:
            lose(shape, f"is a chart of {left_out:,} rows; they were left out")
        yield text
    elif (diagram := next(shape.element.iter(_DIAGRAM), None)) is not None:
        yield from _diagram(shape.part.related_part(diagram.get(f"{_RELATIONSHIPS}dm")).blob)


def _diagram(data: bytes) -> Iterator[str]:
    """Yield a diagram's texts as a list, in the order of the file."""
    texts = (_words(text) for text in parse(data).iter(f"{{{_DGM}}}t"))
    if lines := [f"- {text}" for text in texts if text]:
        yield "\n".join(lines)


def _words(element: Any) -> str:
    return " ".join("".join(text.text or "" for text in element.iter(f"{{{_DML}}}t")).split())


def _text(frame: Any) -> str:
    """Return paragraphs, one per line, indented ones as list items."""
    lines = []
    for paragraph in frame.paragraphs:
        text = "\n".join(line for part in paragraph.text.split("\v") if (line := " ".join(part.split())))
        if text:
            level = min(paragraph.level, _DEEPEST)
            lines.append(f"{'  ' * (level - 1)}- {text}" if level else text)
    return escaped("\n".join(lines))


FORMAT = Format("slides", (".pptx",), "slides as pages, with tables, the data of charts and speaker notes", read)

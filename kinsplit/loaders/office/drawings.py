"""Drawings of Office files as text: charts, diagrams and the alternative texts of others.

A chart becomes its titles and a table of the data that it shows. The data are those that the file keeps beside the
drawing, so that no embedded workbook is opened. A chart of categories has a row for each category and a column for each
series; scatter and bubble charts have a row for each point. Numbers have their number formats. A diagram (SmartArt)
becomes a list of its texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kinsplit.loaders.archive import drawn, local_name, parse
from kinsplit.loaders.markup.writer import MarkdownWriter
from kinsplit.loaders.sheets.number_formats import number_format

#: A kind of things in drawings that are left out, in the singular and the plural.
DAMAGED = ("part that can't be read", "parts that can't be read")

# Older versions of Office, and some libraries, take the picture's file for its description.
_FILE_NAME = re.compile(r"\S*\.(?:bmp|emf|gif|jpe?g|png|svg|tiff?|webp|wmf)", re.IGNORECASE)
_MOST_ROWS = 200  # A longer table is a data set, and would bury the text around it.
_POINTS = {"xVal": "x", "yVal": "y", "bubbleSize": "size"}
_CACHES = frozenset({"strCache", "numCache", "strLit", "numLit", "lvl"})
_AXES = frozenset({"catAx", "dateAx", "serAx", "valAx", "axis"})


def described(properties: Any) -> str:
    """Return the alternative text in the properties of a drawing; empty if it is only the name of a file."""
    text = " ".join((properties.get("descr") or properties.get("title") or "").split())
    return "" if _FILE_NAME.fullmatch(text) else text


def write_chart(writer: MarkdownWriter, data: bytes) -> bool:
    """Write the text of a chart from the XML of its part; return whether it has any.

    Too many rows are left out and counted; the header is kept.

    Raises:
        UnreadableError: The XML is damaged.
    """
    root = parse(data)
    axes = [_words(_child(element, "title")) for element in root.iter() if local_name(element) in _AXES]
    lines = [_words(_child(_child(root, "chart"), "title")), "; ".join(filter(None, axes))]
    series = _all(root, "ser")
    rows = _table(series) if series else _newer_table(root)
    if len(rows) > _MOST_ROWS:
        writer.left_out.add("row of a large chart", "rows of large charts", len(rows) - 1)
        lines.append(", ".join(filter(None, rows[0])))
        rows = []
    for line in lines:
        writer.block()
        writer.text(line)
    writer.block()
    if len(rows) > 1:
        _write_table(writer, rows)
    return len(rows) > 1 or any(lines)


def write_diagram(writer: MarkdownWriter, data: bytes) -> bool:
    """Write the texts of a diagram as a list, in the order of the file; return whether there are any.

    Raises:
        UnreadableError: The XML is damaged.
    """
    points = (element for element in parse(data).iter() if local_name(element) == "pt")
    texts = [text for point in points if (text := _words(_child(point, "t")))]
    writer.start_list(ordered=False)
    for text in texts:
        writer.start_item()
        writer.text(text)
    writer.end_list()
    return bool(texts)


def _write_table(writer: MarkdownWriter, rows: list[list[str]]) -> None:
    writer.start_table()
    for row in rows:
        writer.start_row()
        for cell in row:
            writer.start_cell(1, 1)
            writer.text(cell)
            writer.end_cell()
    writer.end_table()


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
    return " ".join(_values(text).values()) or _words(text)


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
    try:
        # The German name is in files of LibreOffice.
        return number_format(code.replace("Standard", "General")).number(float(text)).strip()
    except (ValueError, OverflowError):
        return text


def _all(element: Any, name: str) -> list[Any]:
    return [each for each in element.iter() if local_name(each) == name]


def _child(element: Any, name: str) -> Any:
    return next((child for child in element if local_name(child) == name), None) if element is not None else None


def _words(element: Any) -> str:
    """Return the text of a title, with a space between its paragraphs."""
    if element is None:
        return ""
    paragraphs = ("".join(text.text or "" for text in _all(paragraph, "t")) for paragraph in _all(element, "p"))
    return " ".join([*paragraphs, *(value.text or "" for value in _all(element, "v"))]).strip()


_CLOSED = frozenset({"txbxContent", "p"})
_RELATIONSHIPS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


@dataclass(slots=True)
class Drawing:
    """The parts of a drawing.

    Attributes:
        boxes: Elements with paragraphs, in the order of the file.
        words: Texts that are drawn, such as a watermark.
        charts: Ids of the relations to charts.
        diagrams: Ids of the relations to the data of diagrams.
        descriptions: Alternative texts.
        pictures: Number of pictures.
        objects: Number of embedded objects.
        is_decorative: Whether its author says that its pictures mean nothing.
    """

    boxes: list[Any] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    pictures: int = 0
    objects: int = 0
    is_decorative: bool = False


def read_drawing(element: Any) -> Drawing:
    """Return the parts of a `w:drawing`, `w:pict` or `w:object`."""
    found = Drawing()
    for part in drawn(element, _CLOSED):
        match local_name(part):
            case "txbxContent":
                found.boxes.append(part)
            case "p":
                found.words.append("".join(text.text or "" for text in part.iter() if local_name(text) == "t"))
            case "textpath":
                found.words.append(part.get("string", ""))
            case "chart" if link := part.get(f"{_RELATIONSHIPS}id"):
                found.charts.append(link)
            case "relIds":
                found.diagrams.append(part.get(f"{_RELATIONSHIPS}dm", ""))
            case "docPr" | "cNvPr":
                found.descriptions.append(described(part))
            case "shape" | "rect" | "group":
                found.descriptions.append(part.get("alt", ""))
            case "pic" | "imagedata" | "contentPart":
                found.pictures += 1
            case "OLEObject" | "control":
                found.objects += 1
            case "decorative":
                found.is_decorative = found.is_decorative or part.get("val") in {"1", "true"}
    found.descriptions = list(dict.fromkeys(filter(None, found.descriptions)))
    return found

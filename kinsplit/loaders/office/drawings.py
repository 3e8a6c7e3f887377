"""Contents of drawings in Word documents: text boxes, charts, diagrams, pictures and embedded objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kinsplit.loaders.archive import drawn, local_name
from kinsplit.loaders.office.charts import described

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

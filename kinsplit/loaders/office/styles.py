"""Styles and numbering of Word documents: what a paragraph is, and the number that Word shows before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kinsplit.loaders.office.lists import BULLET, in_form
from kinsplit.loaders.office.symbols import FONTS, in_font

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"

_DEPTH = 9  # levels of lists and outlines
_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_CODE = re.compile(r"(?:source )?code\b|html preformatted|preformatted text|macro text", re.IGNORECASE)
_OFF = frozenset({"0", "false", "off", "none"})
_BOXES = "☐☑☒✓✔✗✘"  # bullets that say whether something is done
_UNSAID = {"vMerge": "continue", "hMerge": "continue"}  # values of children without one
_PLACE = re.compile(r"%([1-9])")


def value(parent: Any, name: str, default: str = "") -> str:
    """Return the value of an element's child, or the default without the child."""
    child = None if parent is None else parent.find(W + name)
    return default if child is None else str(child.get(f"{W}val", _UNSAID.get(name, default)))


def number(parent: Any, name: str, default: int = 0) -> int:
    """Return the value of an element's child as a number."""
    text = value(parent, name)
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


def is_on(parent: Any, name: str, default: bool = False) -> bool:
    """Return whether an element has a child that switches something on."""
    if parent is None or parent.find(W + name) is None:
        return default
    return value(parent, name, "1").lower() not in _OFF


def is_attribute_on(element: Any, name: str) -> bool:
    """Return whether an attribute of an element switches something on."""
    return element.get(W + name, "0").lower() not in _OFF


@dataclass(frozen=True, slots=True)
class RunLook:
    """The appearance of a run of text."""

    bold: bool = False
    hidden: bool = False
    script: str = ""  # superscript or subscript
    font: str = ""


@dataclass(frozen=True, slots=True)
class Style:
    """A style with all that it inherits, or the properties of a paragraph.

    Attributes:
        look: The look of its runs.
        outline: Level of its heading from 1; 0 for other text.
        is_code: Whether it is for code.
        list_id: Id of its list; empty without one.
        list_level: Level in the list from 0; None if the list decides by the style.
        id: Id of the style.
    """

    look: RunLook = field(default_factory=RunLook)
    outline: int = 0
    is_code: bool = False
    list_id: str = ""
    list_level: int | None = None
    id: str = ""


class Styles:
    """The styles of a document, from the root of `styles.xml` if there is one."""

    def __init__(self, root: Any) -> None:
        elements = [] if root is None else root.findall(f"{W}style")
        self._elements = {element.get(f"{W}styleId", ""): element for element in elements}
        usual = (e for e in elements if e.get(f"{W}type") == "paragraph" and e.get(f"{W}default") in {"1", "true"})
        self._default = next((element.get(f"{W}styleId", "") for element in usual), "")
        defaults = None if root is None else root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
        self._base = Style(_changed_look(RunLook(), defaults))
        self._found: dict[str, Style] = {}

    def paragraph(self, properties: Any) -> Style:
        """Return the properties of a paragraph, given its `w:pPr`."""
        style = self._style(value(properties, "pStyle", self._default))
        if properties is None:
            return style
        changed = _changed(style, properties)
        # A level that the paragraph itself states holds whatever the list says of its style.
        return changed if properties.find(f"{W}numPr/{W}ilvl") is None else replace(changed, id="")

    def look(self, properties: Any, around: RunLook) -> RunLook:
        """Return the look of a run, given its `w:rPr` and the look of its paragraph."""
        if (style := value(properties, "rStyle")) in self._elements:
            for element in self._line(style):
                around = _changed_look(around, element.find(f"{W}rPr"))
        return _changed_look(around, properties)

    def _line(self, style_id: str) -> list[Any]:
        """Return the elements of a style and of those that it is based on, the outermost first."""
        line: dict[str, Any] = {}
        while style_id in self._elements and style_id not in line:
            line[style_id] = self._elements[style_id]
            style_id = value(line[style_id], "basedOn")
        return list(reversed(line.values()))

    def _style(self, style_id: str) -> Style:
        if style_id not in self._found:
            style = self._base
            for element in self._line(style_id):
                name = value(element, "name")
                outline = int(match[1]) if (match := _HEADING.fullmatch(name)) else style.outline
                outline = 1 if name.lower() == "title" else 0 if name.lower() == "subtitle" else outline
                is_code = style.is_code or _CODE.match(name) is not None
                style = replace(style, outline=outline, is_code=is_code)
                style = _changed(style, element.find(f"{W}pPr"))
                style = replace(style, look=_changed_look(style.look, element.find(f"{W}rPr")))
            if style_id not in self._elements and (match := _HEADING.fullmatch(style_id)):
                style = replace(style, outline=int(match[1]))
            self._found[style_id] = replace(style, id=style_id)
        return self._found[style_id]


def _changed(style: Style, properties: Any) -> Style:
    """Return a style with the outline level and the list of a `w:pPr`."""
    if properties is None:
        return style
    outline = number(properties, "outlineLvl", -1)
    if outline >= 0:
        style = replace(style, outline=outline + 1 if outline < _DEPTH else 0)
    listed = properties.find(f"{W}numPr")
    if listed is None:
        return style
    level = number(listed, "ilvl", -1)
    list_id = value(listed, "numId", style.list_id)
    return replace(style, list_id=list_id, list_level=level if 0 <= level < _DEPTH else style.list_level)


def _changed_look(look: RunLook, properties: Any) -> RunLook:
    """Return a look with the changes of a `w:rPr`."""
    if properties is None or not len(properties):
        return look
    script = value(properties, "vertAlign", look.script)
    fonts = properties.find(f"{W}rFonts")
    return RunLook(
        is_on(properties, "b", look.bold),
        is_on(properties, "vanish", look.hidden),
        script if script in {"superscript", "subscript"} else "",
        look.font if fonts is None else fonts.get(f"{W}ascii", look.font),
    )


@dataclass(frozen=True, slots=True)
class ListLevel:
    """A level of a list.

    Attributes:
        start: Number of the first item.
        form: Form of the numbers, such as `upperRoman` or `001, 002, 003, ...`.
        text: What is shown, with `%1` for the number of the first level.
        restart: Levels above which an item lets the numbers begin again.
        is_legal: Whether all numbers are shown as digits.
        style: Id of the style whose paragraphs have this level.
    """

    start: int = 1
    form: str = "decimal"
    text: str = ""
    restart: int = _DEPTH
    is_legal: bool = False
    style: str = ""


@dataclass(slots=True)
class _List:
    levels: dict[int, ListLevel]
    counts: dict[int, int]  # by level; shared by all lists of one definition, which continue each other
    restarts: dict[int, int]  # first numbers of levels that begin again with this list


class Numbering:
    """The lists of a document, from the root of `numbering.xml` if there is one; it counts their items."""

    def __init__(self, root: Any) -> None:
        definitions = [] if root is None else root.findall(f"{W}abstractNum")
        by_id = {element.get(f"{W}abstractNumId", ""): element for element in definitions}
        by_style = {value(element, "styleLink"): element for element in definitions}
        counts: dict[str, dict[int, int]] = {}
        self._lists: dict[str, _List] = {}
        for element in [] if root is None else root.findall(f"{W}num"):
            definition = by_id.get(value(element, "abstractNumId"))
            if link := value(definition, "numStyleLink"):
                definition = by_style.get(link, definition)
            if definition is None:
                continue
            levels = dict(_levels(definition))
            restarts = {}
            for override in element.findall(f"{W}lvlOverride"):
                levels.update(_levels(override))
                if (first := number(override, "startOverride", -1)) >= 0:
                    restarts[_attribute(override, "ilvl")] = first
            shared = counts.setdefault(definition.get(f"{W}abstractNumId", ""), {})
            self._lists[element.get(f"{W}numId", "")] = _List(levels, shared, restarts)

    def label(self, style: Style) -> tuple[int, str]:
        """Count a paragraph.

        Returns:
            The level of the paragraph in its list, and what Word shows before it; empty if that is nothing.
        """
        found = self._lists.get(style.list_id)
        if found is None:
            return 0, ""
        at = style.list_level
        if at is None or found.levels.get(at, ListLevel()).style not in {"", style.id}:
            own = (level for level, one in found.levels.items() if one.style and one.style == style.id)
            at = next(own, at or 0)
        level = found.levels.get(at, ListLevel(form="none"))
        counts = found.counts
        for skipped in (above for above in range(at) if above not in counts):
            counts[skipped] = found.restarts.pop(skipped, found.levels.get(skipped, ListLevel()).start)
        counts[at] = found.restarts.pop(at) if at in found.restarts else counts.get(at, level.start - 1) + 1
        for deeper in [deeper for deeper in counts if deeper > at]:
            if at < found.levels.get(deeper, ListLevel()).restart:
                del counts[deeper]
        if level.form == "bullet":
            return at, f"{BULLET} {level.text}" if level.text in _BOXES and level.text else BULLET
        return at, _PLACE.sub(lambda place: _shown(found, level, int(place[1]) - 1), level.text).strip()


def _shown(found: _List, level: ListLevel, at: int) -> str:
    own = found.levels.get(at, ListLevel())
    form = "decimal" if level.is_legal and own.form != "none" else own.form
    return in_form(found.counts.get(at, own.start), form)


def _levels(parent: Any) -> Iterator[tuple[int, ListLevel]]:
    for element in parent.findall(f"{W}lvl"):
        restart = number(element, "lvlRestart", -1)
        font = _changed_look(RunLook(), element.find(f"{W}rPr")).font
        yield (
            _attribute(element, "ilvl"),
            ListLevel(
                number(element, "start", 0),
                _form(element.find(f".//{W}numFmt")),
                in_font(value(element, "lvlText"), font) if font.lower() in FONTS else value(element, "lvlText"),
                restart if restart >= 0 else _DEPTH,
                is_on(element, "isLgl"),
                value(element, "pStyle"),
            ),
        )


def _form(element: Any) -> str:
    """Return the form of numbers; one of the user's own is shown by its first numbers, such as `001, 002, 003, ...`."""
    form = "decimal" if element is None else element.get(f"{W}val", "decimal")
    return str(element.get(f"{W}format", "decimal") if form == "custom" else form)


def _attribute(element: Any, name: str) -> int:
    text = element.get(W + name, "0")
    return int(text) if text in set("012345678") else 0

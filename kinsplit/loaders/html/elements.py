"""The open elements of an HTML page, with the end tags that the standard lets authors leave out, and its source.

The source is put into a form that Python's parser reads in linear time and without an error. The parser gives tags as
they stand. Here the rules of the HTML standard decide which elements they end: a block
ends an open paragraph, a cell the cell before it, and an end tag without an open element inside its cell ends nothing.
Each tag takes constant time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from kinsplit.loaders.decoding import legible
from kinsplit.loaders.markup.writer import ListStyle

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = ("ul", "ol", "menu", "dir", "dl")
BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog"),
        *("dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header"),
        *("hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "noscript", "ol", "p", "pre", "search"),
        *("section", "summary", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul", "xmp"),
        *("listing", *HEADINGS),
    }
)
VOID = frozenset({"area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param"}) | {
    *("source", "track", "wbr")
}
_PARTS = ("caption", "colgroup", "tbody", "thead", "tfoot", "tr", "td", "th")
_SCOPES = frozenset({"table", "caption", "td", "th", "button", "object", "template", "foreignobject"})
_MOST = 5_000  # open elements; deeper ones are not told apart
_ENDS_P = BLOCKS - {"body", "html", "legend", "noscript", "textarea", *_PARTS}
# Elements that the start of another ends, unless one of the last group stands between.
_ENDED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "li": (("li",), LISTS),
    **dict.fromkeys(("dt", "dd"), (("dt", "dd"), LISTS)),
    **dict.fromkeys(("td", "th"), (("td", "th", "caption"), ("table",))),
    "tr": (("tr", "td", "th", "caption"), ("table",)),
    **dict.fromkeys(("tbody", "thead", "tfoot", "caption"), (_PARTS, ("table",))),
    "option": (("option",), ("select", "datalist")),
    "optgroup": (("option", "optgroup"), ("select", "datalist")),
    **dict.fromkeys(("rt", "rp", "rb", "rtc"), (("rt", "rp", "rb"), ("ruby",))),
}
_HIDDEN = frozenset({"script", "style", "template", "datalist", "noembed", "ix:header", "rp", "mjx-math", "symbol"}) | {
    *("defs", "epub:default")
}
_LABELS = frozenset({"text", "title", "foreignobject"})  # what a drawing shows as text
_NO_CLASSES: frozenset[str] = frozenset()
# Second copies of formulas, and links to edit a section.
_HIDDEN_CLASSES = frozenset({"katex-html", "MathJax_Preview", "MathJax", "MathJax_SVG", "MathJax_CHTML"}) | {
    "mw-editsection"
}
_LANGUAGE = re.compile(r"(?<![\w-])(?:lang(?:uage)?-|highlight-(?:source-)?|brush: ?|sourceCode )([\w+#.-]+)")
_NO_LANGUAGES = frozenset({"default", "none", "notranslate"})
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*(lower|upper)-(alpha|latin|roman)")
_BOLD = re.compile(r"font-weight\s*:\s*(\w{1,10})")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|mso-hide\s*:\s*all")
_LINES = re.compile(r"white-space\s*:\s*(pre|normal|nowrap)")


class Visibility(IntEnum):
    """Whether the text of an element is shown."""

    YES = 0
    NOT_IN_DRAWING = 1  # except in its labels
    NO = 2


@dataclass(slots=True, eq=False)
class Element:
    """An open element.

    Attributes:
        tag: Its name in lower case; empty if an end tag ended it across others.
        attributes: Its attributes.
        shown: Whether its text is shown.
        bold: Whether its text is bold.
        keeps_lines: Whether line ends in its text are shown.
        has_text: Whether it directly contains text.
        has_formula: Whether it contains a formula.
        is_note: Whether it links to a note.
    """

    tag: str
    attributes: Mapping[str, str]
    shown: Visibility = Visibility.YES
    bold: bool = False
    keeps_lines: bool = False
    has_text: bool = False
    has_formula: bool = False
    is_note: bool = False

    @property
    def classes(self) -> frozenset[str]:
        """Its classes."""
        return frozenset(self.attributes["class"].split()) if "class" in self.attributes else _NO_CLASSES

    @property
    def is_title(self) -> bool:
        """Whether it is a heading by its role."""
        return self.attributes.get("role") == "heading"

    @property
    def is_struck(self) -> bool:
        """Whether its text is struck through."""
        return self.tag in {"del", "s", "strike"} or "line-through" in self.attributes.get("style", "")

    @property
    def is_not_text(self) -> bool:
        """Whether its content is never shown, such as a script's, or a copy of a formula."""
        return self.tag in _HIDDEN or not self.classes.isdisjoint(_HIDDEN_CLASSES)

    @property
    def is_tiny(self) -> bool:
        """Whether it is too small to be seen, as pictures and frames that count visits are."""
        return any(self.attributes.get(name, "").removesuffix("px") in {"0", "1"} for name in ("width", "height"))

    @property
    def language(self) -> str:
        """The language of the code in it, or an empty string."""
        match = _LANGUAGE.search(self.attributes.get("class", ""))
        found = match[1] if match else self.attributes.get("data-lang") or self.attributes.get("data-language") or ""
        return found if re.fullmatch(r"[\w+#.-]+", found) and found not in _NO_LANGUAGES else ""

    @property
    def list_style(self) -> ListStyle:
        """The form of the numbers of its items."""
        styles: tuple[ListStyle, ...] = ("1", "a", "A", "i", "I")
        style = next((style for style in styles if style == self.attributes.get("type", "").strip()), styles[0])
        match = _LIST_STYLE.search(self.attributes.get("style", "").lower())
        return styles[(3 if match[2] == "roman" else 1) + (match[1] == "upper")] if match else style

    def whole(self, name: str, least: int = -(10**6), most: int = 10**6) -> int | None:
        """Return the whole number of an attribute, moved into limits, or None."""
        if name not in self.attributes:
            return None
        text = self.attributes[name].strip()
        digits = text.removeprefix("-")
        is_whole = digits.isascii() and digits.isdecimal() and len(digits) < 10
        return min(max(int(text), least), most) if is_whole else None


class OpenElements:
    """The elements around the current place, the innermost last."""

    def __init__(self) -> None:
        self.all = [Element("", {})]
        self._places: dict[str, list[int]] = defaultdict(list)
        self._scopes = [0]
        self._blocks = [0]

    @property
    def top(self) -> Element:
        """The innermost element."""
        return self.all[-1]

    def find(self, tag: str) -> Element | None:
        """Return the innermost element of a name, or None."""
        places = self._places.get(tag)
        return self.all[places[-1]] if places else None

    def push(self, tag: str, attributes: Mapping[str, str]) -> Element | None:
        """Open an element, or return None if they nest too deeply."""
        if len(self.all) > _MOST:
            return None
        around = self.all[-1]
        element = Element(tag, attributes, around.shown, around.bold or tag in {"b", "strong"}, around.keeps_lines)
        if style := attributes.get("style"):
            _apply(style.lower(), element)
        if attributes or around.shown or tag in _HIDDEN or tag == "svg":
            element.shown = _visibility(element, around)
        place = len(self.all)
        self.all.append(element)
        self._places[tag].append(place)
        if tag in BLOCKS:
            self._blocks.append(place)
        if tag in _SCOPES:
            self._scopes.append(place)
        return element

    def ended_by_start(self, tag: str) -> Iterable[Element]:
        """Return the elements that a start tag ends, the innermost first; each is closed when it is taken."""
        place = self._place("p") if tag in _ENDS_P else -1
        places = [place] if place > self._scopes[-1] else []
        if tag in _ENDED:
            ended, between = _ENDED[tag]
            barrier = max(map(self._place, between))
            places += [place for name in ended if (place := self._place(name)) > barrier]
        return self._down_to(min(places)) if places else ()

    def ended_by_end(self, tag: str) -> Iterable[Element]:
        """Return the elements that an end tag ends, the innermost first; each is closed when it is taken."""
        place = self._place(tag)
        barrier = self._scopes[-1]
        if tag not in BLOCKS and barrier < place < self._blocks[-1]:
            return self._across(place)
        if tag == "li":
            barrier = max(barrier, *map(self._place, LISTS))
        elif tag in _PARTS:
            barrier = self._place("table")
        elif tag in _SCOPES:
            barrier = 0
        return self._down_to(place) if place > barrier else ()

    def ended_with(self, tag: str) -> Iterable[Element]:
        """Return the elements down to the innermost of a name, whatever stands between."""
        return self._down_to(self._place(tag)) if self._place(tag) > 0 else ()

    def rest(self) -> Iterable[Element]:
        """Return all elements, the innermost first."""
        return self._down_to(1)

    def _place(self, tag: str) -> int:
        places = self._places.get(tag)
        return places[-1] if places else -1

    def _down_to(self, place: int) -> Iterator[Element]:
        while len(self.all) > place:
            yield self._pop()

    def _across(self, place: int) -> Iterator[Element]:
        """Yield an inline element that ends inside a block that began in it."""
        element = self.all[place]
        self._places[element.tag].pop()
        yield element
        element.tag = ""

    def _pop(self) -> Element:
        element = self.all.pop()
        if element.tag:
            self._places[element.tag].pop()
        for places in (self._blocks, self._scopes):
            if places[-1] == len(self.all):
                places.pop()
        return element


def _apply(style: str, element: Element) -> None:
    """Apply what an inline style says of the text."""
    if "weight" in style and (weight := _BOLD.search(style)):
        value = weight[1]
        element.bold = int(value) >= 600 if value.isdecimal() else value in {"bold", "bolder"}
    if "white-space" in style and (lines := _LINES.search(style)):
        element.keeps_lines = lines[1] == "pre"
    if ("none" in style or "visib" in style or "hide" in style) and _INVISIBLE.search(style):
        element.shown = Visibility.NO


def _visibility(element: Element, around: Element) -> Visibility:
    if around.shown == Visibility.NO:
        # The readable form of a formula that is shown as a picture or by a script.
        is_source = element.tag == "math" and "math" in around.attributes.get("class", "").lower()
        return Visibility.YES if is_source else Visibility.NO
    if _is_hidden(element, around):
        return Visibility.NO
    if element.tag == "svg":
        return Visibility.NOT_IN_DRAWING
    is_label = around.shown == Visibility.NOT_IN_DRAWING and element.tag in _LABELS
    return Visibility.YES if is_label else around.shown


def _is_hidden(element: Element, around: Element) -> bool:
    attributes = element.attributes
    if element.shown == Visibility.NO or attributes.get("hidden", "until-found") != "until-found":
        return True
    if element.tag in _HIDDEN:
        is_formula = element.tag == "script" and attributes.get("type", "").startswith("math/tex")
        return not (is_formula or "shadowrootmode" in attributes)
    if "class" not in attributes:
        return False
    found = element.classes & _HIDDEN_CLASSES
    return bool(found) and ("katex-html" not in found or around.has_formula)


_LONG_NUMBER = re.compile(r"&#([0-9]{100,})")


def prepared(source: str) -> str:
    """Return HTML with legible characters and line ends as in the standard, and nothing that is never closed."""
    return _closed(with_readable_numbers(legible(source)).replace("\r\n", "\n").replace("\r", "\n"))


def with_readable_numbers(source: str) -> str:
    """Shorten numeric references with very many digits, for which Python's `html` raises; the meaning stays.

    Leading zeros have no meaning, and every number of eight digits is beyond Unicode and read as U+FFFD.
    """
    return _LONG_NUMBER.sub(lambda match: f"&#{match[1].lstrip('0')[:8] or '0'}", source)


def _closed(source: str) -> str:
    """Escape tags and comments that are never closed.

    Their text would be kept anyway, but the standard library searches to the end of the file for each of them.
    """
    if "<!--" in source:
        source = source.replace("--!>", "-->")  # ends a comment, too
    head, end, tail = source.rpartition("-->")
    source = head + end + tail.replace("<!--", "&lt;!--")
    head, end, tail = source.rpartition(">")
    return head + end + tail.replace("<", "&lt;")

"""The tags of an HTML page as calls of the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html.parser import HTMLParser

from kinsplit.loaders.html.elements import BLOCKS, HEADINGS, VOID, Element, OpenElements, Visibility, prepared
from kinsplit.loaders.html.mathml import Formula
from kinsplit.loaders.markup.scripts import Script, written
from kinsplit.loaders.markup.writer import MarkdownWriter

_NESTED_PAGES = 3
_TO_THE_END = 65_534  # rows of a cell that reaches to the end of its group
_MOST_HELD = 16  # elements that hold back text, one inside the other
_REMEMBERED = 200  # characters of a line, to recognise a second copy
_SPACED = frozenset({"button", "text", "title", "foreignobject", "video", "audio", "canvas", "object"})
# Elements whose text is held back, since what becomes of it depends on the whole.
_HELD = frozenset({"sup", "sub", "abbr", "acronym", "dfn", "option", "ruby", "rt", "script"})
_MEDIA = {"video": "video", "audio": "sound", "canvas": "canvas"} | dict.fromkeys(
    ("object", "embed"), "embedded object"
)
_NO_VALUE = frozenset({"hidden", "password", "file", "image", "color", "range"})
_NOTE_CLASSES = frozenset({"footnote-ref", "footnoteref", "footnote-reference", "noteref"})  # of links
_LONGEST_MARK = 10  # characters of a note's mark
_LINK_CLASSES = frozenset({"headerlink", "permalink", "header-anchor", "heading-anchor", "hash-link"}) | {
    *("anchor", "anchor-link", "anchorjs-link")
}
_TO_ITSELF = frozenset({"", "¶", "#", "§", "🔗", "⚓", "\u200b", "link", "permalink"})
_LINE_TABLES = frozenset({"hljs-ln", "js-file-line-container"})
_LINE_NUMBERS = frozenset(
    ["lineno", "linenos", "linenumber", "line-number", "line-numbers", "lnt", "ln", "blob-num", "hljs-ln-numbers"]
)


class PageReader(HTMLParser):
    """A page that is written while it is read.

    Attributes:
        writer: What it is written with.
    """

    def __init__(self, writer: MarkdownWriter, depth: int = 0) -> None:
        super().__init__()
        self.writer = writer
        self._depth = depth
        self._title: list[str] = []
        self._in_title = False
        self._open = OpenElements()
        self._held: list[tuple[Element, list[str]]] = []  # elements whose text is held back
        self._shown = ""  # the end of the line so far
        self._formula: tuple[Formula, Element] | None = None
        self._has_source = False  # whether the formula that was typeset has been written
        self._is_labelled = False  # whether the open drawing has text
        self._hides_text = False  # whether the open hidden element has text
        self._picture = ""  # text of the last one
        self._ruby: list[tuple[str, str]] = []  # bases and readings
        self._options: list[tuple[str, bool]] = []  # and whether they are chosen
        self._expanded: set[str] = set()  # abbreviations

    @property
    def title(self) -> str | None:
        """The page's title."""
        return " ".join("".join(self._title).split()) or None

    def read(self, source: str) -> None:
        """Write the whole page."""
        self.feed(prepared(source))
        self.close()
        self._end_all(self._open.rest())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element, which may end others."""
        attributes = {name: value or "" for name, value in attrs}
        self._in_title = False
        if tag in BLOCKS and (self._formula or self._open.find("svg")):
            self._leave_formula_and_drawing()
        self._end_all(self._open.ended_by_start(tag))
        around = self._open.all[-1]
        if tag in VOID:
            if around.shown == Visibility.YES:
                self._void(Element(tag, attributes))
        elif tag == "title" and not self._title and self._open.find("svg") is None:
            self._in_title = True
        elif element := self._open.push(tag, attributes):
            if self._formula:
                self._formula[0].start(tag, attributes)
            elif element.shown == Visibility.YES:
                self._start(element)
            elif around.shown == Visibility.YES:
                self._start_hidden(element)
        elif tag in BLOCKS:
            self._block()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write an element of XML without content."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """End an element with those inside it."""
        self._in_title = False
        if tag == "p" and self._open.find("p") is None:
            self._block()
        elif tag == "br":
            self._void(Element(tag, {}))
        self._end_all(self._open.ended_by_end(tag))

    def handle_data(self, data: str) -> None:
        """Write text where it belongs."""
        top = self._open.all[-1]
        is_blank = data.isspace()
        if self._in_title:
            self._title.append(data)
        elif top.shown != Visibility.YES:
            self._hides_text = self._hides_text or not (is_blank or top.is_not_text)
        elif self._formula:
            self._formula[0].text(data)
        elif top.tag == "noframes":  # newer parsers give its markup as text
            self._inner_page(data)
        else:
            top.has_text = top.has_text or not is_blank
            self._put(data)

    def updatepos(self, _: int, end: int) -> int:
        """Count no lines, which nobody asks for."""
        return end

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip a marked section."""
        # `<![if IE]>` and the like are comments in HTML; the standard library raises for unknown ones.
        return self.parse_bogus_comment(i, report)

    def _start(self, element: Element) -> None:
        tag = element.tag
        if tag in BLOCKS:
            self._release()
        if tag in _SPACED:
            self._put(" ")
        if start := _STARTS.get(tag):
            start(self, element)
        elif element.is_title:
            self.writer.start_heading(element.whole("aria-level", 1, 6) or 2)
        elif tag in BLOCKS:
            self.writer.block()
        if len(self._held) < _MOST_HELD and self._is_held(element):
            self._held.append((element, []))

    def _end_all(self, elements: Iterable[Element]) -> None:
        for element in elements:
            if element.tag:  # else an end tag ended it across others
                self._end(element)

    def _end(self, element: Element) -> None:
        tag = element.tag
        if self._formula:
            self._end_in_formula(element, *self._formula)
        elif element.shown != Visibility.YES:
            self._end_hidden(element)
        else:
            if self._held and self._held[-1][0] is element:
                self._finish(*self._held.pop())
            if tag in BLOCKS:
                self._release()
            if end := _ENDS.get(tag):
                end(self, element)
            elif element.is_title:
                self.writer.end_heading()
            elif tag in BLOCKS:
                self.writer.block()
            elif tag in _SPACED:
                self._put(" ")

    def _block(self) -> None:
        self._release()
        self.writer.block()

    def _release(self) -> None:
        """Write what is held back, since a block begins or ends."""
        self._shown = ""
        if self._held:
            held, self._held = self._held, []
            for element, parts in held:
                self._finish(element, parts)

    def _put(self, data: str) -> None:
        """Write text, or hold it back."""
        if self._held:
            self._held[-1][1].append(data)
            return
        top = self._open.all[-1]
        self._is_labelled = True
        self._shown = (self._shown + data)[-_REMEMBERED:]
        if "\u00ad" in data and not self._open.find("pre"):
            data = data.replace("\u00ad", "")
        first, *lines = data.split("\n") if top.keeps_lines else [data]
        self.writer.text(first, bold=top.bold)
        for line in lines:
            self.writer.line_break()
            self.writer.text(line, bold=top.bold)

    def _start_hidden(self, element: Element) -> None:
        self._hides_text = False
        if element.tag == "svg":
            label = element.attributes.get("aria-label")
            self._put(f" {label} " if label else "")
            self._is_labelled = bool(label)

    def _end_hidden(self, element: Element) -> None:
        if self._open.top.shown == Visibility.NO:
            return
        if element.tag == "svg":
            if not self._is_labelled and self._open.find("a") is None and self._open.find("button") is None:
                self.writer.left_out.add("drawing without a text", "drawings without a text")
        elif element.shown == Visibility.NO and self._hides_text and not element.is_not_text:
            self.writer.left_out.add("hidden passage")

    def _leave_formula_and_drawing(self) -> None:
        """End what can't contain blocks, as in browsers."""
        if self._formula:
            self._end_all(self._open.ended_with("math"))
        if self._open.find("svg") and not self._open.find("foreignobject"):
            self._end_all(self._open.ended_with("svg"))

    # Formulas, pictures, forms and other media

    def _start_formula(self, element: Element) -> None:
        if element.attributes.get("display") == "block":
            self.writer.block()
        self._formula = Formula(), element

    def _end_in_formula(self, element: Element, formula: Formula, outermost: Element) -> None:
        if element is not outermost:
            formula.end()
            return
        self._formula = None
        self._has_source = self._open.top.shown == Visibility.NO
        for around in self._open.all[-3:]:
            around.has_formula = True
        self._put(str(formula) or element.attributes.get("alttext", ""))
        if element.attributes.get("display") == "block":
            self.writer.block()

    def _void(self, element: Element) -> None:
        match element.tag:
            case "br":
                self._release()
                self.writer.line_break()
            case "hr":
                self._block()
            case "img":
                self._add_picture(element)
            case "input":
                self._add_field(element.attributes)
            case "embed" | "frame":
                self.writer.left_out.add(_MEDIA.get(element.tag, "embedded page"))

    def _add_picture(self, element: Element) -> None:
        attributes = element.attributes
        text = next((text for name in ("alt", "aria-label", "title") if (text := attributes.get(name, "").strip())), "")
        is_copy = self._open.find("noscript") is not None and text in {"", self._picture}
        is_formula = "mwe-math-fallback" in attributes.get("class", "") and self._open.top.has_formula
        if is_copy or is_formula or element.is_tiny:
            return
        if text:
            self._picture = text
            self._put(f" {text} ")
        else:
            self.writer.left_out.add("picture without a text", "pictures without a text")

    def _add_field(self, attributes: Mapping[str, str]) -> None:
        kind = attributes.get("type", "text").lower()
        if "hidden" in attributes or "hidden" in attributes.get("class", "").split() or kind in _NO_VALUE:
            return
        if kind in {"checkbox", "radio"}:
            self._put(" ☒ " if "checked" in attributes else " ☐ ")
        elif value := attributes.get("value"):
            self._put(f" {value} ")

    def _end_choice(self, element: Element) -> None:
        options = self._options
        several = "multiple" in element.attributes or (element.whole("size") or 1) > 1
        if several:
            self._put(" ".join(f" {'☒' if is_chosen else '☐'} {text}" for text, is_chosen in options) + " ")
            return
        chosen = [text for text, is_chosen in options if is_chosen][-1:] or [text for text, _ in options[:1]]
        self._put(f" {' '.join(chosen)} ")
        if len(options) > 1:
            self.writer.left_out.add("option that is not chosen", "options that are not chosen", len(options) - 1)

    def _start_media(self, element: Element) -> None:
        self.writer.left_out.add(_MEDIA[element.tag])

    def _start_frame(self, element: Element) -> None:
        element.shown = Visibility.NO  # its content is for browsers without frames
        if source := element.attributes.get("srcdoc"):
            self._inner_page(source)
        elif not element.is_tiny:
            self.writer.left_out.add("embedded page")

    def _inner_page(self, source: str) -> None:
        self._block()
        if self._depth == _NESTED_PAGES:
            self.writer.left_out.add("embedded page")
            return
        PageReader(self.writer, self._depth + 1).read(source)
        self.writer.block()

    # Blocks

    def _start_heading(self, element: Element) -> None:
        self.writer.start_heading(HEADINGS[element.tag])

    def _start_list(self, element: Element) -> None:
        is_ordered, is_descending = element.tag == "ol", "reversed" in element.attributes
        style = element.list_style
        self.writer.start_list(ordered=is_ordered, start=element.whole("start"), style=style, descending=is_descending)

    def _start_item(self, element: Element) -> None:
        self.writer.start_item(element.whole("value"))

    def _start_term(self, element: Element) -> None:
        if self._open.find("dl"):
            self.writer.start_item(label="" if element.tag == "dt" else ":")
        else:
            self.writer.block()

    def _start_table(self, element: Element) -> None:
        if element.classes.isdisjoint(_LINE_TABLES):
            self.writer.start_table(is_layout=element.attributes.get("role") in {"presentation", "none"})
        else:
            self.writer.start_pre("")

    def _end_table(self, element: Element) -> None:
        if element.classes.isdisjoint(_LINE_TABLES):
            self.writer.end_table()
        else:
            self.writer.end_pre()

    def _start_rows(self, element: Element) -> None:
        self.writer.start_rows(last=element.tag == "tfoot")

    def _start_cell(self, element: Element) -> None:
        rows = element.whole("rowspan", 0, 65_534)
        self.writer.start_cell(element.whole("colspan", 1, 1_000) or 1, 1 if rows is None else rows or _TO_THE_END)

    def _start_pre(self, _: Element) -> None:
        languages = (one.language for one in reversed(self._open.all[-3:]))
        self.writer.start_pre(next(filter(None, languages), ""))

    def _start_code(self, element: Element) -> None:
        self.writer.name_language(element.language)

    def _start_text_area(self, element: Element) -> None:
        self.writer.block()
        element.keeps_lines = True

    def _add_quotation_mark(self, element: Element) -> None:
        self._put("“" if self._open.top is element else "”")

    # Text that is held back

    def _is_held(self, element: Element) -> bool:
        tag, attributes = element.tag, element.attributes
        if tag == "a":
            return self._is_held_link(element)
        if tag == "sup":
            link = self._open.all[-2]
            is_link = link.tag == "a" and not link.has_text and "#" in link.attributes.get("href", "")
            element.is_note = is_link or not element.classes.isdisjoint(_NOTE_CLASSES | {"reference", "footnote"})
        if tag in _HELD or self._is_line_number(element):
            return True
        return tag not in BLOCKS and (element.is_struck or attributes.get("aria-hidden") == "true")

    def _is_held_link(self, element: Element) -> bool:
        attributes, classes = element.attributes, element.classes
        kind = f"{attributes.get('epub:type', '')} {attributes.get('role', '')}"
        to_place = bool(attributes.get("href", "").partition("#")[2])
        if self._held and self._held[-1][0].tag == "sup":
            self._held[-1][0].is_note = self._held[-1][0].is_note or to_place or "noteref" in kind
        element.is_note = "noteref" in kind or (to_place and not classes.isdisjoint(_NOTE_CLASSES))
        is_in_heading = any(self._open.find(heading) for heading in HEADINGS)
        return element.is_note or (to_place and (is_in_heading or not classes.isdisjoint(_LINK_CLASSES)))

    def _is_line_number(self, element: Element) -> bool:
        is_named = "class" in element.attributes and not element.classes.isdisjoint(_LINE_NUMBERS)
        if not is_named and "data-line-number" not in element.attributes:
            return False
        return element.tag == "td" or self._open.find("pre") is not None

    def _finish(self, element: Element, parts: list[str]) -> None:
        """Write the text that was held back for an element."""
        text = "".join(parts)
        bare = text.strip()
        match element.tag:
            case "sup" | "sub" if bare:
                kind: Script = "subscript" if element.tag == "sub" else "mark" if element.is_note else "superscript"
                self._script(bare, kind)
                self._put(" " if text[-1].isspace() else "")
            case "a" if element.is_note and len(bare) <= _LONGEST_MARK:
                self._script(bare, "mark")
            case "a" if bare.lower() in _TO_ITSELF:
                return
            case _ if element.is_struck and bare:
                self._put(text.replace(bare, f"~~{bare}~~", 1))
            case "abbr" | "acronym" | "dfn":
                self._put(text + self._expansion(bare, element.attributes.get("title", "").strip()))
            case "option" if self._open.find("select"):
                self._options.append((bare or element.attributes.get("label", ""), "selected" in element.attributes))
            case "rt" if self._held and self._held[-1][0].tag == "ruby":
                base = self._held[-1][1]
                self._ruby.append(("".join(base), bare))
                base.clear()
            case "rt":
                self._put(f"({bare})")
            case "ruby":
                self._put(self._with_reading() + text)
            case "script":
                self._put("" if self._has_source else f" {bare} ")
                self._has_source = False
            case _ if self._is_copy(element, text) or (self._is_line_number(element) and bare.isdecimal()):
                return
            case _:
                self._put(text)

    def _script(self, text: str, kind: Script) -> None:
        if not self._held:
            self._shown += text
            {
                "superscript": self.writer.superscript,
                "subscript": self.writer.subscript,
                "mark": self.writer.mark,
            }[kind](text)
            return
        outer, parts = self._held[-1]
        if outer.tag in {"sup", "a"}:
            outer.is_note = outer.is_note or kind == "mark"
        is_plain = outer.is_note or kind == "mark"
        parts.append(text if is_plain and outer.tag in {"sup", "a"} else written(text, kind, "".join(parts[-5:]), ""))

    def _expansion(self, short: str, title: str) -> str:
        """Return the long form of an abbreviation the first time that it occurs."""
        is_known = not title or title.casefold() == short.casefold() or short in self._expanded
        if is_known or any(map(str.isdecimal, title)):
            return ""
        self._expanded.add(short)
        return f" ({title})"

    def _with_reading(self) -> str:
        """Return the bases of the open ruby with their readings behind them."""
        ruby, self._ruby = self._ruby, []
        base, reading = "".join(base for base, _ in ruby), "".join(reading or base for base, reading in ruby)
        return f"{base}({reading})" if any(map(str.isalnum, reading)) and reading != base else base

    def _is_copy(self, element: Element, text: str) -> bool:
        """Return whether text for the eye only repeats that for the ear before it, such as a price in pieces."""
        copy = "".join(text.split())
        if element.attributes.get("aria-hidden") != "true" or len(copy) < 2:
            return False
        at, left = len(self._shown), len(copy)
        while at and left:
            at -= 1
            left -= not self._shown[at].isspace()
        is_whole = not (copy[0].isalnum() and self._shown[at - 1 : at].isalnum())
        return is_whole and "".join(self._shown[at:].split()) == copy


_STARTS: dict[str, Callable[[PageReader, Element], None]] = {
    **dict.fromkeys(HEADINGS, PageReader._start_heading),
    **dict.fromkeys(("ul", "ol", "menu", "dir", "dl"), PageReader._start_list),
    **dict.fromkeys(("dt", "dd"), PageReader._start_term),
    **dict.fromkeys(("thead", "tbody", "tfoot"), PageReader._start_rows),
    **dict.fromkeys(("td", "th"), PageReader._start_cell),
    **dict.fromkeys(("pre", "xmp", "listing"), PageReader._start_pre),
    **dict.fromkeys(("video", "audio", "canvas", "object"), PageReader._start_media),
    "li": PageReader._start_item,
    "table": PageReader._start_table,
    "tr": lambda page, _: page.writer.start_row(),
    "code": PageReader._start_code,
    "q": PageReader._add_quotation_mark,
    "math": PageReader._start_formula,
    "select": lambda page, _: page._options.clear(),
    "textarea": PageReader._start_text_area,
    "iframe": PageReader._start_frame,
}
# What happens where an element ends.
_ENDS: dict[str, Callable[[PageReader, Element], None]] = {
    **dict.fromkeys(HEADINGS, lambda page, _: page.writer.end_heading()),
    **dict.fromkeys(("ul", "ol", "menu", "dir", "dl"), lambda page, _: page.writer.end_list()),
    **dict.fromkeys(("td", "th", "tr"), lambda page, _: page.writer.end_cell()),
    **dict.fromkeys(("pre", "xmp", "listing"), lambda page, _: page.writer.end_pre()),
    "table": PageReader._end_table,
    "q": PageReader._add_quotation_mark,
    "select": PageReader._end_choice,
}

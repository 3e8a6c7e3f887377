"""HTML as readable Markdown-like text.

Headings become `## Title`, list items `- ` or `1. `, tables pipe tables, `<pre>` fences, and images their alternative
text. Entities are decoded, and whitespace is collapsed as in a browser, including no-break spaces. Scripts, styles,
templates and drawings (`svg`) are dropped; all other text remains, in any element. The `<title>` (else the first
`<h1>`) goes into the metadata.

Headings are those of the tags, the items of a filing, lines that are bold as a whole below them, and above them all the
`<title>`, unless the only outermost heading repeats it.

Layout tables are not rendered as tables: from the first cell with a heading, `<pre>` or another table, a table is read
as blocks, and so are tables of a single row or column. Empty rows and columns are dropped, the first row is the header,
and row spans are not repeated.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from kinsplit.loaders.content import Content, Format, Reading
from kinsplit.loaders.decoding import decode, legible
from kinsplit.loaders.formats.headings import filing_headings, layered, titled, without_running
from kinsplit.loaders.formats.markdown_writer import MarkdownWriter
from kinsplit.spans import Heading
from kinsplit.text.blocks import markdown_headings

_HIDDEN = frozenset({"script", "style", "template", "svg"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog"),
        *("dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header"),
        *("hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "noscript", "ol", "optgroup"),
        *("option", "p", "pre", "search", "section", "select", "summary", "table", "tbody", "td", "tfoot"),
        *("th", "thead", "tr", "ul", "xmp", "listing"),
        *_HEADINGS,
    }
)
_LISTS, _PREFORMATTED = ("ul", "ol", "menu", "dir"), ("pre", "xmp", "listing")
# What the writer does where an element ends.
_ENDS = {
    **dict.fromkeys(_BLOCKS, MarkdownWriter.block),
    **dict.fromkeys(_HEADINGS, MarkdownWriter.end_heading),
    **dict.fromkeys(_LISTS, MarkdownWriter.end_list),
    **dict.fromkeys(("td", "th", "tr"), MarkdownWriter.end_cell),
    **dict.fromkeys(_PREFORMATTED, MarkdownWriter.end_pre),
    "table": MarkdownWriter.end_table,
}
_CHARSET = re.compile(
    rb"<meta[^>]{1,200}?charset\s*=\s*(?:[\"']\s*)?([\w.:-]+)|<\?xml[^>]{1,200}?encoding=[\"']([\w.-]+)", re.I
)
_INLINE = frozenset({"b", "strong", "font", "span", "p", "div", "td", "th", "a", "i", "em", "u"})
_WEIGHT = re.compile(r"font-weight:\s*(\w{1,10})", re.IGNORECASE)
_DEEPEST = 100  # open elements; files may nest any number
_LONG_NUMBER = re.compile(r"&#([0-9]{100,})")
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]+)")


def read(data: bytes) -> Reading:
    """Return the readable text of an HTML page, with its title."""
    charset = _CHARSET.search(data[:4096])
    source, warnings = decode(data, (charset[1] or charset[2]).decode("ascii", "replace") if charset else None)
    page = readable_html(source)
    title = page.title or page.first_heading
    return Reading((Content(page.text, title, headings=titled(page.headings, page.title)),), warnings)


class HtmlPage(NamedTuple):
    """The readable text of HTML."""

    text: str
    title: str | None
    first_heading: str | None
    headings: tuple[Heading, ...]


def readable_html(source: str) -> HtmlPage:
    """Return the readable text of HTML, with its headings."""
    page = _Page()
    lines = with_readable_numbers(legible(source)).replace("\r\n", "\n").replace("\r", "\n")  # as in the HTML standard
    page.feed(_closed(lines))
    page.close()
    text = page.writer.finish()
    tagged, bold = without_running(markdown_headings(text), 0.5), without_running(page.writer.bold_lines)
    headings = layered(filing_headings(text), tagged, bold)
    return HtmlPage(text, page.title, page.writer.first_heading, headings)


def with_readable_numbers(source: str) -> str:
    """Shorten numeric references with very many digits, for which Python's `html` raises; the meaning stays.

    Leading zeros have no meaning, and every number of eight digits is beyond Unicode and read as U+FFFD.
    """
    return _LONG_NUMBER.sub(lambda match: f"&#{match[1].lstrip('0')[:8] or '0'}", source)


def _closed(source: str) -> str:
    """Escape tags and comments that are never closed.

    Their text would be kept anyway, but the standard library searches to the end of the file for each of them.
    """
    head, end, tail = source.rpartition("-->")
    source = head + end + tail.replace("<!--", "&lt;!--")
    head, end, tail = source.rpartition(">")
    return head + end + tail.replace("<", "&lt;")


class _Page(HTMLParser):
    """Translates tags into calls of a writer."""

    def __init__(self) -> None:
        super().__init__()
        self.writer = MarkdownWriter()
        self._title: list[str] = []
        self._in_title = False
        self._hidden = ""  # the element whose content is dropped, and the number of open ones of its kind
        self._depth = 0
        self._styled: list[tuple[str, bool]] = []  # open elements within a line, and whether their text is bold

    @property
    def title(self) -> str | None:
        return " ".join("".join(self._title).split()) or None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = False
        if self._hidden == "svg" and tag in _BLOCKS:
            self._hidden = ""  # as in browsers, an unclosed drawing ends at the next block
        if self._hidden:
            self._depth += tag == self._hidden
            return
        if tag in _HIDDEN:
            self._hidden, self._depth = tag, 1
            return
        write = self.writer
        if tag in _INLINE:
            self._style(tag, dict(attrs).get("style") or "")
        if tag == "title" and not self._title:
            self._in_title = True
        elif tag == "br":
            write.line_break()
        elif tag == "img":
            write.text(f" {dict(attrs).get('alt') or ''} ")
        elif tag in _HEADINGS:
            write.start_heading(_HEADINGS[tag])
        elif tag in _LISTS:
            write.start_list(ordered=tag == "ol")
        elif tag == "li":
            write.start_item()
        elif tag == "table":
            write.start_table()
        elif tag == "tr":
            write.start_row()
        elif tag in {"td", "th"}:
            write.start_cell(_span(dict(attrs).get("colspan")), _span(dict(attrs).get("rowspan")))
        elif tag in _PREFORMATTED:
            write.start_pre(_language(attrs))
        elif tag == "code":
            write.name_language(_language(attrs))
        elif tag in _BLOCKS:
            write.block()

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if self._hidden:
            self._depth -= tag == self._hidden
            if not self._depth:
                self._hidden = ""
            return
        if tag in _INLINE:
            self._unstyle(tag)
        if tag in _ENDS:
            _ENDS[tag](self.writer)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._hidden:
            self.writer.text(data, bold=bool(self._styled) and self._styled[-1][1])

    def _style(self, tag: str, style: str) -> None:
        weight = _WEIGHT.search(style)
        around = bool(self._styled) and self._styled[-1][1]
        bold = tag in {"b", "strong"} or (_is_bold(weight[1]) if weight else around)
        if len(self._styled) < _DEEPEST:
            self._styled.append((tag, bold))

    def _unstyle(self, tag: str) -> None:
        opened = next((at for at in range(len(self._styled) - 1, -1, -1) if self._styled[at][0] == tag), None)
        if opened is not None:
            del self._styled[opened:]

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # `<![if IE]>` and the like are comments in HTML; the standard library raises for unknown ones.
        return self.parse_bogus_comment(i, report)


def _is_bold(weight: str) -> bool:
    return int(weight) >= 600 if weight.isdecimal() else weight.lower() in {"bold", "bolder"}


def _span(colspan: str | None) -> int:
    digits = (colspan or "").strip()
    return min(max(int(digits), 1), 100) if digits.isdecimal() and len(digits) < 5 else 1


def _language(attrs: list[tuple[str, str | None]]) -> str:
    match = _LANGUAGE.search(dict(attrs).get("class") or "")
    return match[1] if match else ""


FORMAT = Format("html", (".html", ".htm"), "readable text with Markdown headings, lists, tables and fences", read)

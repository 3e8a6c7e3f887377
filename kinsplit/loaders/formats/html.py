"""HTML as readable Markdown-like text, as a browser shows it.

Headings become `## Title`, list items `- ` or the number that is shown, terms with their definitions two lines (the
second begins with `: `), tables pipe tables, `<pre>` fences with the language of its class, and images their
alternative text. Merged cells keep every value in its own column. Superscripts are written as `10^5`, marks of notes as
`word[1]`, formulas in MathML as `x=1/2`, readings of ideographs as `行(い)`, struck text as `~~20~~`. Of form fields
the values remain, of choices what is chosen (`☒`, `☐`).

Entities are decoded, and whitespace is collapsed as in a browser, including no-break spaces. What a browser does not
show is left out: scripts, styles, templates, elements that are `hidden` or have `display: none`, the second copy of a
formula, links from a heading to itself, and numbers of lines beside code. All other text remains, in any element. The
`<title>` (else the first `<h1>`) goes into the metadata.

Headings are those of the tags, the items of a filing, lines that are bold as a whole below them, and above them all the
`<title>`, unless the only outermost heading repeats it.

Tables that only arrange a page are read as blocks: those of a single row or column or with `role="presentation"`, and
rows with code, with headings above text or with very long cells. Empty rows and columns are dropped, and the first row
is the header.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kinsplit.loaders.content import Content, Format, LeftOut, Reading
from kinsplit.loaders.decoding import decode
from kinsplit.loaders.html.page import PageReader
from kinsplit.loaders.markup.headings import filing_headings, layered, titled, without_running
from kinsplit.loaders.markup.writer import MarkdownWriter
from kinsplit.spans import Heading
from kinsplit.text.blocks import markdown_headings

_CHARSET = re.compile(
    rb"<meta[^>]{1,200}?charset\s*=\s*(?:[\"']\s*)?([\w.:-]+)|<\?xml[^>]{1,200}?encoding=[\"']([\w.-]+)", re.I
)


class HtmlPage(NamedTuple):
    """The readable text of HTML."""

    text: str
    title: str | None
    first_heading: str | None
    headings: tuple[Heading, ...]
    warnings: tuple[str, ...] = ()
    left_out: LeftOut = LeftOut()


def read(data: bytes) -> Reading:
    """Return the readable text of an HTML page, with its title."""
    page = read_page(data)
    title = page.title or page.first_heading
    content = Content(page.text, title, headings=titled(page.headings, page.title))
    return Reading((content,), (*page.warnings, *page.left_out.warnings))


def read_page(data: bytes) -> HtmlPage:
    """Return the readable text of an HTML page, with warnings of its charset."""
    charset = _CHARSET.search(data[:4096])
    source, warnings = decode(data, (charset[1] or charset[2]).decode("ascii", "replace") if charset else None)
    return readable_html(source)._replace(warnings=warnings)


def readable_html(source: str) -> HtmlPage:
    """Return the readable text of HTML, with its headings."""
    page = PageReader(MarkdownWriter())
    page.read(source)
    writer = page.writer
    text = writer.finish()
    tagged, bold = without_running(markdown_headings(text), 0.5), without_running(writer.bold_lines)
    headings = layered(filing_headings(text), tagged, bold)
    return HtmlPage(text, page.title, writer.first_heading, headings, left_out=writer.left_out)


FORMAT = Format("html", (".html", ".htm"), "readable text with Markdown headings, lists, tables and fences", read)

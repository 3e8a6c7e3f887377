"""Web pages (`.html`) without navigation, advertisements and comments, as `trafilatura` finds their main text.

A page in which it finds none is read whole, which a warning states.
"""

from __future__ import annotations

from dataclasses import replace

from kinsplit.loaders.content import Format, Reading
from kinsplit.loaders.formats.html import FORMAT as HTML
from kinsplit.loaders.formats.markdown import markdown_content
from kinsplit.support.extras import needs


def read(data: bytes) -> Reading:
    """Return the main text of a web page as Markdown, with its title and author."""
    with needs("trafilatura"):
        import trafilatura

    whole = HTML.read(data)
    text = trafilatura.extract(data, output_format="markdown", include_formatting=True, include_comments=False)
    if not text:
        return replace(whole, warnings=(*whole.warnings, "is read whole, since no main text can be told from the rest"))
    found = trafilatura.extract_metadata(data)
    metadata = {"author": found.author} if found and found.author else {}
    title = (found and found.title) or whole.contents[0].title
    return Reading((markdown_content(text, title, above=title, metadata=metadata),))


FORMATS = (Format(HTML.name, (*HTML.suffixes, ".xhtml"), "the main text without navigation, as Markdown", read),)

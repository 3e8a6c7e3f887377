"""Readers that are used only on request: main text of web pages, MarkItDown, and layouts.

Web pages (`.html`) without navigation, advertisements and comments, as `trafilatura` finds their main text. A page in
which it finds none is read whole, which a warning states.

Files read by `markitdown`, which also knows Outlook mails (`.msg`) and feeds (`.rss`, `.atom`). Its converter of the
suffix is called directly: `markitdown` itself would read a broken file as plain text.

Files read by `docling`, which finds the layout of PDFs and pictures with models, and its own JSON (`.json`). The models
are fetched from the network when docling reads its first PDF or picture, and need more than the default limits of time
and memory per file.
"""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from typing import Any

from kinsplit.chunk import Document
from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.formats.html import FORMAT as HTML
from kinsplit.loaders.markup.markdown import markdown_content
from kinsplit.support.extras import needs


def read_main_text(data: bytes) -> Reading:
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


_MAIN_TEXT = "the main text without navigation, as Markdown"
TRAFILATURA = (Format(HTML.name, (*HTML.suffixes, ".xhtml"), _MAIN_TEXT, read_main_text, "trafilatura"),)

# File types by suffix, those that both other readers know first.
_SHARED = {".pdf": "pdf", ".docx": "word", ".pptx": "slides", ".xlsx": "spreadsheet", ".html": "html", ".htm": "html"}
_LISTS = {".msg": "mail", ".rss": "feed", ".atom": "feed", ".xls": "spreadsheet", ".csv": "table"}
_TYPES = {**_SHARED, **_LISTS, ".epub": "epub", ".ipynb": "notebook"}
# The converters that don't have the names of their suffixes.
_CONVERTERS = {".msg": "OutlookMsg", ".atom": "Rss", ".htm": "Html"}


def read_markitdown(data: bytes, suffix: str) -> Reading:
    """Return the Markdown that `markitdown` makes of a file."""
    with needs("markitdown"):
        from markitdown import MissingDependencyException, StreamInfo, converters

    converter = getattr(converters, f"{_CONVERTERS.get(suffix, suffix[1:].capitalize())}Converter")()
    try:
        result = converter.convert(io.BytesIO(data), StreamInfo(extension=suffix))
    except MissingDependencyException as error:
        raise UnreadableError(f'needs a part of markitdown. Run: pip install "markitdown[{suffix[1:]}]"') from error
    except MemoryError:
        raise
    except Exception as error:  # each converter raises those of its libraries
        raise UnreadableError(f"can't be read by markitdown: {error!r}. Open it and save it again.") from error
    return Reading((markdown_content(result.markdown, result.title),))


MARKITDOWN = tuple(
    Format(name, (suffix,), "what markitdown makes of it", partial(read_markitdown, suffix=suffix), "markitdown")
    for suffix, name in _TYPES.items()
)

_PICTURES = dict.fromkeys((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"), "picture")


def read_layout(data: bytes, suffix: str) -> Reading:
    """Return the text that docling makes of a file, with its pages."""
    with needs("docling"):
        from docling.datamodel.base_models import DocumentStream
        from docling.document_converter import DocumentConverter
        from docling.exceptions import ConversionError

    try:
        result = DocumentConverter().convert(DocumentStream(name=f"file{suffix}", stream=io.BytesIO(data)))
    except ConversionError as error:
        raise UnreadableError(f"can't be read by docling: {' '.join(str(error).split())[:300]}") from error
    return _reading(result.document, None)


def read_json(data: bytes) -> Reading:
    """Return the text of a document that docling saved as JSON."""
    with needs("docling"):
        from docling_core.types.doc import DoclingDocument

    try:
        document = DoclingDocument.model_validate_json(data)
    except ValueError as error:
        raise UnreadableError("is not a document of docling. Save one with docling --to json.") from error
    return _reading(document, document.name)


def _reading(document: Any, title: str | None) -> Reading:
    layout = Document.from_docling(document)
    return Reading((markdown_content(layout.text, title, pages=layout.pages),))


DOCLING = (
    *(
        Format(name, (suffix,), "what docling makes of it, with pages", partial(read_layout, suffix=suffix), "docling")
        for suffix, name in (_SHARED | _PICTURES).items()
    ),
    Format("docling", (".json",), "the text of a document that docling saved, with pages", read_json, "docling"),
)

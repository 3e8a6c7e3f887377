"""Files read by `docling`, which finds the layout of PDFs and pictures with models, and its own JSON (`.json`).

The models are fetched from the network when docling reads its first PDF or picture, and need more than the default
limits of time and memory per file.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

from kinsplit.chunk import Document
from kinsplit.loaders.content import Format, Reading, UnreadableError
from kinsplit.loaders.formats.markdown import markdown_content
from kinsplit.support.extras import needs

_NAMES = {
    "pdf": (".pdf",),
    "word": (".docx",),
    "slides": (".pptx",),
    "spreadsheet": (".xlsx",),
    "html": (".html", ".htm"),
    "picture": (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"),
}


def read(data: bytes, suffix: str) -> Reading:
    """Return the text that docling makes of a file, with its pages.

    Args:
        data: The file.
        suffix: Its suffix, with the dot.
    """
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
    read = Document.from_docling(document)
    return Reading((markdown_content(read.text, title, pages=read.pages),))


FORMATS = (
    *(
        Format(name, (suffix,), "what docling makes of it, with pages", partial(read, suffix=suffix))
        for name, suffixes in _NAMES.items()
        for suffix in suffixes
    ),
    Format("docling", (".json",), "the text of a document that docling saved, with pages", read_json),
)

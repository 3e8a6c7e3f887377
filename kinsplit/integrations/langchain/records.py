"""Documents as entries that a store keeps, and back."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import Chunk
from kinsplit.integrations.origins import is_chunk
from kinsplit.integrations.records import Entry, from_chunk


def entry_of(document: Document, id_: str) -> Entry:
    """Return what a store keeps of a document, under an id that may not be its own."""
    metadata = document.metadata
    source_id = metadata["source_id"] if is_chunk(metadata) else id_
    return Entry(id_, document.page_content, metadata, source_id)


def document_of(chunk: Chunk) -> Document:
    """Return the document that a chunk was made of, or that stands for a chunk from elsewhere."""
    entry = from_chunk(chunk)
    return Document(id=entry.id, page_content=entry.text, metadata=dict(entry.metadata))

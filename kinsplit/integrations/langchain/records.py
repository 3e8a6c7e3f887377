"""Documents as items that a store keeps, and back."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import Chunk
from kinsplit.integrations.origins import is_chunk
from kinsplit.integrations.records import Item, from_chunk


def item_of(document: Document, id_: str) -> Item:
    """Return what a store keeps of a document, under an id that may not be its own."""
    metadata = document.metadata
    source_id = metadata["source_id"] if is_chunk(metadata, document.page_content) else id_
    return Item(id_, document.page_content, metadata, source_id)


def document_of(chunk: Chunk) -> Document:
    """Return the document that a chunk was made of, or that stands for a chunk from elsewhere."""
    item = from_chunk(chunk)
    return Document(id=item.id, page_content=item.text, metadata=dict(item.metadata))

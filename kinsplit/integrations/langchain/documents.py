"""Documents as items that a store keeps, and back."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import Chunk
from kinsplit.integrations.shared.origins import FINDING, is_chunk
from kinsplit.integrations.shared.records import Item, from_chunk
from kinsplit.integrations.shared.results import Result
from kinsplit.integrations.shared.siblings import Found


def item_of(document: Document, id_: str) -> Item:
    """Return what a store keeps of a document, under an id that may not be its own."""
    metadata = document.metadata
    source_id = metadata["source_id"] if is_chunk(metadata, document.page_content) else id_
    return Item(id_, document.page_content, metadata, source_id)


def document_of(chunk: Chunk) -> Document:
    """Return the document that a chunk was made of, or that stands for a chunk from elsewhere."""
    item = from_chunk(chunk)
    return Document(id=item.id, page_content=item.text, metadata=dict(item.metadata))


def to_document(result: Result) -> Document:
    """Return a result as a document."""
    return Document(id=result.id, page_content=result.text, metadata=result.metadata)


def found(document: Document) -> Found:
    """Return what LangChain found; its score is there if a stage of kinsplit's has left one."""
    metadata = document.metadata
    # LangChain's own Qdrant store says the id in the metadata alone.
    id_ = document.id or metadata.get("_id") or ""
    return Found(str(id_), document.page_content, metadata, (metadata.get(FINDING) or {}).get("score"))

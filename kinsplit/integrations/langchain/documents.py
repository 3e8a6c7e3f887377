"""Conversion of documents to items that a store keeps, and back."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.chunk import Chunk
from kinsplit.details import details
from kinsplit.integrations.shared.kin.reader import FoundNode
from kinsplit.integrations.shared.origins import is_chunk
from kinsplit.integrations.shared.records import Item, from_chunk
from kinsplit.integrations.shared.results import Result


def item_of(document: Document, id_: str) -> Item:
    """Return a document as an item, under this id instead of its own."""
    metadata = document.metadata
    source_id = metadata["source_id"] if is_chunk(metadata, document.page_content) else id_
    return Item(id_, document.page_content, metadata, source_id)


def document_of(chunk: Chunk) -> Document:
    """Return the document that a chunk was made from, or an equivalent one for another chunk."""
    item = from_chunk(chunk)
    return Document(id=item.id, page_content=item.text, metadata=dict(item.metadata))


def to_document(result: Result) -> Document:
    """Return a result as a document."""
    return Document(id=result.id or None, page_content=result.text, metadata=result.metadata)


def to_found(document: Document) -> FoundNode:
    """Return a document as a hit; its score is known if a stage of kinsplit has recorded one."""
    return FoundNode.of(document)._replace(score=details(document).get("score"))

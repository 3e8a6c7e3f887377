"""A document as its chunks hold it. Nothing but the store is asked: an id is compared, never opened."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.retrieval import Candidate, Passage, join
from kinsplit.server.collections import Shelf
from kinsplit.server.errors import RequestError
from kinsplit.server.offsets import Places


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that was put together again.

    Attributes:
        whole: All of it as one passage.
        chunks: Its chunks and their parents, by level and index.
        places: Of the text of `whole`.
    """

    whole: Passage
    chunks: list[Chunk]
    places: Places


def read(shelf: Shelf, source_id: str) -> StoredDocument:
    """Fetch all chunks of a document in one call to the store, and join them.

    Args:
        shelf: The collection.
        source_id: The document's id.

    Raises:
        RequestError: There is no such document (404).
    """
    chunks = [c for c in shelf.index.store.find({"source_id": source_id}, level=None) if c.level != DOCUMENT]
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    if not leaves:
        remedy = "GET /documents lists the ids."
        raise RequestError(404, "must be the id of a document", remedy, field="id", value=source_id)
    whole = join(leaves, [Candidate(leaves[0], 0.0)])
    return StoredDocument(whole, chunks, Places(whole.spans, whole.text))

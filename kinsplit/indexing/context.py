"""What is embedded of a leaf beside its own text, and how a collection and its content hashes tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk, Document, embedded_text
from kinsplit.embedding.late_chunking import embed_late
from kinsplit.embedding.protocol import Embedder, Progress
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import DOCUMENT_CONTEXT, document_hash, embedding_hash

#: "headings": the chunk's context, its heading path or its table's header, goes before its text. "none": the text
#: stands alone. "late": the whole document is embedded and each chunk is the mean of its tokens' vectors.
EmbeddingContext = Literal["headings", "none", "late"]

_MARKS: dict[EmbeddingContext, str] = {"headings": "", "none": " without context", "late": " with late chunking"}


def check_embedding_context(context: str) -> EmbeddingContext:
    """Return a way to embed by its name.

    Raises:
        InvalidParameterError: There is no such way.
    """
    for known in get_args(EmbeddingContext):
        if context == known:
            return known  # type: ignore[no-any-return]  # get_args forgets it.
    rule = f"must be one of {', '.join(get_args(EmbeddingContext))}"
    raise InvalidParameterError("embedding_context", rule, context, "Leave it out for 'headings'.")


def marked(fingerprint: str, context: EmbeddingContext) -> str:
    """Return a model's fingerprint as a collection's schema keeps it, so that vectors of two ways are never mixed."""
    return fingerprint + _MARKS[context]


def embedding_context_of(model: str) -> EmbeddingContext:
    """Return the way in which the vectors of a collection were made; see `marked`."""
    return next((context for context, mark in _MARKS.items() if mark and model.endswith(mark)), "headings")


def with_document_context(document: Document, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return a document's chunks with content hashes that change wherever the document does.

    With late chunking a vector depends on what stands around the chunk, so any change of the document makes all of its
    vectors new, and equal texts in two places have different ones.

    Args:
        document: The document.
        chunks: Its chunks of all levels.
    """
    digest = document_hash([document.text])
    placed = {
        chunk.id: replace(chunk, metadata=metadata, content_hash=embedding_hash(chunk.text, chunk.context, metadata))
        for chunk in chunks
        for metadata in [{**chunk.metadata, DOCUMENT_CONTEXT: f"{digest}:{chunk.start}"}]
        if chunk.level < DOCUMENT
    }
    whole = document_hash(placed[chunk.id].content_hash for chunk in chunks if chunk.level == 0)
    return [placed.get(chunk.id) or replace(chunk, content_hash=whole) for chunk in chunks]


def embed_leaves(
    embedder: Embedder,
    context: EmbeddingContext,
    leaves: Sequence[tuple[Document, Chunk]],
    progress: Progress | None = None,
) -> list[tuple[NDArray[np.float32], int]]:
    """Embed leaves.

    Args:
        embedder: The model.
        context: What is embedded beside their texts.
        leaves: Each with its document, those of one document together.
        progress: See `Embedder.embed`.

    Returns:
        The vector of each leaf, and of how many windows it is the mean.
    """
    if not leaves:
        return []
    texts = [leaf.text if context == "none" else embedded_text(leaf) for _, leaf in leaves]
    if context != "late":
        return list(zip(embedder.embed(texts, progress), embedder.windows(texts), strict=True))
    documents = {document.id: document for document, _ in leaves}
    pieces = {id_: [leaf.spans for document, leaf in leaves if document.id == id_] for id_ in documents}
    found = embed_late(embedder, [d.text for d in documents.values()], list(pieces.values()), progress)
    windows = embedder.windows([leaf.text for _, leaf in leaves])
    return list(zip((vector for own in found for vector in own), windows, strict=True))

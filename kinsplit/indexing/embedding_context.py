"""Embedding of leaves within their context."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Document, embedded_text
from kinsplit.embedding.late_chunking import embed_late
from kinsplit.embedding.protocol import Embedder, EmbeddingContext, Progress
from kinsplit.errors import InvalidParameterError, KinsplitWarning


def check_embedding_context(name: str) -> EmbeddingContext:
    """Return an embedding context by its name.

    Raises:
        InvalidParameterError: No embedding context has that name.
    """
    for known in get_args(EmbeddingContext):
        if name == known:
            return known  # type: ignore[no-any-return]  # get_args loses the type.
    rule = f"must be one of {', '.join(get_args(EmbeddingContext))}"
    raise InvalidParameterError("embedding_context", rule, name, "Leave it out for 'headings'.")


class WindowWarning(KinsplitWarning):
    """Chunks are longer than the window of the embedding model."""


def warn_of_windows(embedder: Embedder, embedding_context: EmbeddingContext, leaves: Sequence[Chunk]) -> None:
    """Warn, before anything is embedded, if leaves are longer than the model's window.

    Args:
        embedder: The model.
        embedding_context: Context that they are embedded with. Late chunking reads the whole document anyway.
        leaves: The first leaves of a run.
    """
    if not leaves or embedding_context == "late":
        return
    long = sum(windows > 1 for windows in embedder.windows(_texts(leaves, embedding_context)))
    if long:
        warn_of_long(embedder, long, len(leaves))


def warn_of_long(embedder: Embedder, long: int, total: int) -> None:
    """Warn of chunks that are longer than the model's window.

    Args:
        embedder: The model.
        long: Number of these chunks.
        total: Number of all chunks that were seen, the first of a run.
    """
    warnings.warn(
        WindowWarning(
            f"{long:,} of the first {total:,} chunks to embed ({long / total:.0%}) are longer than the "
            f"{embedder.window:,} tokens that {embedder.name} reads at once, with headings and special tokens. "
            "Such a chunk gets the mean vector of several windows, which finds less. Choose smaller chunks (160 "
            "tokens without a strategy), or a model with a longer window."
        ),
        stacklevel=3,
    )


def _texts(leaves: Iterable[Chunk], embedding_context: EmbeddingContext) -> list[str]:
    return [leaf.text if embedding_context == "none" else embedded_text(leaf) for leaf in leaves]


def embed_leaves(
    embedder: Embedder,
    embedding_context: EmbeddingContext,
    leaves: Sequence[tuple[Document, Chunk]],
    progress: Progress | None = None,
) -> list[tuple[NDArray[np.float32], int]]:
    """Embed leaves.

    Args:
        embedder: The model.
        embedding_context: Context that they are embedded with.
        leaves: Leaves with their documents; those of one document are adjacent.
        progress: See `Embedder.embed`.

    Returns:
        The vector of each leaf, and the number of windows of which it is the mean.
    """
    if not leaves:
        return []
    texts = _texts((leaf for _, leaf in leaves), embedding_context)
    if embedding_context != "late":
        return list(zip(embedder.embed(texts, progress), embedder.windows(texts), strict=True))
    documents = {document.id: document for document, _ in leaves}
    spans = [[leaf.spans for document, leaf in leaves if document.id == id_] for id_ in documents]
    vectors = embed_late(embedder, [document.text for document in documents.values()], spans, progress)
    windows = embedder.windows([leaf.text for _, leaf in leaves])
    return list(zip((vector for own in vectors for vector in own), windows, strict=True))

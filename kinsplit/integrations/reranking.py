"""A reranker as a user names it."""

from __future__ import annotations

from kinsplit import embedding
from kinsplit.embedding.protocol import Embedder
from kinsplit.retrieval import Reranker, create_reranker


def to_reranker(reranker: str | Reranker, embedder: str | Embedder) -> Reranker | None:
    """Return a reranker by its name, or the one that is given.

    Args:
        reranker: See `kinsplit.retrieval.create_reranker`.
        embedder: For late interaction; an embedder or its name.

    Raises:
        InvalidParameterError: An unknown name.
    """
    if not isinstance(reranker, str):
        return reranker
    return create_reranker(reranker, embedding.create(embedder) if isinstance(embedder, str) else embedder)

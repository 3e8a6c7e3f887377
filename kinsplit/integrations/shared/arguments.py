"""Arguments of components in both frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinsplit import embedding
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import Reranker, create_reranker


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Reject the remaining keyword arguments that a framework passes through.

    Raises:
        InvalidParameterError: There is one, such as a misspelt name or an argument of another store.
    """
    for name, value in arguments.items():
        raise InvalidParameterError(name, "is not a known argument", value, "Leave it out.")


def to_reranker(reranker: str | Reranker, embedder: str | Embedder) -> Reranker | None:
    """Return the reranker of this name, or the reranker itself.

    Args:
        reranker: A reranker or its name; see `kinsplit.retrieval.create_reranker`.
        embedder: An embedder or its name, for late interaction.

    Raises:
        InvalidParameterError: The name is unknown.
    """
    if not isinstance(reranker, str):
        return reranker
    return create_reranker(reranker, embedding.create(embedder) if isinstance(embedder, str) else embedder)

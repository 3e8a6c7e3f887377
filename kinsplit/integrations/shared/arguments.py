"""Two rankings joined into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinsplit import embedding
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import Reranker, create_reranker
from kinsplit.retrieval.scoring import unit
from kinsplit.stores.protocol import Hit


def fuse(dense: Sequence[Hit], terms: Sequence[Hit], alpha: float) -> list[Hit]:
    """Join a dense and a term ranking by their scores, each brought to a range from 0 to 1.

    Args:
        dense: Hits by meaning.
        terms: Hits by terms.
        alpha: Weight of the dense scores, from 0 to 1; the others have the rest.

    Raises:
        InvalidParameterError: `alpha` is not from 0 to 1.
    """
    if not 0 <= alpha <= 1:
        raise InvalidParameterError("alpha", "must be from 0 to 1", alpha, "Leave it out for 0.5.")
    shares = [unit({hit.chunk.id: hit.score for hit in hits}) for hits in (dense, terms)]
    chunks = {hit.chunk.id: hit.chunk for hit in (*dense, *terms)}
    joined = [
        Hit(chunk, alpha * shares[0].get(id_, 0.0) + (1 - alpha) * shares[1].get(id_, 0.0))
        for id_, chunk in chunks.items()
    ]
    return sorted(joined, key=lambda hit: (-hit.score, hit.chunk.id))


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Make sure that nothing is left of the arguments that a framework passes on as they are.

    Raises:
        InvalidParameterError: Something is, such as a misspelt name or what only another store understands.
    """
    for name, value in arguments.items():
        raise InvalidParameterError(name, "is not a known argument", value, "Leave it out.")


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

"""Two rankings joined into one."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.errors import InvalidParameterError
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

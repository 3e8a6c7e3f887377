"""A reranker's judgements, put onto what was judged."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.rerank.protocol import Ranked, Reranker, RerankWarning

T = TypeVar("T")


def rerank(
    reranker: Reranker, query: str, items: Sequence[T], text: Callable[[T], str], judged: Callable[[T, float], T]
) -> list[T]:
    """Order items by a reranker's judgements.

    A reranker that fails must not cost the user the answer: the items stay as they are, and one warning says why. So it
    is with an answer that makes no sense: an index out of range or twice, or a score that is no number.

    Args:
        reranker: Sees the texts alone, and answers by index.
        query: The question.
        items: What to order, best first.
        text: Returns what the reranker reads of an item.
        judged: Returns an item with its new score.

    Returns:
        The judged items, best first, equal scores in the earlier order; then, as they were, those that the reranker
        left out: they keep their earlier score, which is on another scale.
    """
    if not items:
        return []
    try:
        ranking = _checked(reranker.rerank(query, [text(item) for item in items]), len(items))
    except Exception as error:  # Whatever a model, a server or a driver may raise.
        rule = f"The reranker failed, so its stage is left out: {type(error).__name__}: {error}"
        warnings.warn(rule, RerankWarning, stacklevel=2)
        return list(items)
    best = sorted(ranking, key=lambda ranked: (-ranked.score, ranked.index))
    seen = {ranked.index for ranked in ranking}
    return [judged(items[ranked.index], ranked.score) for ranked in best] + [
        item for index, item in enumerate(items) if index not in seen
    ]


def _checked(ranking: Sequence[Ranked], number: int) -> list[Ranked]:
    checked = [Ranked(int(ranked.index), float(ranked.score)) for ranked in ranking]
    indices = [ranked.index for ranked in checked]
    if any(not 0 <= index < number for index in indices) or len(set(indices)) < len(indices):
        raise InvalidParameterError("index", f"must be from 0 to {number - 1} and come once", indices, "Mend it.")
    if bad := [ranked.score for ranked in checked if not math.isfinite(ranked.score)]:
        raise InvalidParameterError("score", "must be a finite number", bad[0], "Mend the reranker.")
    return checked

"""A reranker's judgements, put onto what was judged."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.rerank.protocol import Ranked, Reranker, RerankWarning
from kinsplit.retrieval.scoring import standard

T = TypeVar("T")


@dataclass(frozen=True)
class Reading(Generic[T]):
    """How items of one kind are read and marked.

    Attributes:
        text: Returns what the reranker reads of an item.
        score: Returns the score by which it is ranked until now; None where it has none.
        judged: Returns it with its new score.
    """

    text: Callable[[T], str]
    score: Callable[[T], float | None]
    judged: Callable[[T, float], T]


def rerank(reranker: Reranker, query: str, items: Sequence[T], reading: Reading[T]) -> list[T]:
    """Order items by a reranker's judgements.

    Where the reranker has an attribute `earlier`, an item's new score is the judgement plus so many times the score
    until now, both in standard deviations above their mean; unless an item has no score or no judgement.

    A reranker that fails must not cost the user the answer: the items stay as they are, and one warning says why. So it
    is with an answer that makes no sense: an index out of range or twice, or a score that is no number.

    Args:
        reranker: Sees the texts alone, and answers by index.
        query: The question.
        items: What to order, best first.
        reading: How they are read and marked.

    Returns:
        The judged items, best first, equal scores in the earlier order; then, as they were, those that the reranker
        left out: they keep their earlier score, which is on another scale.
    """
    if not items:
        return []
    try:
        ranking = _checked(reranker.rerank(query, [reading.text(item) for item in items]), len(items))
    except Exception as error:  # Whatever a model, a server or a driver may raise.
        rule = f"The reranker failed, so its stage is left out: {type(error).__name__}: {error}"
        warnings.warn(rule, RerankWarning, stacklevel=2)
        return list(items)
    ranking = _with_earlier(ranking, [reading.score(item) for item in items], getattr(reranker, "earlier", 0.0))
    best = sorted(ranking, key=lambda ranked: (-ranked.score, ranked.index))
    seen = {ranked.index for ranked in ranking}
    return [reading.judged(items[ranked.index], ranked.score) for ranked in best] + [
        item for index, item in enumerate(items) if index not in seen
    ]


def _with_earlier(ranking: list[Ranked], scores: Sequence[float | None], weight: float) -> list[Ranked]:
    known = [score for score in scores if score is not None]
    if not weight or len(known) < len(scores) or len(ranking) < len(scores):
        return ranking
    judgements = standard(np.array([ranked.score for ranked in ranking]))
    earlier = standard(np.array([known[ranked.index] for ranked in ranking]))
    return [
        Ranked(ranked.index, float(judgement + weight * before))
        for ranked, judgement, before in zip(ranking, judgements, earlier, strict=True)
    ]


def _checked(ranking: Sequence[Ranked], number: int) -> list[Ranked]:
    checked = [Ranked(int(ranked.index), float(ranked.score)) for ranked in ranking]
    indices = [ranked.index for ranked in checked]
    if any(not 0 <= index < number for index in indices) or len(set(indices)) < len(indices):
        raise InvalidParameterError("index", f"must be from 0 to {number - 1} and come once", indices, "Mend it.")
    if bad := [ranked.score for ranked in checked if not math.isfinite(ranked.score)]:
        raise InvalidParameterError("score", "must be a finite number", bad[0], "Mend the reranker.")
    return checked

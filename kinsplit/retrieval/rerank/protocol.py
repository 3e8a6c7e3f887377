"""Order of items by a reranker's scores."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.options import Ranked, Reranker
from kinsplit.retrieval.scoring import standard
from kinsplit.support.telemetry import span


def no_reranker() -> None:
    """Return the reranker of "none", which is none."""


class RerankWarning(KinsplitWarning):
    """A reranker failed and left the order unchanged, or it could not read whole texts."""


T = TypeVar("T")

# Lines drawn with characters, such as `#####` in a program, leaders of dots and blanks to fill in.
_RULE = re.compile(r"([-=#*~_+/.·•…─━═])\1{3,}")


@dataclass(frozen=True)
class ItemReader(Generic[T]):
    """Access to the text and the score of one kind of item.

    Attributes:
        text: Returns the text that the reranker reads.
        score: Returns the current score of an item; None if it has none.
        with_score: Returns an item with a new score.
    """

    text: Callable[[T], str]
    score: Callable[[T], float | None]
    with_score: Callable[[T, float], T]


def rerank(reranker: Reranker, query: str, items: Sequence[T], reading: ItemReader[T]) -> list[T]:
    """Order items by a reranker's scores.

    If the reranker has an attribute `earlier`, an item's new score is the reranker's score plus `earlier` times the
    current score, both standardised over the items that were not left out; unless one of them has no current score.

    Lines drawn with characters are left out of the texts. A model takes each of their characters for a word.

    A reranker that fails doesn't make the search fail: the items stay in their order, and one warning gives the reason.
    An invalid result counts as a failure: an index out of range or repeated, or a score that is not a finite number.

    Args:
        reranker: Reads the texts alone, and refers to them by index.
        query: The question.
        items: The items, best first.
        reading: Access to the items' texts and scores.

    Returns:
        The scored items, best first, equal scores in the earlier order; then the items that the reranker left out, in
        their order and with their earlier score, which is on another scale.
    """
    if not items:
        return []
    texts = [_RULE.sub(" ", reading.text(item)) for item in items]
    try:
        with span("kinsplit.search.rerank", {"texts": len(items)}):
            ranking = _checked(reranker.rerank(query, texts), len(items))
    except Exception as error:  # Models, servers and drivers raise errors of any kind.
        message = f"The reranker failed, so its stage is left out: {type(error).__name__}: {error}"
        warnings.warn(message, RerankWarning, stacklevel=2)
        return list(items)
    ranking = _with_earlier(ranking, [reading.score(item) for item in items], getattr(reranker, "earlier", 0.0))
    best = sorted(ranking, key=lambda ranked: (-ranked.score, ranked.index))
    seen = {ranked.index for ranked in ranking}
    return [reading.with_score(items[ranked.index], ranked.score) for ranked in best] + [
        item for index, item in enumerate(items) if index not in seen
    ]


def _with_earlier(ranking: list[Ranked], scores: Sequence[float | None], weight: float) -> list[Ranked]:
    known = [score for ranked in ranking if (score := scores[ranked.index]) is not None]
    if not weight or not known or len(known) < len(ranking):
        return ranking
    judgements = standard(np.array([ranked.score for ranked in ranking]))
    earlier = standard(np.array(known))
    return [
        Ranked(ranked.index, float(judgement + weight * before))
        for ranked, judgement, before in zip(ranking, judgements, earlier, strict=True)
    ]


def _checked(ranking: Sequence[Ranked], number: int) -> list[Ranked]:
    checked = [Ranked(int(ranked.index), float(ranked.score)) for ranked in ranking]
    indices = [ranked.index for ranked in checked]
    if any(not 0 <= index < number for index in indices) or len(set(indices)) < len(indices):
        rule = f"must be from 0 to {number - 1}, each at most once"
        raise InvalidParameterError("index", rule, indices, "Fix the reranker.")
    if bad := [ranked.score for ranked in checked if not math.isfinite(ranked.score)]:
        raise InvalidParameterError("score", "must be a finite number", bad[0], "Fix the reranker.")
    return checked

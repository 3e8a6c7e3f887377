"""Kin scoring: a chunk is judged together with its siblings, its parent and its document.

That a passage's and its document's scores together rank better than either alone is an old finding of passage retrieval
(Callan, "Passage-Level Evidence in Document Retrieval", SIGIR 1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.protocol import Entry

#: Characters of English that a token stands for, about, where a strategy doesn't count tokens.
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate before its text is read.

    Attributes:
        place: Which chunk it is.
        score: By which candidates are ranked, higher is better.
        scores: See `kinsplit.retrieval.Candidate`.
    """

    place: Entry
    score: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a store said about the candidates and their kin.

    Attributes:
        places: The candidates by id.
        dense: Cosine by id of a chunk, of those found by it.
        bm25: Term score by id of a chunk, of those found by it.
        parent: Term score by id of a parent.
        parent_dense: Cosine by id of a parent.
        document: Term score by source id.
    """

    places: Mapping[str, Entry]
    dense: Mapping[str, float]
    bm25: Mapping[str, float]
    parent: Mapping[str, float]
    parent_dense: Mapping[str, float]
    document: Mapping[str, float]


def judge(evidence: Evidence, weights: KinWeights, limit: int | None = None) -> list[Judged]:
    """Rank candidates by the weighted sum of all evidence.

    A chunk that the dense ranking doesn't have counts as its last one, above which it can't be; one that the term
    ranking doesn't have counts as having no term in common. A sibling that isn't a candidate counts as the worst one.

    Args:
        evidence: The candidates and all scores.
        weights: How much each kind of evidence counts.
        limit: Most candidates to return; None for all.

    Returns:
        The candidates, best first; equal scores in order of source and place.
    """
    places = list(evidence.places.values())
    if not places:
        return []
    ids, sources = [place.id for place in places], [place.source_id for place in places]
    parents = [place.parent_id for place in places]
    own = standard(_values(ids, evidence.dense, lowest=True)) + weights.bm25 * standard(_values(ids, evidence.bm25))
    siblings = _siblings(places, own)
    total = (
        own
        + sibling_weight(places, weights) * standard(siblings)
        + weights.parent * standard(_values(parents, evidence.parent))
        + weights.parent_dense * standard(_values(parents, evidence.parent_dense, lowest=True))
        + weights.document * standard(_values(sources, evidence.document))
    )
    order = zip((-total).tolist(), sources, [place.index for place in places], range(len(places)), strict=True)
    best = [row for *_, row in sorted(order)[:limit]]
    found = []
    for row in best:
        place = places[row]
        stages = {
            "dense": evidence.dense.get(place.id),
            "bm25": evidence.bm25.get(place.id),
            "siblings": float(siblings[row]) if weights.siblings else None,
            "parent": evidence.parent.get(place.parent_id or ""),
            "parent_dense": evidence.parent_dense.get(place.parent_id or ""),
            "document": evidence.document.get(place.source_id),
            "kin": float(total[row]),
        }
        found.append(Judged(place, float(total[row]), {name: s for name, s in stages.items() if s is not None}))
    return found


def sibling_weight(places: Sequence[Entry], weights: KinWeights) -> float:
    """Return the weight of the siblings' evidence for chunks of this length; see `KinWeights.siblings`."""
    lengths = [place.token_count or place.length / _CHARACTERS_PER_TOKEN for place in places]
    return weights.siblings * min(1.0, 100 / max(1.0, float(np.mean(lengths))))


def unit(scores: Mapping[str, float]) -> dict[str, float]:
    """Bring scores to a range from 0 to 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {name: (score - low) / (high - low) if high > low else 1.0 for name, score in scores.items()}


def _values(names: Sequence[str | None], scores: Mapping[str, float], *, lowest: bool = False) -> NDArray[np.float64]:
    """Return the scores of some names; the others get the lowest one, or 0."""
    if not scores:
        return np.zeros(len(names))
    missing = min(scores.values()) if lowest else 0.0
    return np.array([scores.get(name or "", missing) for name in names])


def standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances from the mean in standard deviations; 0 where all values are equal."""
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation > 1e-9 else np.zeros_like(values)


def _siblings(places: Sequence[Entry], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean score of each chunk's previous and next one; its own where it has none."""
    # After the candidates come one row for nobody and one for all who are no candidates.
    nobody, others = len(places), len(places) + 1
    rows: dict[str | None, int] = {place.id: row for row, place in enumerate(places)}
    rows[None] = nobody
    before = np.array([rows.get(place.prev_id, others) for place in places])
    after = np.array([rows.get(place.next_id, others) for place in places])
    scores = np.append(own, [0.0, own.min()])
    number = (before != nobody).astype(int) + (after != nobody)
    means: NDArray[np.float64] = np.divide(scores[before] + scores[after], number, out=own.copy(), where=number > 0)
    return means

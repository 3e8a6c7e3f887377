"""Kin scoring: a chunk is judged together with its siblings, its parent and its document.

That a passage's and its document's scores together rank better than either alone is an old finding of passage retrieval
(Callan, "Passage-Level Evidence in Document Retrieval", SIGIR 1994).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.weights import KinWeights

#: Bytes of UTF-8 that a token stands for, about, where a strategy doesn't count tokens.
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a store said about the candidates and their kin.

    Attributes:
        chunks: The candidates by id.
        dense: Cosine by id of a chunk, of those found by it.
        bm25: Term score by id of a chunk, of those found by it.
        parent: Term score by id of a parent.
        parent_dense: Cosine by id of a parent.
        document: Term score by source id.
    """

    chunks: Mapping[str, Chunk]
    dense: Mapping[str, float]
    bm25: Mapping[str, float]
    parent: Mapping[str, float]
    parent_dense: Mapping[str, float]
    document: Mapping[str, float]


def judge(evidence: Evidence, weights: KinWeights) -> list[Candidate]:
    """Rank candidates by the weighted sum of all evidence.

    A chunk that the dense ranking doesn't have counts as its last one, above which it can't be; one that the term
    ranking doesn't have counts as having no term in common. A sibling that isn't a candidate counts as the worst one.

    Args:
        evidence: The candidates and all scores.
        weights: How much each kind of evidence counts.

    Returns:
        The candidates, best first; equal scores in order of source and place.
    """
    chunks = list(evidence.chunks.values())
    if not chunks:
        return []
    ids, sources = [chunk.id for chunk in chunks], [chunk.source_id for chunk in chunks]
    parents = [chunk.parent_id for chunk in chunks]
    own = _standard(_values(ids, evidence.dense, lowest=True)) + weights.bm25 * _standard(_values(ids, evidence.bm25))
    siblings = _siblings(chunks, own)
    total = (
        own
        + sibling_weight(chunks, weights) * _standard(siblings)
        + weights.parent * _standard(_values(parents, evidence.parent))
        + weights.parent_dense * _standard(_values(parents, evidence.parent_dense, lowest=True))
        + weights.document * _standard(_values(sources, evidence.document))
    )
    found = []
    for row, chunk in enumerate(chunks):
        stages = {
            "dense": evidence.dense.get(chunk.id),
            "bm25": evidence.bm25.get(chunk.id),
            "siblings": float(siblings[row]) if weights.siblings else None,
            "parent": evidence.parent.get(chunk.parent_id or ""),
            "parent_dense": evidence.parent_dense.get(chunk.parent_id or ""),
            "document": evidence.document.get(chunk.source_id),
            "kin": float(total[row]),
        }
        found.append(Candidate(chunk, float(total[row]), {name: s for name, s in stages.items() if s is not None}))
    return sorted(found, key=lambda c: (-c.score, c.chunk.source_id, c.chunk.index))


def sibling_weight(chunks: Sequence[Chunk], weights: KinWeights) -> float:
    """Return the weight of the siblings' evidence for chunks of this length; see `KinWeights.siblings`."""
    lengths = [chunk.token_count or len(chunk.text.encode()) / _BYTES_PER_TOKEN for chunk in chunks]
    return weights.siblings * min(1.0, 100 / max(1.0, float(np.mean(lengths))))


def unit(scores: Mapping[str, float]) -> dict[str, float]:
    """Bring scores to a range from 0 to 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {name: (score - low) / (high - low) if high > low else 1.0 for name, score in scores.items()}


def _values(names: Sequence[str | None], scores: Mapping[str, float], *, lowest: bool = False) -> NDArray[np.float64]:
    """Return the scores of some names; the others get the lowest one, or 0."""
    missing = min(scores.values(), default=0.0) if lowest else 0.0
    return np.array([scores.get(name or "", missing) for name in names])


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distances from the mean in standard deviations; 0 where all values are equal."""
    deviation = values.std()
    return (values - values.mean()) / deviation if deviation > 1e-9 else np.zeros_like(values)


def _siblings(chunks: Sequence[Chunk], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean score of each chunk's previous and next one; its own where it has none."""
    scores = {chunk.id: float(score) for chunk, score in zip(chunks, own, strict=True)}
    worst = float(own.min())
    means = []
    for chunk in chunks:
        around = [scores.get(id_, worst) for id_ in (chunk.prev_id, chunk.next_id) if id_ is not None]
        means.append(sum(around) / len(around) if around else scores[chunk.id])
    return np.array(means)

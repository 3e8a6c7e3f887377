"""The candidates that the stages of a search pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kinsplit.chunk import Chunk


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer the question.

    Attributes:
        chunk: The chunk.
        score: The score that candidates are ranked by; higher is better.
        scores: The score of every stage, by name, in the order of the stages. `dense` is the cosine and `bm25` the term
            score, where these rankings found the chunk; `siblings`, `parent`, `parent_dense` and `document` are the
            evidence of its kin; `kin` is their weighted sum, `hybrid` the sum of reciprocal ranks; `rerank` is the
            reranker's score, `mmr` that of a search for diversity.
    """

    chunk: Chunk
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)

    def with_score(self, stage: str, score: float) -> Candidate:
        """Return the candidate ranked by the score of a further stage."""
        return replace(self, score=score, scores={**self.scores, stage: score})

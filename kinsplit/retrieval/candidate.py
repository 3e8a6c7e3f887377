"""What every stage of a search passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kinsplit.chunk import Chunk


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer the query.

    Attributes:
        chunk: The chunk.
        score: By which candidates are ranked, higher is better.
        scores: Every stage's score by the stage's name, in the order of the stages. `dense` is the cosine and `bm25`
            the term score, where the chunk was found by them; `siblings`, `parent`, `parent_dense` and `document` are
            the evidence of its kin; `kin` is what they make together; `rerank` is a reranker's.
    """

    chunk: Chunk
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)

    def judged(self, stage: str, score: float) -> Candidate:
        """Return the candidate with a further stage's score, by which it is ranked from now on."""
        return replace(self, score=score, scores={**self.scores, stage: score})

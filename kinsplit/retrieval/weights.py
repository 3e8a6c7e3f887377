"""How much each kind of evidence counts for a chunk."""

from __future__ import annotations

from pydantic import Field

from kinsplit.support.model import Settings


class KinWeights(Settings):
    """Weights and pool sizes of kin scoring, chosen by `benchmarks/retrieval.py` (see docs/kin-scoring.md).

    Every score is taken as its distance from the candidates' mean in standard deviations, so weights compare. A chunk's
    own score is its cosine plus `bm25` times its term score.

    Attributes:
        bm25: Of the term score beside the cosine.
        siblings: Of the mean own score of the previous and the next chunk, for chunks of 100 tokens. It falls with
            the chunks' length, since long chunks say most of what their neighbours could add, and never exceeds 1.
        parent: Of the parent's term score.
        parent_dense: Of the cosine of the parent, the mean of its chunks' vectors.
        document: Of the document's term score.
        pool: Chunks to take from each ranking.
        parents: Parents to rank.
        documents: Documents to rank.
        best_documents: Documents that are looked into in a second call.
        inside: Chunks to take from each of their two rankings.
    """

    bm25: float = Field(default=0.5, ge=0)
    siblings: float = Field(default=0.4, ge=0)
    parent: float = Field(default=0.7, ge=0)
    parent_dense: float = Field(default=0.0, ge=0)
    document: float = Field(default=0.5, ge=0)
    pool: int = Field(default=100, ge=1, le=10_000)
    parents: int = Field(default=30, ge=1, le=10_000)
    documents: int = Field(default=10, ge=1, le=10_000)
    best_documents: int = Field(default=5, ge=0, le=100)
    inside: int = Field(default=20, ge=1, le=10_000)


#: A chunk is judged by itself alone.
NO_KIN = KinWeights(siblings=0, parent=0, parent_dense=0, document=0, best_documents=0)

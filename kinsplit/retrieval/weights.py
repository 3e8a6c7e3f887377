"""Weights of the kinds of evidence in kin scoring."""

from __future__ import annotations

from pydantic import Field

from kinsplit.support.model import Settings


class KinWeights(Settings):
    """Weights and pool sizes of kin scoring, chosen by `benchmarks/retrieval.py` (see docs/kin-scoring.md).

    All scores are standardised over the candidates, so that weights are comparable. A chunk's own score is its cosine
    plus `bm25` times its term score.

    Attributes:
        bm25: Weight of the term score relative to the cosine.
        siblings: Weight of the mean own score of the previous and the next chunk, for chunks of 100 tokens. It falls
            with the chunks' length, since long chunks hold most of what neighbours could add, and never exceeds 1.
        parent: Weight of the parent's term score.
        parent_dense: Weight of the parent's cosine; its vector is the mean of its chunks' vectors.
        document: Weight of the document's term score.
        pool: Number of chunks to take from each ranking.
        parents: Number of parents to rank.
        documents: Number of documents to rank.
        best_documents: Number of documents to search inside with a second call.
        inside: Number of chunks to take from each of their two rankings.
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


#: Weights that score a chunk by itself alone.
NO_KIN = KinWeights(siblings=0, parent=0, parent_dense=0, document=0, best_documents=0)

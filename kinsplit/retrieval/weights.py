"""Weights of the kinds of evidence in kin scoring."""

from __future__ import annotations

from pydantic import Field

from kinsplit.support.settings import Settings


class KinWeights(Settings):
    """Weights and pool sizes of kin scoring, chosen by `benchmarks/weights.py` (see docs/kin-scoring.md).

    All scores are standardised over the candidates, so that weights are comparable. The scores of a ranking also count
    by its peak, the standard score of its best candidate: a ranking in which nothing stands out says little.

    Attributes:
        bm25: Weight of the squared term score relative to the cosine, each times its peak. Both make a chunk's own
            score.
        siblings: Weight of the mean own score of the previous and the next chunk, for chunks of 100 tokens. It falls
            with the chunks' length, since long chunks hold most of what neighbours could add.
        parent: Weight of the parent's term score times its peak.
        parent_dense: Weight of the parent's cosine times its peak; its vector is the mean of its chunks' vectors.
        document: Weight of the document's term score times its peak.
        best_chunk: Weight of the best own score among the document's candidates.
        pool: Number of chunks to take from each ranking.
        parents: Number of parents to rank.
        documents: Number of documents to rank.
        best_documents: Number of documents to search inside with a second call.
        inside: Number of chunks to take from each of their two rankings.
    """

    bm25: float = Field(default=0.2, ge=0)
    siblings: float = Field(default=0.6, ge=0)
    parent: float = Field(default=0.1, ge=0)
    parent_dense: float = Field(default=0.0, ge=0)
    document: float = Field(default=0.4, ge=0)
    best_chunk: float = Field(default=0.5, ge=0)
    pool: int = Field(default=100, ge=1, le=10_000)
    parents: int = Field(default=30, ge=1, le=10_000)
    documents: int = Field(default=10, ge=1, le=10_000)
    best_documents: int = Field(default=3, ge=0, le=100)
    inside: int = Field(default=20, ge=1, le=10_000)


#: Weights that score a chunk by itself alone.
NO_KIN = KinWeights(siblings=0, parent=0, parent_dense=0, document=0, best_chunk=0, best_documents=0)

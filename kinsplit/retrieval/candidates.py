"""Query -> candidates: one batched call for the dense and the term ranking, fused over their union."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinsplit.chunk import Chunk
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.stores.protocol import ChunkStore, Hit, Query, Where

#: Weight of the term ranking beside the dense one.
BM25_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that may answer the query.

    Attributes:
        chunk: The chunk.
        score: By which candidates are ranked, higher is better.
        scores: Every stage's score by the stage's name: `dense` is the cosine, `bm25` the term score, where the chunk
            was found by it, and `fused` what both together make, from 0 to 1.
    """

    chunk: Chunk
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)


def find_candidates(
    store: ChunkStore, embedder: Embedder, bm25: Bm25Embedder, query: str, limit: int, where: Where | None = None
) -> list[Candidate]:
    """Find the chunks nearest to a query, by meaning and by words.

    Args:
        store: Where to search; its leaves are searched.
        embedder: Embeds the query for the dense ranking.
        bm25: Embeds it for the term ranking.
        query: The question.
        limit: Most hits of each ranking, and most candidates.
        where: See `Query`.

    Returns:
        The candidates, best first.
    """
    dense, terms = store.search(
        [
            Query("dense", embedder.embed_query(query), limit, where=where),
            Query("bm25", bm25.embed_query(query), limit, where=where),
        ]
    )
    return fuse(dense, terms, limit)


def fuse(dense: list[Hit], terms: list[Hit], limit: int) -> list[Candidate]:
    """Fuse two rankings into one.

    The fused score is the mean of the cosine and of the term score as a share of the best one, weighted 1 to 0.5. A
    chunk that only one ranking found gets the lowest score of the other, more than which it can't have, if that
    ranking is as long as was asked for, and 0 otherwise.

    Args:
        dense: Hits scored by cosine.
        terms: Hits scored by BM25.
        limit: Length that the rankings were asked for, and most candidates.

    Returns:
        The union, best first; equal scores in order of source and place.
    """
    cosine = {hit.chunk.id: hit.score for hit in dense}
    best = max((hit.score for hit in terms), default=0.0) or 1.0
    share = {hit.chunk.id: hit.score / best for hit in terms}
    least_cosine = min(cosine.values()) if len(dense) >= limit else 0.0
    least_share = min(share.values()) if len(terms) >= limit else 0.0
    found = []
    for hit in {hit.chunk.id: hit for hit in (*dense, *terms)}.values():
        name = hit.chunk.id
        parts = cosine.get(name, least_cosine), share.get(name, least_share)
        fused = (max(0.0, parts[0]) + BM25_WEIGHT * parts[1]) / (1 + BM25_WEIGHT)
        scores = {"dense": cosine.get(name), "bm25": share[name] * best if name in share else None, "fused": fused}
        found.append(Candidate(hit.chunk, fused, {stage: s for stage, s in scores.items() if s is not None}))
    found.sort(key=lambda c: (-c.score, c.chunk.source_id, c.chunk.index))
    return found[:limit]

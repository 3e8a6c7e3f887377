"""Query -> candidates, judged with their kin, in at most two calls to the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT
from kinsplit.embedding.protocol import SparseVector
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.scoring import Evidence, judge, unit
from kinsplit.retrieval.steps import Steps, ask
from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.protocol import Hit, Query, Where


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked, in the forms in which a store takes it.

    Attributes:
        dense: The question's vector, shape (dimension,).
        terms: Its terms.
        level: Of the chunks to find: 0 for leaves, 1 for their parents.
        where: See `Query`.
    """

    dense: NDArray[np.float32]
    terms: SparseVector
    level: int = 0
    where: Where | None = None

    def by_meaning(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the dense ranking to ask for, of one source or of all."""
        return Query("dense", self.dense, limit, level, self._within(source_id))

    def by_terms(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the term ranking to ask for, of one source or of all."""
        return Query("bm25", self.terms, limit, level, self._within(source_id))

    def _within(self, source_id: str | None) -> Where | None:
        return self.where if source_id is None else {**(self.where or {}), "source_id": source_id}


def find_candidates(question: Question, weights: KinWeights, limit: int) -> Steps[list[Candidate]]:
    """Find the chunks that answer a question, each judged with its siblings, its parent and its document.

    One call asks for the best chunks by meaning and by terms, the best parents and the best documents. A second one
    looks into the best documents, since a question that names its document finds there what is only a little like it.

    Args:
        question: The question.
        weights: How much each kind of evidence counts; without weight it isn't asked for.
        limit: Most candidates.

    Returns:
        The candidates, best first; equal scores in order of source and place.
    """
    pool, above = max(limit, weights.pool), question.level + 1
    wanted = {
        "dense": question.by_meaning(question.level, pool),
        "bm25": question.by_terms(question.level, pool),
        "parent": question.by_terms(above, weights.parents) if weights.parent else None,
        "parent_dense": question.by_meaning(above, weights.parents) if weights.parent_dense else None,
        "document": question.by_terms(DOCUMENT, weights.documents)
        if weights.document or weights.best_documents
        else None,
    }
    asked = {name: query for name, query in wanted.items() if query is not None}
    found = dict(zip(asked, (yield from ask(list(asked.values()))), strict=True))
    dense, terms = found["dense"], found["bm25"]
    documents = _scores(found.get("document", ()), by_source=True)
    inside = yield from ask(
        [
            query
            for source_id in _best_documents(dense, documents, weights.best_documents)
            for query in (
                question.by_meaning(question.level, weights.inside, source_id),
                question.by_terms(question.level, weights.inside, source_id),
            )
        ]
    )
    for hits in inside[0::2]:
        dense = [*dense, *hits]
    for hits in inside[1::2]:
        terms = [*terms, *hits]
    evidence = Evidence(
        chunks={hit.chunk.id: hit.chunk for hit in (*dense, *terms)},
        dense=_scores(dense),
        bm25=_scores(terms),
        parent=_scores(found.get("parent", ())),
        parent_dense=_scores(found.get("parent_dense", ())),
        document=documents,
    )
    return judge(evidence, weights)[:limit]


def _scores(hits: Iterable[Hit], *, by_source: bool = False) -> dict[str, float]:
    return {hit.chunk.source_id if by_source else hit.chunk.id: hit.score for hit in hits}


def _best_documents(dense: Sequence[Hit], documents: dict[str, float], number: int) -> list[str]:
    """Return the sources with the most evidence: their own terms, and their best chunk's meaning."""
    meaning: dict[str, float] = {}
    for hit in dense:
        meaning.setdefault(hit.chunk.source_id, hit.score)  # Best first, so the first one counts.
    shares = unit(meaning), unit(documents)
    total = {source: sum(share.get(source, 0.0) for share in shares) for source in {**meaning, **documents}}
    return sorted(total, key=lambda source: (-total[source], source))[:number]

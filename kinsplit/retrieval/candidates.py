"""Candidates of a question, scored together with their kin."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.embedding.protocol import SparseVector
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.scoring import Evidence, ScoredEntry, score_with_kin, unit
from kinsplit.retrieval.weights import KinWeights
from kinsplit.stores.calls import rank
from kinsplit.stores.protocol import Entry, Query, Where
from kinsplit.support.telemetry import span

#: Number of chunks at the top of each ranking whose siblings are scored by themselves.
_BEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question in the forms that a store searches by.

    Attributes:
        dense: The question's vector, shape (dimension,); None for a search by terms alone.
        terms: The question's term weights.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents.
        where: Filter; see `Query`.
    """

    dense: NDArray[np.float32] | None
    terms: SparseVector
    level: int = 0
    where: Where | None = None

    @property
    def vector(self) -> NDArray[np.float32]:
        """The question's vector.

        Raises:
            InvalidParameterError: The question has none.
        """
        if self.dense is None:
            raise InvalidParameterError("dense", "must be given to search by meaning", None, "Embed the question.")
        return self.dense

    def by_meaning(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the query for the dense ranking of one source, or of all."""
        return Query("dense", self.vector, limit, level, self._within(source_id))

    def by_terms(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the query for the term ranking of one source, or of all."""
        return Query("bm25", self.terms, limit, level, self._within(source_id))

    def of_ids(self, using: Literal["dense", "bm25"], ids: Collection[str]) -> list[Query]:
        """Return the query for the scores of some chunks, whatever the filter; none if there are no chunks."""
        vector = self.vector if using == "dense" else self.terms
        return [Query(using, vector, len(ids), self.level, {"$id": sorted(ids)})] if ids else []

    def _within(self, source_id: str | None) -> Where | None:
        return self.where if source_id is None else {**(self.where or {}), "source_id": source_id}


def to_candidates(found: Sequence[ScoredEntry], chunks: Mapping[str, Chunk]) -> list[Candidate]:
    """Return scored entries as candidates, without chunks that were deleted in the meantime."""
    return [Candidate(chunks[s.entry.id], s.score, s.scores) for s in found if s.entry.id in chunks]


async def find_entries(question: Question, weights: KinWeights, limit: int) -> list[ScoredEntry]:
    """Find the chunks that answer a question, each scored with its siblings, its parent and its document.

    Args:
        question: The question.
        weights: Weight of each kind of evidence; see `find_evidence`.
        limit: Maximum number of candidates.

    Returns:
        Entries, best first; equal scores in order of source and index.
    """
    with span("kinsplit.search.candidates") as record:
        evidence = await find_evidence(question, weights, limit)
        record(chunks=len(evidence.entries))
    with span("kinsplit.search.score", {"chunks": len(evidence.entries)}):
        return score_with_kin(evidence, weights, limit)


async def find_evidence(question: Question, weights: KinWeights, limit: int) -> Evidence:
    """Find candidates and all scores that count for them, in two calls to the store.

    The first call fetches the best chunks by meaning and by terms, the best parents and the best documents. The second
    completes the evidence: it asks for the scores that these rankings lack, of the chunks they found and of the best
    ones' siblings, and searches inside the best documents, since a question that names its document also has answers
    there that resemble it only a little.

    Args:
        question: The question.
        weights: Numbers of chunks, parents and documents; rankings without weight are not requested.
        limit: Minimum number of chunks to take from each ranking.
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
    queries = {name: query for name, query in wanted.items() if query is not None}
    found = dict(zip(queries, await rank(list(queries.values())), strict=True))
    documents = {entry.source_id: entry.score for entry in found.get("document", ())}
    inside = [
        query
        for source_id in _best_documents(found["dense"], documents, weights.best_documents)
        for query in (
            question.by_meaning(question.level, weights.inside, source_id),
            question.by_terms(question.level, weights.inside, source_id),
        )
    ]
    missing = _missing(found, queries["bm25"].limit, question, siblings=bool(weights.siblings))
    answers = await rank([*inside, *missing])
    entries = {entry.id: entry for entry in chain(found["dense"], found["bm25"], *answers[: len(inside)])}
    scores: dict[str, dict[str, float]] = {using: _scores(found[using]) for using in ("dense", "bm25")}
    for query, answer in zip((*inside, *missing), answers, strict=True):
        scores[query.using] |= _scores(answer)
    return Evidence(
        entries=entries,
        dense=scores["dense"],
        bm25=scores["bm25"],
        parent=_scores(found.get("parent", ())),
        parent_dense=_scores(found.get("parent_dense", ())),
        document=documents,
    )


def _missing(found: Mapping[str, Sequence[Entry]], limit: int, question: Question, *, siblings: bool) -> list[Query]:
    """Return the queries for scores that the rankings lack: of the chunks they found, and of the best ones' siblings.

    Args:
        found: The rankings "dense" and "bm25".
        limit: Largest number of chunks in a ranking.
        question: The question.
        siblings: Whether the siblings' scores are wanted.
    """
    dense, terms = found["dense"], found["bm25"]
    wanted = {entry.id for entry in (*dense, *terms)}
    if siblings:
        best = (*dense[:_BEST], *terms[:_BEST])
        wanted |= {id_ for entry in best for id_ in (entry.prev_id, entry.next_id) if id_ is not None}
    queries = question.of_ids("dense", wanted - {entry.id for entry in dense})
    # A term ranking below its limit holds every chunk that has a term of the question.
    return queries if len(terms) < limit else queries + question.of_ids("bm25", wanted - {entry.id for entry in terms})


def _scores(entries: Iterable[Entry]) -> dict[str, float]:
    return {entry.id: entry.score for entry in entries}


def _best_documents(dense: Sequence[Entry], documents: dict[str, float], number: int) -> list[str]:
    """Return the sources with the highest sum of their own term score and their best chunk's cosine."""
    meaning: dict[str, float] = {}
    for entry in dense:
        meaning.setdefault(entry.source_id, entry.score)  # Entries come best first.
    shares = unit(meaning), unit(documents)
    total = {source: sum(share.get(source, 0.0) for share in shares) for source in {**meaning, **documents}}
    return sorted(total, key=lambda source: (-total[source], source))[:number]

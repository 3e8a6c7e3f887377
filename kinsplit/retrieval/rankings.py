"""Registry of the ways to rank chunks for a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.embedding.calibration import Baseline
from kinsplit.embedding.protocol import SparseVector
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.options import KinWeights
from kinsplit.retrieval.names import Naming, find_course, find_naming
from kinsplit.retrieval.passage import Candidate
from kinsplit.retrieval.scoring import (
    KinRankings,
    NamedRankings,
    ScoredEntry,
    entries_of,
    is_close,
    score_with_kin,
    scores_of,
    unit,
)
from kinsplit.spans import holds, overlap
from kinsplit.stores.filters import Condition, HasId, OneOf, to_conditions
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Entry, Query, RankedEntries, Where
from kinsplit.support.telemetry import span

#: Number of chunks at the top of each ranking whose siblings are scored by themselves.
_BEST = 5
#: Most words of a question that are asked for alone: a sample of more, as in scripts without spaces.
_ALONE = 8


def _no_words(_: str) -> frozenset[int]:
    return frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class SearchQuestion:
    """A question in the forms that a store searches by.

    Attributes:
        dense: The question's vector, shape (dimension,); None for a search by terms alone.
        terms: The question's term weights.
        level: Level of the chunks to find: 0 for leaves, 1 for their parents.
        where: Filter; see `Query`.
        words: Those of its terms that are words; if there are none, no document is looked for that it names.
        alone: Each word with all terms for it, and the words of phrases with those of acronyms.
        read_name: Function that returns the terms of a document's name.
        baseline: Its expected cosine with unrelated texts, and how well the model knows its language; None if these
            aren't known, and with them whether a passage is close.
    """

    dense: NDArray[np.float32] | None
    terms: SparseVector
    level: int = 0
    where: Where | None = None
    words: frozenset[int] = frozenset()
    alone: Sequence[tuple[frozenset[int], Collection[int]]] = ()
    read_name: Callable[[str], frozenset[int]] = _no_words
    baseline: Baseline | None = None
    # Those of the filter, which each of some twenty queries takes.
    _conditions: tuple[Condition, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_conditions", (*to_conditions(None, self.where),))

    @classmethod
    def of(cls, text: str, dense: NDArray[np.float32] | None, bm25: Bm25Embedder, **options: Any) -> Self:
        """Return a question with the terms of its text."""
        terms, alone = bm25.embed_query(text), bm25.alone(text)
        words = frozenset(chain.from_iterable(words for words, _ in alone))
        return cls(dense, terms, words=words, alone=alone, read_name=bm25.words_of_name, **options)

    @property
    def vector(self) -> NDArray[np.float32]:
        """The question's vector.

        Raises:
            InvalidParameterError: The question has none.
        """
        if self.dense is None:
            raise InvalidParameterError("dense", "must be given to search by meaning", None, "Embed the question.")
        return self.dense

    @property
    def familiarity(self) -> float | None:
        """How well the model knows the question's language; None if that isn't known."""
        return None if self.baseline is None else self.baseline.familiarity

    def by_meaning(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the query for the dense ranking of one source, or of all."""
        return Query("dense", self.vector, limit, level, self._within(source_id))

    def by_terms(self, level: int, limit: int, source_id: str | None = None) -> Query:
        """Return the query for the term ranking of one source, or of all."""
        return Query("bm25", self.terms, limit, level, self._within(source_id))

    def by_word(self, word: int, level: int, limit: int) -> Query:
        """Return the query for the ranking by one word."""
        return Query("bm25", SparseVector((word,), (1.0,)), limit, level, self._within())

    def alone_queries(self) -> list[tuple[frozenset[int], Query]]:
        """Return the query for the best chunk with each word, and with a phrase's acronym; of many words, a sample."""
        # Terms are numbered by hashes, so that the first are a sample.
        sample = frozenset(sorted(self.words)[:_ALONE])
        asked = [(words, self.terms.only(terms)) for words, terms in self.alone if words <= sample]
        return [(words, Query("bm25", t, 1, self.level, self._within(), bare=True)) for words, t in asked]

    def of_ids(
        self, using: Literal["dense", "bm25"], ids: Iterable[str], known: Container[str] = frozenset()
    ) -> list[Query]:
        """Return the query for the scores of chunks that aren't known, whatever the filter; none if all are."""
        vector, unknown = self.vector if using == "dense" else self.terms, tuple(id_ for id_ in ids if id_ not in known)
        return [Query(using, vector, len(unknown), self.level, (HasId(unknown),), bare=True)] if unknown else []

    def _within(self, source_id: str | None = None) -> tuple[Condition, ...]:
        """Return the conditions of the filter, and that of a source."""
        return self._conditions if source_id is None else (*self._conditions, OneOf("source_id", (source_id,)))


def to_candidates(found: Sequence[ScoredEntry], chunks: Mapping[str, Chunk]) -> list[Candidate]:
    """Return scored entries as candidates, without chunks that were deleted in the meantime."""
    return [Candidate(chunks[s.entry.id], s.score, s.scores) for s in found if s.entry.id in chunks]


#: Steps of a search: each yields queries, and is sent their entries, to make calls together with other searches.
Steps = Generator[Sequence[Query], list[RankedEntries], KinRankings]


def find_evidence(store: ChunkStore, question: SearchQuestion, weights: KinWeights, limit: int) -> Steps:
    """Find candidates and all scores that count for them, in one or two calls, or more if a document is named.

    The first call fetches the best chunks by meaning, by terms and by single words, the best parents and the best
    documents; rankings without weight are not requested. The second completes the evidence: it asks for the scores that
    these rankings lack, of the chunks they found and of the best ones' siblings, and searches inside the best
    documents, since a question that names its document also has answers there that resemble it only a little. `limit`
    is the minimum number of chunks to take from each ranking.

    A question that names one of several courses, or its lecturer, is asked again without the words of the name, in one
    more call: its terms of courses lift the whole course alike.
    """
    pool, above = max(limit, weights.pool), question.level + 1
    asks_documents = weights.document or weights.best_documents
    wanted = {
        "dense": question.by_meaning(question.level, pool),
        "bm25": question.by_terms(question.level, pool),
        "parent": question.by_terms(above, weights.parents) if weights.parent else None,
        "parent_dense": question.by_meaning(above, weights.parents) if weights.parent_dense else None,
        "document": question.by_terms(DOCUMENT, weights.documents) if asks_documents else None,
    }
    # Parents are known by their ids.
    queries = {n: replace(query, bare=n.startswith("parent")) for n, query in wanted.items() if query is not None}
    alone = question.alone_queries()
    answers = yield [*queries.values(), *(query for _, query in alone)]
    found = dict(zip(queries, answers, strict=False))
    naming = find_course(question, [own for name, own in found.items() if not queries[name].bare])
    if naming is None and weights.document:
        naming = yield from find_naming(store, question, weights, found)
    if naming is not None and not naming.likely:
        evidence = yield from find_evidence(store, naming.question, weights, limit)
        return replace(evidence, course=naming.course) if naming.course else evidence
    best = [(words, hits) for (words, _), hits in zip(alone, answers[len(queries) :], strict=True)]
    share = _matched(found["bm25"], best, len(question.words))
    documents = {entry.source_id: score for entry, score in found.get("document", ())}
    if naming is not None:
        return (yield from _evidence_within(question, weights, found, naming, documents, share))
    likely = _best_documents(found["dense"], documents, weights.best_documents)
    inside = _inside(question, weights.inside, found, pool, likely)
    scores: dict[str, dict[str, float]] = {using: scores_of(found[using]) for using in ("dense", "bm25")}
    wanted_ids = _wanted((found["dense"], found["bm25"]), siblings=bool(weights.siblings))
    missing = question.of_ids("dense", wanted_ids, scores["dense"])
    if len(found["bm25"]) >= pool:  # Otherwise it holds every chunk that has a term of the question.
        missing += question.of_ids("bm25", wanted_ids, scores["bm25"])
    answers = yield [*inside, *missing]
    entries = entries_of((found["dense"], found["bm25"], *answers[: len(inside)]))
    for query, answer in zip((*inside, *missing), answers, strict=True):
        scores[query.using] |= scores_of(answer)
    parent, parent_dense = (scores_of(found.get(name, ())) for name in ("parent", "parent_dense"))
    return KinRankings(
        entries,
        scores["dense"],
        scores["bm25"],
        parent,
        parent_dense,
        documents,
        share=share,
        familiarity=question.familiarity,
    )


def _evidence_within(
    question: SearchQuestion,
    weights: KinWeights,
    found: Mapping[str, RankedEntries],
    naming: Naming,
    documents: Mapping[str, float],
    share: float,
) -> Steps:
    """Complete the evidence for a question that names a document: inside the most likely ones, without the name."""
    rest = naming.question
    inside = [
        ask(question.level, weights.inside, source_id)
        for source_id in naming.likely[: weights.best_documents]
        for ask in (rest.by_meaning, rest.by_terms)
    ]
    within = yield inside
    lists = [found["dense"], found["bm25"], *within]
    wanted = _wanted(lists, siblings=bool(weights.siblings))
    # By whether the name is left out, and by ranking.
    known: dict[tuple[bool, Literal["dense", "bm25"]], dict[str, float]] = {
        (False, "dense"): scores_of(found["dense"]),
        (False, "bm25"): scores_of(found["bm25"]),
        (True, "dense"): scores_of(chain(*within[::2])),
        (True, "bm25"): scores_of(chain(*within[1::2])),
    }
    if rest.dense is question.dense:
        known[False, "dense"] |= known.pop((True, "dense"))
    asked = {
        key: query
        for key, scores in known.items()
        for query in (rest if key[0] else question).of_ids(key[1], wanted, scores)
    }
    for key, answer in zip(asked, (yield list(asked.values())), strict=True):
        known[key] |= scores_of(answer)
    return KinRankings(
        entries_of(lists),
        known[False, "dense"],
        known[False, "bm25"],
        scores_of(found.get("parent", ())),
        scores_of(found.get("parent_dense", ())),
        documents,
        NamedRankings(known.get((True, "dense"), known[False, "dense"]), known[True, "bm25"], naming.first),
        share,
        familiarity=question.familiarity,
    )


def _matched(best: RankedEntries, alone: Sequence[tuple[Collection[int], RankedEntries]], number: int) -> float:
    """Return the best term score as a share of the sum of what each of so many words scores at best.

    The words asked for alone may be a sample. A word that no chunk has counts as much as the rarest one found, and the
    words of a phrase no more than its acronym. A question without words has all of them.
    """
    scores = [(words, hits[0][1]) for words, hits in alone if hits]
    if not scores or not best:
        return 0.0 if alone else 1.0
    known = {word: score for words, score in scores if len(words) == 1 for word in words}
    rarest = max(known.values() or (score for _, score in scores))
    needed = {word: known.get(word, rarest) for words, _ in alone for word in words}
    for words, score in scores:
        total = sum(needed[word] for word in words)
        needed |= {word: needed[word] * min(1.0, score / total) for word in words}
    return min(1.0, best[0][1] * len(needed) / (number * sum(needed.values())))


def _inside(
    question: SearchQuestion, number: int, found: Mapping[str, RankedEntries], limit: int, best: Sequence[str]
) -> list[Query]:
    """Return the queries for the first chunks of the best documents, so many of each, that full rankings may lack."""
    full = [
        (ask, [entry.source_id for entry, _ in found[using]])
        for using, ask in (("dense", question.by_meaning), ("bm25", question.by_terms))
        if len(found[using]) >= limit
    ]
    return [
        ask(question.level, number, source_id)
        for source_id in best
        for ask, sources in full
        if sources.count(source_id) < number
    ]


def _wanted(found: Sequence[RankedEntries], *, siblings: bool) -> Collection[str]:
    """Return the ids of the chunks that rankings found, and of the siblings of each one's best."""
    wanted = dict.fromkeys([entry.id for entry, _ in chain(*found)])
    if siblings:
        best = [entry for ranking in found for entry, _ in ranking[:_BEST]]
        wanted |= dict.fromkeys(id_ for entry in best for id_ in (entry.prev_id, entry.next_id) if id_ is not None)
    return wanted


def _best_documents(dense: RankedEntries, documents: dict[str, float], number: int) -> list[str]:
    """Return the sources with the highest sum of their own term score and their best chunk's cosine."""
    meaning: dict[str, float] = {}
    for entry, score in dense:
        meaning.setdefault(entry.source_id, score)  # Entries come best first.
    total = unit(meaning)
    for source, share in unit(documents).items():
        total[source] = total.get(source, 0.0) + share
    return sorted(total, key=lambda source: (-total[source], source))[:number]


#: The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).
RRF = 60


class Ranking(NamedTuple):
    """A way to rank chunks.

    Attributes:
        name: Name of the ranking.
        description: Description in one line.
        find: Function that asks a store for all that counts for at least the given number of chunks. The weights are
            those of kin scoring.
        score: Function that returns at most that number of them, best first.
        embeds: Whether the question's vector is needed.
        weighs: Whether the weights are used.
    """

    name: str
    description: str
    find: Callable[[ChunkStore, SearchQuestion, KinWeights, int], Steps]
    score: Callable[[KinRankings, KinWeights, int], list[ScoredEntry]]
    embeds: bool = True
    weighs: bool = False


KIN = Ranking("kin", "By meaning and terms, each chunk with its kin", find_evidence, score_with_kin, weighs=True)


def find_candidates(
    store: ChunkStore, question: SearchQuestion, weights: KinWeights, limit: int, ranking: Ranking = KIN
) -> list[Candidate]:
    """Find the chunks that answer a question, with their texts.

    Args:
        store: The store.
        question: The question.
        weights: Weights of kin scoring.
        limit: Maximum number of candidates.
        ranking: The ranking.
    """
    found = find_entries(store, question, weights, limit, ranking).entries
    chunks = store.get([scored.entry.id for scored in found]) if found else []
    return to_candidates(found, {chunk.id: chunk for chunk in chunks})


class Found(NamedTuple):
    """Results of ranking the chunks for a question.

    Attributes:
        entries: Scored entries, best first.
        is_close: Whether any of them is close to the question; None if that isn't known.
        course: Name of the course that the question names, one of several; empty if there is none.
    """

    entries: list[ScoredEntry]
    is_close: bool | None
    course: str


def find_entries(
    store: ChunkStore,
    question: SearchQuestion,
    weights: KinWeights,
    limit: int,
    ranking: Ranking = KIN,
    levels: Sequence[int] = (),
) -> Found:
    """Find the chunks of one or several levels that answer a question, in as many calls as one level takes.

    Each level has a ranking of its own, of at most `limit` chunks. Scores of different levels are comparable as far as
    the ranking scales them alike, as kin scoring does, whose scores are relative to the candidates of a level. Entries
    come best first; of equal ones the finest first.
    """
    asked = [replace(question, level=level) for level in levels or (question.level,)]
    with span("kinsplit.search.candidates") as record:
        found = rank_together(store, [ranking.find(store, each, weights, limit) for each in asked])
        record(chunks=sum(len(each.entries) for each in found))
    with span("kinsplit.search.score", {"chunks": sum(len(each.entries) for each in found)}):
        scored = [each for own in found for each in ranking.score(own, weights, limit)]
    close = [is_close(own, question.baseline) for own in found if ranking.weighs and question.baseline is not None]
    course = next((own.course for own in found if own.course), "")
    return Found(sorted(scored, key=lambda each: -each.score), any(close) if close else None, course)


def rank_together(store: ChunkStore, searches: Sequence[Steps]) -> list[KinRankings]:
    """Carry out the steps of searches in as many calls to the store as the one that makes most."""
    results: dict[int, KinRankings] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(searches)))
    while answers:
        asked: dict[int, Sequence[Query]] = {}
        for number, answer in answers.items():
            try:
                asked[number] = searches[number].send(answer)
            except StopIteration as stop:
                results[number] = stop.value
        queries = [query for own in asked.values() for query in own]
        found = iter(store.rank(queries) if queries else [])
        answers = {number: list(islice(found, len(own))) for number, own in asked.items()}
    return [results[number] for number in range(len(searches))]


def without_straddlers(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates, best first, without those that share only a part of their text with a better one's.

    Of a chunk and one of a higher level around it, a passage holds the latter. Chunks that straddle, as those of
    overlapping windows may, would repeat their common text.
    """
    kept: list[Candidate] = []
    taken: dict[str, list[Chunk]] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        others = taken.setdefault(chunk.source_id, [])
        if not any(_straddle(chunk, other) for other in others if other.level != chunk.level):
            kept.append(candidate)
            others.append(chunk)
    return kept


def _straddle(one: Chunk, other: Chunk) -> bool:
    inner, outer = sorted((one, other), key=lambda chunk: chunk.level)
    return not holds(outer.spans, inner.spans) and overlap(inner.spans, outer.spans) > 0


def _find(*stages: Literal["dense", "bm25"]) -> Callable[[ChunkStore, SearchQuestion, KinWeights, int], Steps]:
    """Return a function that asks for rankings, in one call to the store."""

    def find(_: ChunkStore, question: SearchQuestion, __: KinWeights, limit: int) -> Steps:
        ask = {"dense": question.by_meaning, "bm25": question.by_terms}
        answers = yield [ask[stage](question.level, limit) for stage in stages]
        scores = {stage: scores_of(answer) for stage, answer in zip(stages, answers, strict=True)}
        return KinRankings(entries_of(answers), scores.get("dense", {}), scores.get("bm25", {}))

    return find


def _alone(stage: Literal["dense", "bm25"]) -> Callable[[KinRankings, KinWeights, int], list[ScoredEntry]]:
    """Return a function that scores by one ranking."""
    return lambda found, _, limit: [
        ScoredEntry(entry, score, {stage: score}) for entry, score in _ordered(found, getattr(found, stage))[:limit]
    ]


def _fused(found: KinRankings, _: KinWeights, limit: int) -> list[ScoredEntry]:
    """Return the chunks of both rankings by the sum of their reciprocal ranks; equal sums in order of meaning."""
    scores: dict[str, dict[str, float]] = {}
    total: dict[str, float] = {}
    for stage, ranked in (("dense", found.dense), ("bm25", found.bm25)):
        for place, (entry, score) in enumerate(_ordered(found, ranked), 1):
            scores.setdefault(entry.id, {})[stage] = score
            total[entry.id] = total.get(entry.id, 0.0) + 1 / (RRF + place)
    best = sorted(total, key=lambda id_: -total[id_])[:limit]
    return [ScoredEntry(found.entries[id_], total[id_], {**scores[id_], "hybrid": total[id_]}) for id_ in best]


def _ordered(found: KinRankings, scores: Mapping[str, float]) -> list[tuple[Entry, float]]:
    """Return a ranking; equal scores come in order of source and index, which engines order as they like."""
    ranked = [(found.entries[id_], score) for id_, score in scores.items()]
    return sorted(ranked, key=lambda pair: (-pair[1], pair[0].source_id, pair[0].index))


_RANKINGS: dict[str, Ranking] = {
    ranking.name: ranking
    for ranking in (
        KIN,
        Ranking(
            "hybrid", f"By meaning and terms, joined by reciprocal ranks (k = {RRF})", _find("dense", "bm25"), _fused
        ),
        Ranking("dense", "By meaning: cosine", _find("dense"), _alone("dense")),
        Ranking("terms", "By terms: BM25; the question is not embedded", _find("bm25"), _alone("bm25"), embeds=False),
    )
}


def rankings() -> list[Ranking]:
    """Return all rankings, the default first."""
    return list(_RANKINGS.values())


def names() -> list[str]:
    """Return the names of all rankings, the default first."""
    return list(_RANKINGS)


def pick(name: str) -> Ranking:
    """Return a ranking by its name, or raise InvalidParameterError."""
    if name in _RANKINGS:
        return _RANKINGS[name]
    raise InvalidParameterError("ranking", "must be the name of a ranking", name, f"Use one of: {', '.join(names())}.")

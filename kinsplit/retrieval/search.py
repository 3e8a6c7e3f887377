"""Search: candidates by rank, each with its kin, reranked, expanded, and passages within a budget.

The defaults are those of the course search that kinsplit replaces: 30 candidates are reranked, expanded by their
siblings and reranked as whole passages, and the best 3 are returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, embedded_text
from kinsplit.options import FEWEST, Reranker, SearchExtension, SearchOptions
from kinsplit.retrieval.budget import Budget, Terms, context_of, no_terms, spend
from kinsplit.retrieval.expand import Expansion, arrange, decisive, fetch_kin
from kinsplit.retrieval.passage import Candidate, Passage, Passages
from kinsplit.retrieval.rankings import SearchQuestion, find_entries, pick, to_candidates, without_straddlers
from kinsplit.retrieval.rerank.protocol import ItemReader, rerank
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.stores.store import ChunkStore
from kinsplit.support.telemetry import span
from kinsplit.tokenizers import Tokenizer


def diversify(
    candidates: Sequence[Candidate], vectors: Mapping[str, NDArray[np.float32]], diversity: float
) -> list[Candidate]:
    """Order candidates so that each is relevant and unlike those before it; without a vector, it is like no other.

    The next candidate is always the one with the highest (1 - diversity) · relevance - diversity · similarity, where
    the relevance is the score, scaled to the range from 0 to 1, and the similarity the highest cosine with a candidate
    that comes before, at least 0 (Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for Reordering
    Documents and Producing Summaries", SIGIR 1998). The time grows with the square of the number of candidates.

    Returns:
        All candidates, ranked by this value, the stage `mmr`; equal values in the given order.
    """
    if not candidates:
        return []
    dimension = next((len(vector) for vector in vectors.values()), 1)
    nothing = np.zeros(dimension, dtype=np.float32)
    matrix = np.array([vectors.get(candidate.chunk.id, nothing) for candidate in candidates])
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    worth = (1 - diversity) * _relevance(candidates)
    similarity = np.zeros(len(candidates))
    left = np.ones(len(candidates), dtype=bool)
    ordered: list[Candidate] = []
    while len(ordered) < len(candidates):
        value = np.where(left, worth - diversity * similarity, -np.inf)
        best = int(value.argmax())
        left[best] = False
        similarity = np.maximum(similarity, matrix @ matrix[best])
        ordered.append(candidates[best].with_score("mmr", float(value[best])))
    return ordered


def _relevance(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Return the scores, scaled to the range from 0 to 1.

    Candidates that a reranker left out come last, with scores on another scale; they count as its lowest.
    """
    scores = np.minimum.accumulate([candidate.score for candidate in candidates])
    extent = float(scores[0] - scores[-1])
    scaled: NDArray[np.float64] = (scores - scores[-1]) / extent if extent > 0 else np.ones(len(scores))
    return scaled


# Most characters per token, where the strategy doesn't count them, and the factor by which candidates may exceed a
# budget, since their texts may overlap.
_MOST_PER_TOKEN, _AMPLE = 8, 2


def search(
    store: ChunkStore,
    query: str,
    question: SearchQuestion,
    fingerprint: str,
    options: SearchOptions,
    reranker: Reranker | None,
    tokenizer: Tokenizer | None,
    terms: Terms = no_terms,
    levels: Sequence[int] = (),
) -> Passages:
    """Find the passages that answer a question, in at most three calls to the store, or four if ids are missing.

    Args:
        store: The store.
        query: The question as text, for the reranker.
        question: The question as a store searches by it.
        fingerprint: Fingerprint of the strategy, from which ids are computed.
        options: Options of every stage.
        reranker: Scores the candidates and then the passages; None leaves out both stages.
        tokenizer: Counts the tokens of a budget; required if there is one.
        terms: See `Budget`.
        levels: Levels of the chunks to find at once, within a budget; empty for the question's own.

    Returns:
        Passages, best first. Those that a reranker left out come last and keep their earlier score, which is on another
        scale. With a budget, the reranker reads only the candidates.
    """
    expansion = Expansion.of(options)
    levels = levels or (question.level,)
    ranking = pick(options.ranking)
    entries, close, course = find_entries(store, question, options.weights, options.limit, ranking, levels)
    budget = None if tokenizer is None else Budget.of(options, tokenizer, terms)
    if budget is not None and options.top_k is None and options.candidates is None:
        entries = _enough(entries, budget.tokens * len(levels))
    number = options.passages or options.limit
    reads_all = reranker is not None or budget is not None or _reorders(options)
    shown = entries if reads_all else decisive(entries, expansion, number)
    chunks, vectors = _fetch(store, shown, entries, expansion, fingerprint, with_vectors=bool(options.diversity))
    found = to_candidates(entries, chunks)
    if len(levels) > 1:
        found = without_straddlers(found)
    found = options.refine(found)
    if reranker is not None:
        found = rerank(reranker, query, found, _CANDIDATES)
    if options.diversity:
        found = diversify(found, vectors, options.diversity)
    with span("kinsplit.search.expand") as record:
        is_reranked = budget is None and not options.diversity and any("rerank" in each.scores for each in found)
        if budget is not None:
            passages = spend(budget, found, context_of(chunks, expansion, fingerprint))
        else:
            passages = arrange(found, chunks, expansion, fingerprint, options.limit if is_reranked else number)
        record(passages=len(passages))
    if reranker is not None and is_reranked:  # A reranker that failed on the candidates isn't called again.
        # Those of candidates that it left out come last; their scores are on another scale.
        number = sum("rerank" in passage.scores for passage in passages)
        passages = rerank(reranker, query, passages[:number], _PASSAGES) + passages[number:]
    passages = passages[: options.passages]
    return Passages(passages, is_close=close if passages else None, named_course=course)


def _reorders(options: SearchOptions) -> bool:
    """Return whether options need the texts of all candidates to order them."""
    return bool(options.diversity) or type(options).refine is not SearchExtension.refine


def _fetch(
    store: ChunkStore,
    shown: Sequence[ScoredEntry],
    entries: Sequence[ScoredEntry],
    expansion: Expansion,
    fingerprint: str,
    *,
    with_vectors: bool,
) -> tuple[dict[str, Chunk], dict[str, NDArray[np.float32]]]:
    """Return the chunks of the entries to show and their kin by id, and their dense vectors if these are wanted.

    If one of them was deleted in the meantime, the chunks of all entries are read, since others take its place.
    """
    vectors: dict[str, NDArray[np.float32]] = {}

    def read(ids: Sequence[str]) -> list[Chunk]:
        pairs = store.get_with_vectors(ids)
        vectors.update((chunk.id, own.dense) for chunk, own in pairs if own.dense is not None)
        return [chunk for chunk, _ in pairs]

    def fetched(found: Sequence[ScoredEntry]) -> dict[str, Chunk]:
        hits = [scored.entry for scored in found]
        return fetch_kin(store, hits, expansion, fingerprint, read=read if with_vectors else None)

    with span("kinsplit.search.fetch") as record:
        chunks = fetched(shown)
        if len(shown) < len(entries) and not all(scored.entry.id in chunks for scored in shown):
            chunks = fetched(entries)
        record(chunks=len(chunks))
    return chunks, vectors


def _enough(entries: list[ScoredEntry], tokens: int) -> list[ScoredEntry]:
    """Return the first entries, as many as surely fill a budget; their texts may overlap."""
    lengths = (one.entry.token_count or one.entry.length / _MOST_PER_TOKEN for one in entries)
    number = next((n for n, total in enumerate(accumulate(lengths), 1) if total >= _AMPLE * tokens), len(entries))
    return entries[: max(FEWEST, number)]


_CANDIDATES = ItemReader[Candidate](
    lambda candidate: embedded_text(candidate.chunk),
    attrgetter("score"),
    lambda candidate, score: candidate.with_score("rerank", score),
)
_PASSAGES = ItemReader[Passage](
    attrgetter("text"), attrgetter("score"), lambda passage, score: passage.with_score("rerank_passage", score)
)

"""The stages of a search: candidates, reranking, and passages: expanded and reranked hits, or those in a budget.

The defaults are those of the course search that kinsplit replaces: 30 candidates are reranked, expanded by their
siblings and reranked as whole passages, and the best 3 are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter

from kinsplit.chunk import embedded_text
from kinsplit.retrieval.budget import Terms, context_of, no_terms, spend
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.candidates import Question, to_candidates
from kinsplit.retrieval.diversity import VectorReader, diversify
from kinsplit.retrieval.expand import arrange, fetch_kin
from kinsplit.retrieval.options import FEWEST, SearchOptions
from kinsplit.retrieval.passage import Passage
from kinsplit.retrieval.rankings import find_on_levels, pick, without_straddlers
from kinsplit.retrieval.rerank import Reading, Reranker, rerank
from kinsplit.retrieval.scoring import ScoredEntry
from kinsplit.stores.calls import get
from kinsplit.support.telemetry import span
from kinsplit.tokenizers import Tokenizer

# Most characters per token, where the strategy doesn't count them, and the factor by which candidates may exceed a
# budget, since their texts may overlap.
_MOST_PER_TOKEN, _AMPLE = 8, 2


async def search(
    query: str,
    question: Question,
    fingerprint: str,
    options: SearchOptions,
    reranker: Reranker | None,
    tokenizer: Tokenizer | None,
    terms: Terms = no_terms,
    levels: Sequence[int] = (),
) -> list[Passage]:
    """Find the passages that answer a question, in at most three calls to the store, or four if ids are missing.

    Args:
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
    expansion = options.expansion
    ranking, levels = pick(options.ranking), levels or (question.level,)
    entries = await find_on_levels(question, options.weights, options.limit, ranking, levels)
    budget = None if tokenizer is None else options.spending(tokenizer, terms)
    if budget is not None and options.top_k is None and options.candidates is None:
        entries = _enough(entries, budget.tokens * len(levels))
    with span("kinsplit.search.fetch") as record:
        reader = VectorReader()
        read = reader.read if options.diversity else get
        chunks = await fetch_kin((scored.entry for scored in entries), expansion, fingerprint, read=read)
        record(chunks=len(chunks))
    found = to_candidates(entries, chunks)
    if len(levels) > 1:
        found = without_straddlers(found)
    if reranker is not None:
        found = rerank(reranker, query, found, _CANDIDATES)
    if options.diversity:
        found = diversify(found, reader.vectors, options.diversity)
    with span("kinsplit.search.expand") as record:
        if budget is not None:
            passages = spend(budget, found, context_of(chunks, expansion, fingerprint))
            record(passages=len(passages))
            return passages
        is_reranked = not options.diversity and any("rerank" in candidate.scores for candidate in found)
        number = options.limit if is_reranked else options.passages or options.limit
        passages = arrange(found, chunks, expansion, fingerprint, number)
        record(passages=len(passages))
    if reranker is not None and is_reranked:  # A reranker that failed on the candidates isn't called again.
        passages = rerank(reranker, query, passages, _PASSAGES)
    return passages[: options.passages]


def _enough(entries: list[ScoredEntry], tokens: int) -> list[ScoredEntry]:
    """Return the first entries, as many as surely fill a budget; their texts may overlap."""
    lengths = (one.entry.token_count or one.entry.length / _MOST_PER_TOKEN for one in entries)
    number = next((n for n, total in enumerate(accumulate(lengths), 1) if total >= _AMPLE * tokens), len(entries))
    return entries[: max(FEWEST, number)]


_CANDIDATES = Reading[Candidate](
    lambda candidate: embedded_text(candidate.chunk),
    attrgetter("score"),
    lambda candidate, score: candidate.with_score("rerank", score),
)
_PASSAGES = Reading[Passage](
    attrgetter("text"), attrgetter("score"), lambda passage, score: passage.with_score("rerank_passage", score)
)

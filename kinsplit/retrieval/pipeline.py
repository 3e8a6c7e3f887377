"""Question -> passages: candidates, reranking, expansion, reranking again, and a token budget.

The stages and their numbers are those of the course search that kinsplit replaces: 30 candidates, reranked, expanded by
their siblings, reranked as whole passages, and the best 3 of them.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from kinsplit.chunk import embedded_text
from kinsplit.retrieval.budget import within_budget
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.candidates import Question, find_places, to_candidates
from kinsplit.retrieval.expand import arrange, fetch_kin
from kinsplit.retrieval.options import SearchOptions
from kinsplit.retrieval.passage import Passage, join
from kinsplit.retrieval.rerank import Reading, Reranker, rerank
from kinsplit.tokenizers import Tokenizer


async def search(
    query: str,
    question: Question,
    fingerprint: str,
    options: SearchOptions,
    reranker: Reranker | None,
    tokenizer: Tokenizer | None,
) -> list[Passage]:
    """Find the passages that answer a question, in at most three calls to the store, four where ids lead nowhere.

    Args:
        query: The question as it was asked, for a reranker.
        question: The same as a store takes it.
        fingerprint: The strategy's, by which ids are computed.
        options: The settings of every stage.
        reranker: Judges the candidates, and later the passages; None leaves both stages out.
        tokenizer: Counts tokens; needed where there is a budget.

    Returns:
        Passages, best first. Those that a reranker left out come last and keep their earlier score, which is on another
        scale.
    """
    expansion, limit = options.expansion, options.limit
    places = await find_places(question, options.weights, limit)
    chunks = await fetch_kin((judged.place for judged in places), expansion, fingerprint)
    found = to_candidates(places, chunks)
    if reranker is not None:
        found = rerank(reranker, query, found, _CANDIDATES)
    judged = reranker is not None and any("rerank" in candidate.scores for candidate in found)
    fit = None
    if tokenizer is not None and options.budget is not None:
        fit = partial(within_budget, budget=options.budget, tokenizer=tokenizer)
    passages = arrange(found, chunks, expansion, fingerprint, limit if judged or fit else options.top_k)
    if reranker is not None and judged:  # One that failed on the candidates is not asked again.
        passages = rerank(reranker, query, passages, _PASSAGES)
    if fit is not None:
        # Where no passage fits, hits stand for themselves.
        passages = fit(passages) or fit([join([candidate.chunk], [candidate]) for candidate in found])
    return passages[: options.top_k]


_CANDIDATES = Reading[Candidate](
    lambda candidate: embedded_text(candidate.chunk),
    attrgetter("score"),
    lambda candidate, score: candidate.judged("rerank", score),
)
_PASSAGES = Reading[Passage](
    attrgetter("text"), attrgetter("score"), lambda passage, score: passage.judged("rerank_passage", score)
)

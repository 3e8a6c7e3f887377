"""The stages of a search: candidates, reranking, expansion, reranking of passages, and a token budget.

The defaults are those of the course search that kinsplit replaces: 30 candidates are reranked, expanded by their
siblings and reranked as whole passages, and the best 3 are returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from kinsplit.chunk import embedded_text
from kinsplit.retrieval.candidate import Candidate
from kinsplit.retrieval.candidates import Question, to_candidates
from kinsplit.retrieval.diversity import VectorReader, diversify
from kinsplit.retrieval.expand import arrange, fetch_kin
from kinsplit.retrieval.options import SearchOptions
from kinsplit.retrieval.passage import Passage, join
from kinsplit.retrieval.rankings import pick
from kinsplit.retrieval.rerank import Reading, Reranker, rerank
from kinsplit.stores.calls import get
from kinsplit.support.telemetry import span
from kinsplit.tokenizers import Tokenizer


async def search(
    query: str,
    question: Question,
    fingerprint: str,
    options: SearchOptions,
    reranker: Reranker | None,
    tokenizer: Tokenizer | None,
) -> list[Passage]:
    """Find the passages that answer a question, in at most three calls to the store, or four if ids are missing.

    Args:
        query: The question as text, for the reranker.
        question: The question as a store searches by it.
        fingerprint: Fingerprint of the strategy, from which ids are computed.
        options: Options of every stage.
        reranker: Scores the candidates and then the passages; None leaves out both stages.
        tokenizer: Counts the tokens of a budget; required if there is one.

    Returns:
        Passages, best first. Those that a reranker left out come last and keep their earlier score, which is on another
        scale.
    """
    expansion, limit = options.expansion, options.limit
    entries = await pick(options.ranking).find(question, options.weights, limit)
    with span("kinsplit.search.fetch") as record:
        reader = VectorReader()
        read = reader.read if options.diversity else get
        chunks = await fetch_kin((scored.entry for scored in entries), expansion, fingerprint, read=read)
        record(chunks=len(chunks))
    found = to_candidates(entries, chunks)
    if reranker is not None:
        found = rerank(reranker, query, found, _CANDIDATES)
    is_reranked = reranker is not None and any("rerank" in candidate.scores for candidate in found)
    if options.diversity:
        found, is_reranked = diversify(found, reader.vectors, options.diversity), False
    fit = None
    if tokenizer is not None and options.budget is not None:
        fit = partial(within_budget, budget=options.budget, tokenizer=tokenizer)
    with span("kinsplit.search.expand") as record:
        passages = arrange(found, chunks, expansion, fingerprint, limit if is_reranked or fit else options.top_k)
        record(passages=len(passages))
    if reranker is not None and is_reranked:  # A reranker that failed on the candidates isn't called again.
        passages = rerank(reranker, query, passages, _PASSAGES)
    if fit is not None:
        # If no passage fits, the hits are tried without their kin.
        passages = fit(passages) or fit([join([candidate.chunk], [candidate]) for candidate in found])
    return passages[: options.top_k]


def within_budget(passages: Sequence[Passage], budget: int, tokenizer: Tokenizer) -> list[Passage]:
    """Take passages best first while they fit; one that doesn't fit is skipped, and the next ones are tried.

    A passage's related files count too; one that doesn't fit is dropped from the passage.

    Args:
        passages: Passages, best first.
        budget: Maximum number of tokens of all texts together.
        tokenizer: Counts the tokens.
    """
    texts = [text for passage in passages for text in (passage.text, *(chunk.text for chunk in passage.related))]
    counts = iter(tokenizer.count(texts).tolist())
    taken = []
    for passage in passages:
        own, others = next(counts), [(chunk, next(counts)) for chunk in passage.related]
        if own > budget:
            continue
        budget -= own
        related = []
        for chunk, count in others:
            if count <= budget:
                budget -= count
                related.append(chunk)
        taken.append(replace(passage, related=tuple(related)) if len(related) < len(others) else passage)
    return taken


_CANDIDATES = Reading[Candidate](
    lambda candidate: embedded_text(candidate.chunk),
    attrgetter("score"),
    lambda candidate, score: candidate.with_score("rerank", score),
)
_PASSAGES = Reading[Passage](
    attrgetter("text"), attrgetter("score"), lambda passage, score: passage.with_score("rerank_passage", score)
)

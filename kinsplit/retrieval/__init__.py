"""Search: candidates scored with their kin, reranking, expansion and a token budget."""

from kinsplit.options import Ranked, Reranker
from kinsplit.retrieval.budget import Budget, Context, context_of, shorten, spend
from kinsplit.retrieval.expand import Expansion, arrange, expand
from kinsplit.retrieval.passage import Candidate, Passage, cite, join
from kinsplit.retrieval.rankings import KIN, Ranking, SearchQuestion, find_candidates, rankings
from kinsplit.retrieval.rerank import (
    CrossEncoderReranker,
    ItemReader,
    LanguageModelReranker,
    LateInteractionReranker,
    RerankWarning,
    create_reranker,
    rerank,
)
from kinsplit.retrieval.search import search

__all__ = [
    "KIN",
    "Budget",
    "Candidate",
    "Context",
    "CrossEncoderReranker",
    "Expansion",
    "ItemReader",
    "LanguageModelReranker",
    "LateInteractionReranker",
    "Passage",
    "Ranked",
    "Ranking",
    "RerankWarning",
    "Reranker",
    "SearchQuestion",
    "arrange",
    "cite",
    "context_of",
    "create_reranker",
    "expand",
    "find_candidates",
    "join",
    "rankings",
    "rerank",
    "search",
    "shorten",
    "spend",
]

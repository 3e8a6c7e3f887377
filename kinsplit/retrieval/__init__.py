"""Search: candidates scored with their kin, reranking, expansion and a token budget."""

from kinsplit.retrieval.budget import Budget, Context, context_of, shorten, spend
from kinsplit.retrieval.expand import Expansion, arrange, expand
from kinsplit.retrieval.options import SearchKeywords, SearchOptions
from kinsplit.retrieval.passage import Candidate, Passage, cite, join
from kinsplit.retrieval.rankings import KIN, Ranking, SearchQuestion, find_candidates, rankings
from kinsplit.retrieval.rerank import (
    CrossEncoderReranker,
    ItemReader,
    LanguageModelReranker,
    LateInteractionReranker,
    Ranked,
    Reranker,
    RerankWarning,
    create_reranker,
    rerank,
)
from kinsplit.retrieval.search import search
from kinsplit.retrieval.weights import NO_KIN, KinWeights

__all__ = [
    "KIN",
    "NO_KIN",
    "Budget",
    "Candidate",
    "Context",
    "CrossEncoderReranker",
    "Expansion",
    "ItemReader",
    "KinWeights",
    "LanguageModelReranker",
    "LateInteractionReranker",
    "Passage",
    "Ranked",
    "Ranking",
    "RerankWarning",
    "Reranker",
    "SearchKeywords",
    "SearchOptions",
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

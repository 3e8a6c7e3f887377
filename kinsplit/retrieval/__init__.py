"""Search: candidates scored with their kin, reranking, expansion and a token budget."""

from kinsplit.options import NO_KIN, KinWeights, Ranked, Reranker
from kinsplit.retrieval.budget import Budget, context_of, shorten, spend
from kinsplit.retrieval.expand import Expansion, arrange
from kinsplit.retrieval.passage import Candidate, Passage, Passages, cite, join, related_once
from kinsplit.retrieval.rankings import KIN, Ranking, SearchQuestion, find_candidates, rankings
from kinsplit.retrieval.rerank import create_reranker
from kinsplit.retrieval.rerank.cross_encoder import CrossEncoderReranker
from kinsplit.retrieval.rerank.language_model import LanguageModelReranker
from kinsplit.retrieval.rerank.late_interaction import LateInteractionReranker
from kinsplit.retrieval.rerank.protocol import ItemReader, RerankWarning, rerank
from kinsplit.retrieval.search import search

__all__ = [
    "KIN",
    "NO_KIN",
    "Budget",
    "Candidate",
    "CrossEncoderReranker",
    "Expansion",
    "ItemReader",
    "KinWeights",
    "LanguageModelReranker",
    "LateInteractionReranker",
    "Passage",
    "Passages",
    "Ranked",
    "Ranking",
    "RerankWarning",
    "Reranker",
    "SearchQuestion",
    "arrange",
    "cite",
    "context_of",
    "create_reranker",
    "find_candidates",
    "join",
    "rankings",
    "related_once",
    "rerank",
    "search",
    "shorten",
    "spend",
]

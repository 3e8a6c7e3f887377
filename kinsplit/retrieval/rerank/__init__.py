"""Rerankers: models that read the question and a text together, slower but more precise than a store's search."""

from kinsplit.retrieval.rerank.apply import Reading, rerank
from kinsplit.retrieval.rerank.cross_encoder import CrossEncoderReranker
from kinsplit.retrieval.rerank.language_model import LanguageModelReranker
from kinsplit.retrieval.rerank.late_interaction import LateInteractionReranker
from kinsplit.retrieval.rerank.protocol import Ranked, Reranker, RerankWarning
from kinsplit.retrieval.rerank.registry import create_reranker

__all__ = [
    "CrossEncoderReranker",
    "LanguageModelReranker",
    "LateInteractionReranker",
    "Ranked",
    "Reading",
    "RerankWarning",
    "Reranker",
    "create_reranker",
    "rerank",
]

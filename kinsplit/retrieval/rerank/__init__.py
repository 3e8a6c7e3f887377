"""Rerankers: models that read the question and a text together, slower but more precise than a store's search."""

from __future__ import annotations

from kinsplit import language_models
from kinsplit.embedding.protocol import Embedder, TokenEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval.rerank.cross_encoder import CrossEncoderReranker
from kinsplit.retrieval.rerank.language_model import LanguageModelReranker
from kinsplit.retrieval.rerank.late_interaction import LateInteractionReranker
from kinsplit.retrieval.rerank.protocol import ItemReader, Ranked, Reranker, RerankWarning, rerank

#: Names that `create_reranker` takes, for help texts.
RERANKERS = ("none", "late", "cross-encoder:NAME_OR_PATH", "llm:MODEL")


def create_reranker(name: str, embedder: Embedder) -> Reranker | None:
    """Make a reranker.

    Args:
        name: "none"; "late", for late interaction with the index's embedder; "cross-encoder:" and the name or the
            folder of a `sentence_transformers.CrossEncoder`; or "llm:" and the name of a language model, such as
            "llm:ollama:llama3" (see `kinsplit.language_models.create`).
        embedder: The embedder of the index.

    Raises:
        InvalidParameterError: An unknown name, or an embedder without token vectors.
    """
    kind, _, model = name.partition(":")
    if name == "none":
        return None
    if kind == "cross-encoder" and model:
        return CrossEncoderReranker(model)
    if kind == "llm" and model:
        language_models.check(model)
        return LanguageModelReranker(model)
    if name != "late":
        raise InvalidParameterError("rerank", f"must be one of {', '.join(RERANKERS)}", name, "Use one of them.")
    if not isinstance(embedder, TokenEmbedder):
        remedy = "Use a sentence-transformers model, or a cross-encoder."
        raise InvalidParameterError("rerank", "needs an embedder with vectors for tokens", embedder.name, remedy)
    return LateInteractionReranker(embedder)


__all__ = [
    "CrossEncoderReranker",
    "ItemReader",
    "LanguageModelReranker",
    "LateInteractionReranker",
    "Ranked",
    "RerankWarning",
    "Reranker",
    "create_reranker",
    "rerank",
]

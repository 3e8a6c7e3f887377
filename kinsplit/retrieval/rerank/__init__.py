"""Rerankers: models that read the question and a text together, slower but more precise than a store's search."""

from __future__ import annotations

from collections.abc import Callable

from kinsplit.embedding.protocol import Embedder
from kinsplit.options import Reranker
from kinsplit.registry import Registry, function

#: The rerankers by the first part of their specs; each is called with the rest of the spec and the index's embedder.
#: Those of other packages are entry points of the group `kinsplit.rerankers`.
RERANKERS: Registry[Callable[[str, Embedder], Reranker | None]] = Registry(
    "rerankers",
    "rerank",
    {
        "none": "kinsplit.retrieval.rerank.protocol:no_reranker",
        "late": "kinsplit.retrieval.rerank.late_interaction:from_spec",
        "cross-encoder": "kinsplit.retrieval.rerank.cross_encoder:from_spec",
        "llm": "kinsplit.retrieval.rerank.language_model:from_spec",
    },
    function,
    {
        "none": ("none",),
        "late": ("late", "late:CHARACTERS"),
        "cross-encoder": ("cross-encoder:NAME_OR_PATH",),
        "llm": ("llm:MODEL",),
    },
)


def create_reranker(name: str, embedder: Embedder) -> Reranker | None:
    """Make a reranker.

    Args:
        name: "none"; "late", for late interaction with the index's embedder, or "late:6000" to read only so many
            characters; "cross-encoder:" and the name or the folder of a `sentence_transformers.CrossEncoder`; or "llm:"
            and the name of a language model, such as "llm:ollama:llama3" (see `kinsplit.language_models.create`).
        embedder: The embedder of the index.

    Raises:
        InvalidParameterError: An unknown name, or an embedder without token vectors.
    """
    make, model = RERANKERS.of_spec(name)
    return make(model, embedder)

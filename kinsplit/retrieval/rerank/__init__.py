"""Rerankers: models that read the question and a text together, slower but more precise than a store's search."""

from __future__ import annotations

from collections.abc import Callable

from kinsplit.embedding.protocol import Embedder
from kinsplit.models import ModelSpec, make
from kinsplit.options import Reranker
from kinsplit.registry import Registry, function

#: The rerankers by provider, see `kinsplit.models.make`; one with a parameter `embedder` gets that of the index. Those
#: of other packages are entry points of the group `kinsplit.rerankers`.
RERANKERS: Registry[Callable[..., Reranker | None]] = Registry(
    "rerankers",
    "rerank",
    {
        "none": "kinsplit.retrieval.rerank.protocol:no_reranker",
        "late": "kinsplit.retrieval.rerank.late_interaction:LateInteractionReranker",
        "cross-encoder": "kinsplit.retrieval.rerank.cross_encoder:CrossEncoderReranker",
        "llm": "kinsplit.retrieval.rerank.language_model:of_name",
    },
    function,
    {"none": ("none",), "late": ("late",), "cross-encoder": ("cross-encoder:NAME_OR_PATH",), "llm": ("llm:MODEL",)},
)


def create_reranker(spec: str | ModelSpec, embedder: Embedder) -> Reranker | None:
    """Make a reranker.

    Args:
        spec: "none"; "late", for late interaction with the index's embedder; "cross-encoder:" and the name or the
            folder of a `sentence_transformers.CrossEncoder`; or "llm:" and the spec of a language model, such as
            "llm:ollama:llama3" (see `kinsplit.language_models.create`). Options may follow, which are the parameters of
            the reranker's class: "late?characters=6000", "llm:ollama:llama3?longest=500&window=4096".
        embedder: The embedder of the index.

    Raises:
        InvalidParameterError: An unknown name or option, or an embedder without token vectors.
    """
    return make(RERANKERS, spec, embedder=embedder)

"""Rerankers and cached embeddings as LlamaIndex's classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, PrivateAttr, SerializeAsAny

from kinsplit import retrieval
from kinsplit.details import DETAILS
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.integrations.llama_index.nodes import EXCLUDED, text_of
from kinsplit.integrations.shared.collection import to_reranker
from kinsplit.integrations.shared.fields import FieldModel
from kinsplit.integrations.shared.results import text_to_rerank, with_rerank_score
from kinsplit.integrations.shared.vector_folder import VectorFolder
from kinsplit.retrieval import Reranker
from kinsplit.support.threads import call_either, in_thread, with_awaiting


class Rerank(FieldModel, BaseNodePostprocessor):
    """Any kinsplit reranker as a LlamaIndex postprocessor.

    The reranker reads each node's text with its heading path. Its score becomes the node's; the scores of all stages
    are kept for the function `details`. If the reranker fails, the order stays unchanged, with one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Maximum number of nodes to return; None for all.
        embedder: An embedder or its name, for "late".

    Raises:
        InvalidParameterError: The name is unknown, or `top_n` is below 1; when called, the query is missing.

    Example:
        >>> engine = index.as_query_engine(similarity_top_k=30, node_postprocessors=[Rerank("late", top_n=5)])
    """

    model_config = ConfigDict(extra="forbid")

    reranker: Any = Field(exclude=True)
    top_n: int | None = Field(default=None, description="Maximum number of nodes to return.")
    embedder: Any = Field(default="bundled", exclude=True)

    shared: ClassVar = {"_reranker": ("reranker", "embedder")}
    _reranker: Reranker | None = PrivateAttr()

    def __init__(
        self,
        reranker: str | Reranker,
        *,
        top_n: int | None = None,
        embedder: str | Embedder = "bundled",
        **data: object,
    ) -> None:
        require(top_n is None or top_n >= 1, "top_n", "must be at least 1", top_n, "Leave it out for all nodes.")
        super().__init__(reranker=reranker, top_n=top_n, embedder=embedder, **data)
        self._reranker = to_reranker(reranker, embedder)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the postprocessor is serialised."""
        return "KinsplitRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            remedy = "Pass query_str or query_bundle."
            raise InvalidParameterError("query_bundle", "must be given to rerank", None, remedy)
        if self._reranker is None:
            return nodes[: self.top_n]
        payload: dict[str, Any] = {EventPayload.NODES: nodes, EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            ranked = retrieval.rerank(self._reranker, query_bundle.query_str, nodes, _READING)[: self.top_n]
            event.on_end(payload={EventPayload.NODES: ranked})
        return ranked


def _text(hit: NodeWithScore) -> str:
    return text_to_rerank(text_of(hit.node), hit.node.metadata)


def _with_score(hit: NodeWithScore, score: float) -> NodeWithScore:
    node = hit.node
    hidden = {name: [*dict.fromkeys([*getattr(node, name), DETAILS])] for name in EXCLUDED}
    copy = node.model_copy(update={"metadata": with_rerank_score(node.metadata, score, hit.score), **hidden})
    return NodeWithScore(node=copy, score=score)


_READING = retrieval.ItemReader[NodeWithScore](_text, lambda hit: hit.score, _with_score)


# LlamaIndex's maximum, since the model behind the cache makes batches of its own.
_BATCH = 2048


@with_awaiting(_get_text_embeddings="_aget_text_embeddings", _get_text_embedding="_aget_text_embedding")
class CachedEmbedding(BaseEmbedding):
    """An embedding model with a cache of the nodes' vectors on disk, for any vector store.

    An `IngestionPipeline` with a docstore deletes all nodes of an edited document, splits it again and embeds every
    chunk. With this as its last transformation, only chunks with a new text reach the model, also with `num_workers`.
    Queries always do. Threads and processes can share a cache.

    Args:
        embed_model: Model that embeds the texts that are not in the cache.
        model_name: Name of the model, and of whatever else its vectors depend on, such as their dimension or an
            instruction. Vectors are cached under it: change it when they change.
        folder: Folder of the cache; None for `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name. A
            cache of 1 GiB drops the least recently used vectors.

    Raises:
        InvalidParameterError: The name is blank.

    Example:
        >>> embed_model = CachedEmbedding(OpenAIEmbedding(), model_name="text-embedding-3-small")
        >>> pipeline = IngestionPipeline(transformations=[parser, embed_model], docstore=docstore, vector_store=store)
    """

    embed_model: SerializeAsAny[BaseEmbedding]
    folder: str | None = None
    embed_batch_size: int = Field(default=_BATCH, gt=0, le=_BATCH)

    _vectors: VectorFolder = PrivateAttr()

    def __init__(
        self, embed_model: BaseEmbedding, *, model_name: str, folder: str | Path | None = None, **data: Any
    ) -> None:
        vectors = VectorFolder(model_name, folder)
        where = None if folder is None else str(folder)
        super().__init__(embed_model=embed_model, model_name=model_name, folder=where, **data)
        self._vectors = vectors

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the model is serialised."""
        return cls.__name__

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        own = self.embed_model
        forms = own.get_text_embedding_batch, own.aget_text_embedding_batch
        return self._vectors.vectors(texts, lambda new: call_either(*forms, new))

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return call_either(self.embed_model.get_query_embedding, self.embed_model.aget_query_embedding, query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await in_thread(self._get_query_embedding, query)

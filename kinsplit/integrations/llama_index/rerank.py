"""Rerankers as LlamaIndex's postprocessors."""

from __future__ import annotations

from typing import Any, ClassVar

from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, PrivateAttr

from kinsplit import retrieval
from kinsplit.details import DETAILS
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.llama_index.nodes import EXCLUDED, text_of
from kinsplit.integrations.shared.collection import to_reranker
from kinsplit.integrations.shared.fields import FieldModel
from kinsplit.integrations.shared.results import text_to_rerank, with_rerank_score
from kinsplit.retrieval import Reranker


class Rerank(FieldModel, BaseNodePostprocessor):
    """Any kinsplit reranker as a LlamaIndex postprocessor.

    The reranker reads each node's text with its heading path. Its score becomes the node's; the scores of all stages
    are kept for the function `details`. If the reranker fails, the order stays unchanged, with one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Maximum number of nodes to return; None for all.
        embedder: An embedder or its name, for "late".

    Raises:
        InvalidParameterError: The name is unknown, the object is no reranker, or `top_n` is below 1; when called, the
            query is missing.

    Example:
        >>> engine = index.as_query_engine(similarity_top_k=30, node_postprocessors=[Rerank("late", top_n=5)])
    """

    model_config = ConfigDict(extra="forbid")

    reranker: Any = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1, description="Maximum number of nodes to return.")
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

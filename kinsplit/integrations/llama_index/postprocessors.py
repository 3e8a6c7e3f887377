"""LlamaIndex's postprocessors: sibling expansion and reranking."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict

from kinsplit import retrieval
from kinsplit.details import DETAILS
from kinsplit.errors import InvalidParameterError, require
from kinsplit.integrations.llama_index.nodes import EXCLUDED, text_of
from kinsplit.integrations.llama_index.records import node_with_score, to_found
from kinsplit.integrations.shared.pages import checked_documents
from kinsplit.integrations.shared.results import RerankStage, text_to_rerank, with_rerank_score
from kinsplit.integrations.shared.siblings import ExpansionStage
from kinsplit.keywords import ExpansionKeywords
from kinsplit.parsers import Strategy
from kinsplit.support.threads import in_thread


class SiblingExpansion(ExpansionStage, BaseNodePostprocessor, AbstractContextManager[Any]):
    """Adds its siblings to each node, or replaces it by its whole parent, and merges adjacent ones into passages.

    It is a postprocessor of query engines, and makes a retriever of another one, for chat engines, tools and agents
    (`as_retriever`). Every option can be set later.

    Kin are fetched from the store that holds kinsplit's nodes: by id, in one read if the strategy is known, or else by
    a filter on their metadata. A store that can do neither needs a docstore or a `KinStore` beside it. A passage
    replaces its best node and has its id and score; the function `details` lists all its nodes with their scores, and
    the ids of all its chunks. No overlap is repeated, and no text is in two passages. Nodes that kinsplit didn't split
    stay as they are; one that was embedded whole is followed by the files in its `sibling_files`.

    Args:
        store: The store of the nodes: any vector store of LlamaIndex that returns nodes (`get_nodes`), such as those
            for Qdrant, Chroma or Postgres; a docstore; an index or a `StorageContext`, whose docstore is asked for what
            its vector store doesn't have; a `KinStore`; a `KinsplitVectorStore`, a `kinsplit.Index`, an open store, or
            a `QdrantClient`; or the address of a store, which is opened and closed with this object, and whose open
            store is this field from then on.
        collection: Name of the collection, for an address or a `QdrantClient`.
        parent_store: Store of the parents, if it is another one, such as a docstore.
        parent_key: Metadata key of the parent's id in `parent_store`.
        strategy: The strategy that split the documents, such as `parser.strategy`. If it is known, or `Index` created
            the collection, kin are fetched by their ids in one read.
        slim: Whether passages keep only the metadata for a prompt: their position and score (see
            `kinsplit.integrations.shared.metadata.slimmed`).
        callback_manager: Receives the events of queries.
        **options: See `kinsplit.options.ExpansionOptions`. A budget is that of all texts together, counted by the
            tokenizer of the strategy, or the bundled one if the strategy is not known. It is spent on the nodes
            best first, then on their siblings, also on a given window.

    Raises:
        InvalidParameterError: An option is out of range, or `store` is none of these and needs a `KinStore`.
        StoreError: The collection doesn't exist or can't be opened.

    Example:
        >>> engine = index.as_query_engine(node_postprocessors=[SiblingExpansion(index, window=2)])
    """

    model_config = ConfigDict(extra="forbid")

    def __init__(
        self,
        store: object,
        collection: str = "default",
        *,
        parent_store: object = None,
        parent_key: str = "parent_id",
        strategy: Strategy | None = None,
        slim: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[ExpansionKeywords],
    ) -> None:
        own = {"store": store, "collection": collection, "parent_store": parent_store, "parent_key": parent_key}
        callbacks = callback_manager or CallbackManager()
        super().__init__(**own, strategy=strategy, slim=slim, callback_manager=callbacks, **options)

    def as_retriever(self, base: BaseRetriever) -> BaseRetriever:
        """Return a retriever that expands what another one finds, for query and chat engines, tools and agents.

        Args:
            base: The other retriever.

        Raises:
            InvalidParameterError: `base` is no retriever.

        Example:
            >>> retriever = SiblingExpansion(index).as_retriever(index.as_retriever())
            >>> engine = RetrieverQueryEngine.from_args(retriever, llm=llm)
        """
        remedy = "Pass index.as_retriever()."
        require(isinstance(base, BaseRetriever), "base", "must be a retriever of LlamaIndex", base, remedy)
        return _ExpandedRetriever(base, self)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the postprocessor is serialised."""
        return "KinsplitSiblingExpansion"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        nodes = checked_documents(nodes, NodeWithScore, "nodes", "call as_retriever with a retriever")
        expanded = self.expand(list(map(to_found, nodes)))
        return [
            nodes[hit] if result is None else node_with_score(result, None if related else nodes[hit].node)
            for hit, result, related in expanded
        ]

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        return await in_thread(self._postprocess_nodes, nodes)


class _ExpandedRetriever(BaseRetriever):
    def __init__(self, base: BaseRetriever, expansion: SiblingExpansion) -> None:
        self._base, self._expansion = base, expansion
        super().__init__(callback_manager=base.callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._expansion.postprocess_nodes(self._base.retrieve(query_bundle), query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await self._expansion.apostprocess_nodes(await self._base.aretrieve(query_bundle), query_bundle)


class Rerank(RerankStage, BaseNodePostprocessor):
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

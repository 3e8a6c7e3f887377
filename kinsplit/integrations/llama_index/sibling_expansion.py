"""Sibling expansion as a LlamaIndex postprocessor."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Unpack

from llama_index.core.callbacks import CallbackManager
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, PrivateAttr

from kinsplit.integrations.llama_index.records import node_with_score, to_found
from kinsplit.integrations.shared.siblings import Expander
from kinsplit.keywords import ExpansionKeywords
from kinsplit.options import ExpansionOptions
from kinsplit.parsers import Strategy
from kinsplit.support.threads import in_thread


class SiblingExpansion(BaseNodePostprocessor, AbstractContextManager[Any]):
    """Adds its siblings to each node, or replaces it by its whole parent, and merges adjacent ones into passages.

    Kin are fetched from the store that holds kinsplit's nodes: by id, in one read if the strategy is known, or else by
    a filter on their metadata. A store that can do neither needs a docstore or a `KinStore` beside it. A passage
    replaces its best node and has its score; the metadata key "kinsplit" lists all its nodes with their scores. No
    overlap is repeated, and no text is in two passages. Nodes that kinsplit didn't split stay as they are; one that was
    embedded whole is followed by the files in its `sibling_files`.

    Args:
        store: The store of the nodes: any vector store of LlamaIndex that returns nodes (`get_nodes`), such as those
            for Qdrant, Chroma or Postgres; a docstore; an index or a `StorageContext`, whose docstore is asked for what
            its vector store doesn't have; a `KinStore`; a `KinsplitVectorStore`, a `kinsplit.Index`, an open store, or
            a `QdrantClient`; or the address of a store, which is opened and closed with this object.
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

    options: ExpansionOptions = ExpansionOptions()
    parent_key: str = "parent_id"
    slim: bool = False

    _expander: Expander = PrivateAttr()

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
        own = ExpansionOptions(**options)
        super().__init__(
            options=own, parent_key=parent_key, slim=slim, callback_manager=callback_manager or CallbackManager()
        )
        self._expander = Expander(store, collection, strategy, parent_store, own)

    def close(self) -> None:
        """Close the collection, if the store was given by its address. A second call does nothing."""
        self._expander.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the postprocessor is serialised."""
        return "KinsplitSiblingExpansion"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        expanded = self._expander.expand(list(map(to_found, nodes)), self.options, self.parent_key, slim=self.slim)
        return [
            nodes[hit] if result is None else node_with_score(result, None if related else nodes[hit].node)
            for hit, result, related in expanded
        ]

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        return await in_thread(self._postprocess_nodes, nodes)

"""Any chunk store as a LlamaIndex vector store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from pydantic import ConfigDict, Field, PrivateAttr

from kinsplit.chunk import RECORD, Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.llama_index.filters import fuse, to_queries, to_where
from kinsplit.integrations.llama_index.records import item_of, node_of
from kinsplit.integrations.shared.collection import Collection, clear, count, find, get, put, refuse_unknown, remove
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.records import stored_id
from kinsplit.stores import AsyncChunkStore, ChunkStore, Hit, Vectors, calls

T = TypeVar("T")

# Candidates of an MMR query per requested node, as in LlamaIndex's other stores.
_MMR_PREFETCH = 4
# Above this number, ids usually are those of all nodes, passed by an index with `store_nodes_override`.
_MANY = 1000


class KinsplitVectorStore(BasePydanticVectorStore):
    """Any kinsplit store as a LlamaIndex vector store, for dense, hybrid, sparse and MMR queries.

    Nodes are returned as they were added, whoever split them and whatever their ids. Chunks written by `Index.add` can
    be read too: queries find its leaves, and parents are fetched by id. A term search needs no second model: terms are
    weighted by BM25 when nodes are added. A hybrid query merges both rankings by their scores, each scaled to the range
    from 0 to 1, with `alpha` (default 0.5) as the weight of the dense ranking.

    All filter operators and conditions are supported. Metadata under one of kinsplit's own keys can be filtered in
    kinsplit's own nodes only. TEXT_MATCH finds a part of a metadata value, or of a node's text under the key
    "full_content", and reads all nodes of the searched documents.

    Args:
        store: Address of a store (see `kinsplit.stores.open_store`), opened at first use, or an open store, such as
            `Index.store`.
        collection: Name of the collection at that address, created with the first nodes.
        model: Name of the embedding model, recorded in the schema of a new collection.
        language: Language of the stop words and the stemmer of a new collection, such as "german"; "any" leaves words
            unchanged.
        async_store: The same collection for an event loop, such as a Qdrant server that
            `kinsplit.stores.open_async_store` opened; without it coroutines call `store` in threads.
        slim: Whether queries return only the metadata for a prompt (see
            `kinsplit.integrations.shared.metadata.slimmed`). Nodes fetched by id have all metadata.

    Example:
        >>> store = KinsplitVectorStore("edge:./kinsplit-data", collection="cs")
        >>> index = VectorStoreIndex.from_vector_store(store, embed_model=model)
    """

    model_config = ConfigDict(extra="forbid")

    stores_text: bool = True
    store: Any = Field(repr=False, description="Address of a store, which may hold a password, or an open one.")
    collection: str = "default"
    model: str = "given"
    language: str | None = "english"
    async_store: Any = Field(default=None, exclude=True, description="The same collection for an event loop.")
    slim: bool = False

    _collection: Collection = PrivateAttr()

    def __init__(
        self,
        store: str | ChunkStore,
        *,
        collection: str = "default",
        model: str = "given",
        language: str | None = "english",
        async_store: AsyncChunkStore | None = None,
        slim: bool = False,
        **data: object,
    ) -> None:
        own = {"collection": collection, "model": model, "language": language, "async_store": async_store, "slim": slim}
        super().__init__(store=store, **own, **data)
        self._collection = Collection(store, collection, model, language, async_store)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the store is serialised."""
        return cls.__name__

    @property
    def client(self) -> ChunkStore | None:
        """The chunk store, opened on access; None while the collection doesn't exist."""
        return self._collection.open()

    def add(self, nodes: Sequence[BaseNode], **kwargs: object) -> list[str]:
        """Add nodes with their embeddings, replacing those with the same ids.

        Returns:
            The ids of the nodes.

        Raises:
            InvalidParameterError: Metadata can't be stored, or a vector is missing, not finite or of another dimension
                than the collection's; the error names the node, unless all have another dimension.
        """
        refuse_unknown(kwargs)
        if nodes:
            self._collection.run(lambda: self._add(nodes), None, len(_embedding(nodes[0])))
        return [node.node_id for node in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: object) -> list[str]:
        """Add nodes; see `add`."""
        refuse_unknown(kwargs)
        if nodes:
            await self._collection.run_async(lambda: self._add(nodes), None, len(_embedding(nodes[0])))
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **kwargs: object) -> None:
        """Delete all nodes of a document, of all levels."""
        refuse_unknown(kwargs)
        self._collection.run(lambda: _delete(ref_doc_id), None)

    async def adelete(self, ref_doc_id: str, **kwargs: object) -> None:
        """Delete all nodes of a document; see `delete`."""
        refuse_unknown(kwargs)
        await self._collection.run_async(lambda: _delete(ref_doc_id), None)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **kwargs: object
    ) -> None:
        """Delete nodes by id, by filter, or by both.

        Raises:
            InvalidParameterError: Neither ids nor filters are given, or a filter is not supported.
        """
        refuse_unknown(kwargs)
        self._collection.run(lambda: _delete_nodes(node_ids, filters), None)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **kwargs: object
    ) -> None:
        """Delete nodes; see `delete_nodes`."""
        refuse_unknown(kwargs)
        await self._collection.run_async(lambda: _delete_nodes(node_ids, filters), None)

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return nodes with their embeddings by id, in the order of the ids, by filter, or by both; all without either.

        Embeddings may be normalised.

        Raises:
            InvalidParameterError: A filter is not supported.
        """
        return self._collection.run(lambda: _nodes(node_ids, filters), [])

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return nodes; see `get_nodes`."""
        return await self._collection.run_async(lambda: _nodes(node_ids, filters), [])

    def count(self, filters: MetadataFilters | None = None) -> int:
        """Return the number of nodes, or of those that match filters; parents are not counted.

        Raises:
            InvalidParameterError: A filter is not supported.
        """
        return self._collection.run(lambda: _count(filters), 0)

    async def acount(self, filters: MetadataFilters | None = None) -> int:
        """Return the number of nodes; see `count`."""
        return await self._collection.run_async(lambda: _count(filters), 0)

    def query(
        self,
        query: VectorStoreQuery,
        mmr_threshold: float | None = None,
        mmr_prefetch_k: int | None = None,
        **kwargs: object,
    ) -> VectorStoreQueryResult:
        """Find nodes by meaning, by terms, by both, or by meaning and diversity.

        Args:
            query: The query. `node_ids` restricts it to these nodes: a `VectorStoreIndex` made of nodes passes those
                of its index and image nodes there, if it has any.
            mmr_threshold: In mode MMR, from 0 for the most diverse nodes to 1 for the most similar ones, instead of
                the query's own; 0.5 without either.
            mmr_prefetch_k: In mode MMR, the number of nodes to choose from; None for four times the number to return.
            **kwargs: Rejected.

        Raises:
            InvalidParameterError: The mode or a filter is not supported.
        """
        refuse_unknown(kwargs)
        return self._collection.run(lambda: self._query(query, mmr_threshold, mmr_prefetch_k), _result([]))

    async def aquery(
        self,
        query: VectorStoreQuery,
        mmr_threshold: float | None = None,
        mmr_prefetch_k: int | None = None,
        **kwargs: object,
    ) -> VectorStoreQueryResult:
        """Find nodes; see `query`."""
        refuse_unknown(kwargs)
        return await self._collection.run_async(lambda: self._query(query, mmr_threshold, mmr_prefetch_k), _result([]))

    def clear(self) -> None:
        """Delete all nodes."""
        self._collection.run(clear, None)

    async def aclear(self) -> None:
        """Delete all nodes; see `clear`."""
        await self._collection.run_async(clear, None)

    def close(self) -> None:
        """Close the collection, if the store was given by its address."""
        self._collection.close()

    async def _add(self, nodes: Sequence[BaseNode]) -> None:
        await put(self._collection, [item_of(node) for node in nodes], [_embedding(node) for node in nodes])

    async def _query(
        self, query: VectorStoreQuery, mmr_threshold: float | None, mmr_prefetch_k: int | None
    ) -> VectorStoreQueryResult:
        where = await to_where(query.filters, query.doc_ids)
        if query.mode is VectorStoreQueryMode.MMR:
            threshold = query.mmr_threshold if mmr_threshold is None else mmr_threshold
            limit = mmr_prefetch_k or _MMR_PREFETCH * query.similarity_top_k
            (hits,) = await self._search(replace(query, similarity_top_k=limit), where)
            return _result(await _diverse(query, hits, threshold), self.slim)
        rankings = await self._search(query, where)
        if query.mode is not VectorStoreQueryMode.HYBRID:
            return _result(rankings[0], self.slim)
        limit = query.hybrid_top_k or query.similarity_top_k
        dense, terms = rankings
        return _result(fuse(dense, terms, 0.5 if query.alpha is None else query.alpha)[:limit], self.slim)

    async def _search(self, query: VectorStoreQuery, where: dict[str, Any]) -> list[list[Hit]]:
        ids = {stored_id(id_) for id_ in query.node_ids or ()}
        if not ids or len(ids) > _MANY:
            queries = to_queries(query, where, self._collection.bm25)
            rankings = await calls.search(queries)
            if not ids or all(hit.chunk.id in ids for hits in rankings for hit in hits):
                return rankings
        within = {"$and": [where, {"$id": ids}]} if where else {"$id": ids}
        return await calls.search(to_queries(query, within, self._collection.bm25))


def _embedding(node: BaseNode) -> list[float]:
    if node.embedding is None:
        remedy = "Embed it first, or add it through a VectorStoreIndex."
        raise InvalidParameterError(f"embedding of {node.node_id!r}", "must be set", None, remedy)
    return node.embedding


async def _delete(ref_doc_id: str) -> None:
    await calls.delete(ref_doc_id)


async def _diverse(query: VectorStoreQuery, hits: Sequence[Hit], threshold: float | None) -> list[Hit]:
    """Choose hits that are similar to a question and differ from each other, by LlamaIndex's own rule."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise InvalidParameterError("mmr_threshold", "must be from 0 to 1", threshold, "Leave it out for 0.5.")
    vectors = await calls.vectors([hit.chunk.id for hit in hits])
    kept = [hit for hit in hits if hit.chunk.id in vectors]  # Without those deleted in the meantime.
    embeddings: list[Any] = [vectors[hit.chunk.id].dense for hit in kept]
    question: Any = np.asarray(query.query_embedding, dtype=np.float32)
    scores, chosen = get_top_k_mmr_embeddings(
        question, embeddings, similarity_top_k=query.similarity_top_k, mmr_threshold=threshold
    )
    return [Hit(kept[index].chunk, float(score)) for index, score in zip(chosen, scores, strict=True)]


async def _chunks(node_ids: list[str] | None, filters: MetadataFilters | None) -> list[Chunk]:
    where = await to_where(filters)
    if node_ids is None:
        return await find(where, None)
    chunks = await get(node_ids)
    if not where:
        return chunks
    within = {chunk.id for chunk in await find(where, None)}
    return [chunk for chunk in chunks if chunk.id in within]


async def _nodes(node_ids: list[str] | None, filters: MetadataFilters | None) -> list[BaseNode]:
    chunks = await _chunks(node_ids, filters)
    # Parents and whole documents that `Index.add` wrote are returned by id only.
    found = [chunk for chunk in chunks if node_ids is not None or not chunk.level or RECORD in chunk.metadata]
    vectors = await calls.vectors([chunk.id for chunk in found])
    return [_embedded(node_of(chunk), vectors.get(chunk.id)) for chunk in found]


def _embedded(node: BaseNode, vectors: Vectors | None) -> BaseNode:
    if vectors is not None and vectors.dense is not None:
        node.embedding = vectors.dense.tolist()
    return node


async def _count(filters: MetadataFilters | None) -> int:
    where = await to_where(filters)
    return await count(where)


async def _delete_nodes(node_ids: list[str] | None, filters: MetadataFilters | None) -> None:
    # An empty list of filters matches every node.
    if node_ids is None and not await to_where(filters):
        raise InvalidParameterError("node_ids", "or filters must be given", None, "To delete all nodes, call clear().")
    found = await _chunks(node_ids, filters)
    await remove([chunk.id for chunk in found])


def _result(hits: Sequence[Hit], slim: bool = False) -> VectorStoreQueryResult:
    nodes = [node_of(hit.chunk) for hit in hits]
    if slim:
        for node in nodes:
            node.metadata = slimmed(node.metadata)
    return VectorStoreQueryResult(nodes, [hit.score for hit in hits], [node.node_id for node in nodes])

"""Any chunk store as a LlamaIndex vector store, with LlamaIndex's filters and queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode, ImageNode, IndexNode
from llama_index.core.vector_stores import types
from pydantic import ConfigDict, Field, PrivateAttr

from kinsplit.chunk import RECORD, Chunk
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.integrations.llama_index.records import item_of, node_of
from kinsplit.integrations.shared.collection import (
    Collection,
    check_cosine,
    check_number,
    clear,
    counted,
    get,
    refuse_unknown,
    remove,
    stored_ids,
    with_vectors,
)
from kinsplit.integrations.shared.filters import containing, of_qdrant, with_matches
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.pages import checked_documents
from kinsplit.retrieval.scoring import unit
from kinsplit.stores import ChunkStore, Hit, Query, Vectors
from kinsplit.stores.filters import MOST_DEPTH
from kinsplit.stores.store import warn_of_unmatched
from kinsplit.stores.values import Where
from kinsplit.support.settings import FieldModel
from kinsplit.support.threads import in_thread, with_awaiting

T = TypeVar("T")

# Candidates of an MMR query per requested node, as in LlamaIndex's other stores.
_MMR_PREFETCH = 4
# Above this number, ids usually are those of all nodes, passed by an index with `store_nodes_override`.
_MANY = 1000
# Nodes whose kind shows that of all nodes that an index names.
_SAMPLE = 20


@with_awaiting(
    add="async_add",
    delete="adelete",
    delete_nodes="adelete_nodes",
    get_nodes="aget_nodes",
    query="aquery",
    clear="aclear",
)
class KinsplitVectorStore(FieldModel, types.BasePydanticVectorStore):
    """Any kinsplit store as a LlamaIndex vector store, for dense, hybrid, sparse and MMR queries.

    Nodes are returned as they were added, whoever split them and whatever their ids. Chunks written by `Index.add` can
    be read too: queries find its leaves, and parents are fetched by id. A term search needs no second model: terms are
    weighted by BM25 when nodes are added. A hybrid query merges both rankings by their scores, each scaled to the range
    from 0 to 1, with `alpha` (default 0.5) as the weight of the dense ranking.

    All filter operators and conditions are supported. `doc_id`, `document_id` and `ref_doc_id` are the id of a node's
    document, as in LlamaIndex's own stores. Metadata under one of kinsplit's own keys can be filtered in kinsplit's own
    nodes only. TEXT_MATCH finds a part of a metadata value, or of a node's text under the key
    "full_content", and reads all nodes of the searched documents.

    Args:
        store: Address of a store (see `kinsplit.stores.open_store`), opened at first use, or an open store, such as
            `Index.store`.
        collection: Name of the collection at that address, created with the first nodes.
        model: Name of the embedding model, recorded in the schema of a new collection.
        language: Language of the stop words and the stemmer of a new collection, such as "german"; "any" leaves words
            unchanged.
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
    slim: bool = False

    shared: ClassVar = {"_collection": ("store", "collection", "model", "language")}
    _collection: Collection = PrivateAttr()

    def __init__(
        self,
        store: str | ChunkStore,
        *,
        collection: str = "default",
        model: str = "given",
        language: str | None = "english",
        slim: bool = False,
        **data: object,
    ) -> None:
        own = {"collection": collection, "model": model, "language": language, "slim": slim}
        super().__init__(store=store, **own, **data)
        self._collection = Collection(store, collection, model, language)

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
        nodes = checked_documents(nodes, BaseNode, "nodes", "call a node parser")
        if nodes:
            self._collection.put([item_of(node) for node in nodes], [_embedding(node) for node in nodes])
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **kwargs: object) -> None:
        """Delete all nodes of a document, of all levels."""
        refuse_unknown(kwargs)
        self._collection.run(lambda store: store.delete(ref_doc_id), 0)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: types.MetadataFilters | None = None, **kwargs: object
    ) -> None:
        """Delete nodes by id, by filter, or by both.

        Raises:
            InvalidParameterError: Neither ids nor filters are given, or a filter is not supported.
        """
        refuse_unknown(kwargs)
        self._collection.run(lambda store: _delete_nodes(store, node_ids, filters), None)

    def get_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: types.MetadataFilters | None = None,
        limit: int | None = None,
    ) -> list[BaseNode]:
        """Return nodes with their embeddings by id, in the order of the ids, by filter, or by both; all without either.

        Embeddings may be normalised.

        Args:
            node_ids: Ids of nodes.
            filters: Filters that the nodes must match.
            limit: Maximum number of nodes; None for all.

        Raises:
            InvalidParameterError: A filter is not supported, or `limit` is negative.
        """
        if limit is not None:
            require(limit >= 0, "limit", "must not be negative", limit, "Leave it out for all nodes.")
        return self._collection.run(lambda store: _nodes(store, node_ids, filters, limit), [])

    def count(self, filters: types.MetadataFilters | None = None) -> int:
        """Return the number of nodes, or of those that match filters; parents are not counted.

        Raises:
            InvalidParameterError: A filter is not supported.
        """
        return self._collection.run(lambda store: counted(store, to_where(store, filters)), 0)

    async def acount(self, filters: types.MetadataFilters | None = None) -> int:
        """Do the same as `count` without blocking the event loop."""
        return await in_thread(self.count, filters)

    def query(
        self,
        query: types.VectorStoreQuery,
        mmr_threshold: float | None = None,
        mmr_prefetch_k: int | None = None,
        qdrant_filters: object | None = None,
        score_threshold: float | None = None,
        **kwargs: object,
    ) -> types.VectorStoreQueryResult:
        """Find nodes by meaning, by terms, by both, or by meaning and diversity.

        Args:
            query: The query. `node_ids` restricts it to these nodes, unless they are index or image nodes alone: a
                `VectorStoreIndex` passes those there, if it has any, which would hide its text nodes.
            mmr_threshold: In mode MMR, from 0 for the most diverse nodes to 1 for the most similar ones, instead of
                the query's own; 0.5 without either.
            mmr_prefetch_k: In mode MMR, the number of nodes to choose from; None for four times the number to return.
            qdrant_filters: A `models.Filter` of Qdrant's client, which nodes must match too, as `QdrantVectorStore`
                takes it.
            score_threshold: Minimum cosine of nodes found by meaning, from -1 to 1; None for no minimum.
            **kwargs: Rejected.

        Raises:
            InvalidParameterError: The mode or a filter is not supported, or a value is out of range.
        """
        refuse_unknown(kwargs)
        check_number("similarity_top_k", query.similarity_top_k)
        check_cosine(score_threshold)

        def work(store: ChunkStore) -> types.VectorStoreQueryResult:
            where = to_where(store, query.filters, query.doc_ids, qdrant_filters)
            return self._query(store, query, where, mmr_threshold, mmr_prefetch_k, score_threshold)

        return self._collection.run(work, _result([]))

    def clear(self) -> None:
        """Delete all nodes."""
        self._collection.run(clear, None)

    def close(self) -> None:
        """Close the collection, if the store was given by its address."""
        self._collection.close()

    def _query(
        self,
        store: ChunkStore,
        query: types.VectorStoreQuery,
        where: Where,
        mmr_threshold: float | None,
        mmr_prefetch_k: int | None,
        score_threshold: float | None,
    ) -> types.VectorStoreQueryResult:
        if query.mode is types.VectorStoreQueryMode.MMR:
            threshold = query.mmr_threshold if mmr_threshold is None else mmr_threshold
            limit = mmr_prefetch_k or _MMR_PREFETCH * query.similarity_top_k
            (hits,) = _search(store, replace(query, similarity_top_k=limit), where, score_threshold)
            return _result(_diverse(store, query, hits, threshold), self.slim)
        rankings = _search(store, query, where, score_threshold)
        if query.mode is not types.VectorStoreQueryMode.HYBRID:
            return _result(rankings[0], self.slim)
        limit = query.hybrid_top_k or query.similarity_top_k
        dense, terms = rankings
        return _result(fuse(dense, terms, 0.5 if query.alpha is None else query.alpha)[:limit], self.slim)


def _search(
    store: ChunkStore, query: types.VectorStoreQuery, where: Where, score_threshold: float | None
) -> list[list[Hit]]:
    rankings = _rankings(store, query, where)
    if not any(rankings):
        warn_of_unmatched(store, where)
    if score_threshold is None or query.mode is types.VectorStoreQueryMode.SPARSE:
        return rankings
    dense, *others = rankings
    return [[hit for hit in dense if hit.score >= score_threshold], *others]


def _rankings(store: ChunkStore, query: types.VectorStoreQuery, where: Where) -> list[list[Hit]]:
    bm25 = Bm25Embedder.of(store.schema.sparse)
    ids = set() if _are_apart(store, query.node_ids or ()) else {*stored_ids(query.node_ids or ())}
    if not ids or len(ids) > _MANY:
        queries = to_queries(query, where, bm25)
        rankings = store.search(queries)
        if not ids or all(hit.chunk.id in ids for hits in rankings for hit in hits):
            return rankings
    within = {"$and": [where, {"$id": ids}]} if where else {"$id": ids}
    return store.search(to_queries(query, within, bm25))


def _are_apart(store: ChunkStore, node_ids: Sequence[str]) -> bool:
    """Return whether these are the ids that an index passes with each query: those of its index and image nodes.

    It keeps the ids of no other nodes where the store keeps their texts.
    """
    found = [node_of(chunk) for chunk in get(store, node_ids[:_SAMPLE])]
    return bool(found) and all(isinstance(node, IndexNode | ImageNode) for node in found)


def _embedding(node: BaseNode) -> list[float]:
    if node.embedding is None:
        remedy = "Embed it first, or add it through a VectorStoreIndex."
        raise InvalidParameterError(f"embedding of {node.node_id!r}", "must be set", None, remedy)
    return node.embedding


def _diverse(
    store: ChunkStore, query: types.VectorStoreQuery, hits: Sequence[Hit], threshold: float | None
) -> list[Hit]:
    """Choose hits that are similar to a question and differ from each other, by LlamaIndex's own rule."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise InvalidParameterError("mmr_threshold", "must be from 0 to 1", threshold, "Leave it out for 0.5.")
    kept, embeddings = with_vectors(store, hits)
    question: Any = np.asarray(query.query_embedding, dtype=np.float32)
    scores, chosen = get_top_k_mmr_embeddings(
        question, embeddings, similarity_top_k=query.similarity_top_k, mmr_threshold=threshold
    )
    return [Hit(kept[index].chunk, float(score)) for index, score in zip(chosen, scores, strict=True)]


def _chunks(store: ChunkStore, node_ids: list[str] | None, filters: types.MetadataFilters | None) -> list[Chunk]:
    where = to_where(store, filters)
    if node_ids is None:
        return store.find(where, None)
    chunks = get(store, node_ids)
    if not where:
        return chunks
    within = {chunk.id for chunk in store.find(where, None)}
    return [chunk for chunk in chunks if chunk.id in within]


def _nodes(
    store: ChunkStore, node_ids: list[str] | None, filters: types.MetadataFilters | None, limit: int | None
) -> list[BaseNode]:
    chunks = _chunks(store, node_ids, filters)
    # Parents and whole documents that `Index.add` wrote are returned by id only.
    found = [chunk for chunk in chunks if node_ids is not None or not chunk.level or RECORD in chunk.metadata][:limit]
    vectors = store.vectors([chunk.id for chunk in found])
    return [_embedded(node_of(chunk), vectors.get(chunk.id)) for chunk in found]


def _embedded(node: BaseNode, vectors: Vectors | None) -> BaseNode:
    if vectors is not None and vectors.dense is not None:
        node.embedding = vectors.dense.tolist()
    return node


def _delete_nodes(store: ChunkStore, node_ids: list[str] | None, filters: types.MetadataFilters | None) -> None:
    # An empty list of filters matches every node.
    if node_ids is None and not to_where(store, filters):
        raise InvalidParameterError("node_ids", "or filters must be given", None, "To delete all nodes, call clear().")
    found = _chunks(store, node_ids, filters)
    remove(store, [chunk.id for chunk in found])


def _result(hits: Sequence[Hit], slim: bool = False) -> types.VectorStoreQueryResult:
    nodes = [node_of(hit.chunk) for hit in hits]
    if slim:
        for node in nodes:
            node.metadata = slimmed(node.metadata)
    return types.VectorStoreQueryResult(nodes, [hit.score for hit in hits], [node.node_id for node in nodes])


# Operators on a value and on a list, each with that of a chunk store.
_VALUE_OPERATORS = {types.FilterOperator[name]: f"${name.lower()}" for name in ("EQ", "NE", "GT", "GTE", "LT", "LTE")}
_VALUE_OPERATORS[types.FilterOperator.CONTAINS] = "$contains"
_LIST_OPERATORS = {types.FilterOperator.IN: "$in", types.FilterOperator.NIN: "$nin", types.FilterOperator.ANY: "$in"}
_TEXT_OPERATORS = {types.FilterOperator.TEXT_MATCH: "$like", types.FilterOperator.TEXT_MATCH_INSENSITIVE: "$ilike"}
# Keys under which LlamaIndex's stores keep the id of a node's document, and that of a chunk store.
_SOURCES = dict.fromkeys(("doc_id", "document_id", "ref_doc_id"), "source_id")
_MODES = {
    types.VectorStoreQueryMode.DEFAULT: ("dense",),
    types.VectorStoreQueryMode.MMR: ("dense",),
    types.VectorStoreQueryMode.SPARSE: ("bm25",),
    types.VectorStoreQueryMode.HYBRID: ("dense", "bm25"),
}


def to_where(
    store: ChunkStore,
    filters: types.MetadataFilters | None,
    doc_ids: Sequence[str] | None = None,
    of_client: object | None = None,
) -> Where:
    """Return filters as `Where`, or raise InvalidParameterError if an operator doesn't support its value.

    Text matching reads all chunks. NOT matches nodes that match none of its filters. An empty list of documents matches
    nothing. `of_client` is a filter of Qdrant's client.
    """
    within = {} if doc_ids is None else {"source_id": list(doc_ids)}
    parts = [
        within,
        {} if filters is None else _group(filters),
        {} if of_client is None else of_qdrant(of_client),
    ]
    parts = [part for part in parts if part]
    return with_matches(store, {"$and": parts} if parts[1:] else dict(*parts), within)


def to_queries(query: types.VectorStoreQuery, where: Where, bm25: Bm25Embedder) -> list[Query]:
    """Return the store queries of a query: by meaning, by terms, or both in this order.

    One that lacks the embedding or the text that its mode needs raises InvalidParameterError.
    """
    rule = f"must be one of {', '.join(mode.value for mode in _MODES)}"
    require(query.mode in _MODES, "mode", rule, str(query.mode), "Use one of them.")
    queries = []
    for using in _MODES[query.mode]:
        if using == "dense":
            if query.query_embedding is None:
                raise InvalidParameterError("query_embedding", "must be given", None, "Embed the query.")
            vector = np.asarray(query.query_embedding, dtype=np.float32)
            queries.append(Query("dense", vector, query.similarity_top_k, where=where))
        else:
            if query.query_str is None:
                raise InvalidParameterError("query_str", "must be given to search by terms", None, "Give the text.")
            limit = query.sparse_top_k or query.similarity_top_k
            queries.append(Query("bm25", bm25.embed_query(query.query_str), limit, where=where))
    return queries


def fuse(dense: Sequence[Hit], terms: Sequence[Hit], alpha: float) -> list[Hit]:
    """Merge a dense and a term ranking by their scores, each scaled to the range from 0 to 1.

    The dense scores have the weight `alpha`, from 0 to 1, the term scores the rest.
    """
    require(0 <= alpha <= 1, "alpha", "must be from 0 to 1", alpha, "Leave it out for 0.5.")
    shares = [unit({hit.chunk.id: hit.score for hit in hits}) for hits in (dense, terms)]
    chunks = {hit.chunk.id: hit.chunk for hit in (*dense, *terms)}
    joined = [
        Hit(chunk, alpha * shares[0].get(id_, 0.0) + (1 - alpha) * shares[1].get(id_, 0.0))
        for id_, chunk in chunks.items()
    ]
    return sorted(joined, key=lambda hit: (-hit.score, hit.chunk.id))


def _group(filters: types.MetadataFilters, depth: int = 1) -> dict[str, Any]:
    require(depth <= MOST_DEPTH, "filters", f"must be nested at most {MOST_DEPTH} deep", depth, "Nest fewer filters.")
    parts = [
        _group(one, depth + 1) if isinstance(one, types.MetadataFilters) else _condition(one) for one in filters.filters
    ]
    if filters.condition is types.FilterCondition.NOT:
        return {"$not": {"$or": parts}} if parts else {}
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return parts[0] if parts else {}
    return {"$or" if filters.condition is types.FilterCondition.OR else "$and": parts}


def _condition(one: types.MetadataFilter) -> dict[str, Any]:
    key = _SOURCES.get(one.key, one.key)
    if one.operator is types.FilterOperator.IS_EMPTY:
        return {key: {"$exists": False}}
    if one.operator in _TEXT_OPERATORS and isinstance(one.value, str):
        return {key: {_TEXT_OPERATORS[one.operator]: containing(one.value)}}
    if one.operator is types.FilterOperator.ALL and isinstance(one.value, list) and one.value:
        return {"$and": [{key: {"$eq": value}} for value in one.value]}
    operator = (_LIST_OPERATORS if isinstance(one.value, list) else _VALUE_OPERATORS).get(one.operator)
    if operator is None:
        rule = f"can't be {one.operator.name} with {'a list' if isinstance(one.value, list) else 'one value'}"
        raise InvalidParameterError("filters", rule, one, "Give a value of the other kind, or another operator.")
    return {key: {operator: one.value}}

"""Translation of LlamaIndex's filters and queries for chunk stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.vector_stores import types

from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError, require
from kinsplit.integrations.shared.filters import containing, of_qdrant, with_matches
from kinsplit.retrieval.scoring import unit
from kinsplit.stores.filters import MOST_DEPTH
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Hit, Query, Where

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

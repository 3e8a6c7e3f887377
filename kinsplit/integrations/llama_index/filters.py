"""LlamaIndex's filters and queries, as a chunk store takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.conditions import MOST_DEPTH
from kinsplit.stores.protocol import Query, Where

#: Operators that take a value, and those that take a list, as a store has them.
_OF_VALUE = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.CONTAINS: "$eq",
}
_OF_LIST = {FilterOperator.IN: "$in", FilterOperator.NIN: "$nin", FilterOperator.ANY: "$in"}
_MODES = {
    VectorStoreQueryMode.DEFAULT: ("dense",),
    VectorStoreQueryMode.SPARSE: ("bm25",),
    VectorStoreQueryMode.HYBRID: ("dense", "bm25"),
}


def to_where(filters: MetadataFilters | None, doc_ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Return filters as `Where`.

    Args:
        filters: Of any operators but TEXT_MATCH, TEXT_MATCH_INSENSITIVE and IS_EMPTY, joined in any way; NOT lets
            through what none of its filters does.
        doc_ids: Ids of the documents to look into.

    Raises:
        InvalidParameterError: Any other operator, or a value that it can't have.
    """
    where: dict[str, Any] = {"source_id": list(doc_ids)} if doc_ids else {}
    found = {} if filters is None else _joined(filters)
    return {"$and": [where, found]} if where and found else where or found


def to_queries(query: VectorStoreQuery, bm25: Bm25Embedder) -> list[Query]:
    """Return the rankings that a query asks for: by meaning, by terms, or both in this order.

    Raises:
        InvalidParameterError: A mode or a filter that is not supported, or a query without what its mode needs.
    """
    if query.mode not in _MODES:
        rule = f"must be one of {', '.join(mode.value for mode in _MODES)}"
        raise InvalidParameterError("mode", rule, str(query.mode), "Take one of them.")
    if query.node_ids:
        remedy = "Filter by metadata, or fetch the nodes by get_nodes."
        raise InvalidParameterError("node_ids", "can't be searched within", query.node_ids, remedy)
    where: Where = to_where(query.filters, query.doc_ids)
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


def _joined(filters: MetadataFilters, depth: int = 1) -> dict[str, Any]:
    if depth > MOST_DEPTH:
        remedy = "Take fewer filters inside each other."
        raise InvalidParameterError("filters", f"must be at most {MOST_DEPTH} deep", depth, remedy)
    parts = [_joined(one, depth + 1) if isinstance(one, MetadataFilters) else _one(one) for one in filters.filters]
    if filters.condition is FilterCondition.NOT:
        return {"$not": {"$or": parts}} if parts else {}
    parts = [part for part in parts if part]
    if len(parts) < 2:
        return parts[0] if parts else {}
    return {"$or" if filters.condition is FilterCondition.OR else "$and": parts}


def _one(one: MetadataFilter) -> dict[str, Any]:
    if one.operator is FilterOperator.ALL and isinstance(one.value, list) and one.value:
        return {"$and": [{one.key: {"$eq": value}} for value in one.value]}
    operator = (_OF_LIST if isinstance(one.value, list) else _OF_VALUE).get(one.operator)
    if operator is None:
        rule = f"can't be {one.operator.name} with {'a list' if isinstance(one.value, list) else 'one value'}"
        raise InvalidParameterError("filters", rule, one, "Ask for more nodes, and filter what comes back.")
    return {one.key: {operator: one.value}}

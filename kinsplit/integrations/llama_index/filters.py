"""LlamaIndex's filters and queries, as a chunk store takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.stores.protocol import Query, Where

_OPERATORS = {FilterOperator.EQ: False, FilterOperator.IN: True, FilterOperator.ANY: True}
_MODES = {
    VectorStoreQueryMode.DEFAULT: ("dense",),
    VectorStoreQueryMode.SPARSE: ("bm25",),
    VectorStoreQueryMode.HYBRID: ("dense", "bm25"),
}


def to_where(filters: MetadataFilters | None, doc_ids: Sequence[str] | None = None) -> dict[str, Any]:
    """Return filters as `Where`.

    Args:
        filters: EQ, IN and ANY, all of which must hold.
        doc_ids: Ids of the documents to look into.

    Raises:
        InvalidParameterError: Any other operator or condition, or two filters of one key.
    """
    where: dict[str, Any] = {} if not doc_ids else {"source_id": list(doc_ids)}
    for key, value in [] if filters is None else _pairs(filters):
        if key in where:
            raise InvalidParameterError("filters", "must have each key once", key, "Join the values by IN.")
        where[key] = value
    return where


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


def _pairs(filters: MetadataFilters) -> list[tuple[str, Any]]:
    if filters.condition not in (None, FilterCondition.AND) and len(filters.filters) != 1:
        raise _unsupported(filters.condition)
    if filters.condition is FilterCondition.NOT:
        raise _unsupported(filters.condition)
    pairs: list[tuple[str, Any]] = []
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            pairs += _pairs(one)
        elif one.operator not in _OPERATORS or isinstance(one.value, list) != _OPERATORS[one.operator]:
            raise _unsupported(one)
        else:
            pairs.append((one.key, one.value))
    return pairs


def _unsupported(value: object) -> InvalidParameterError:
    rule = "must be EQ with a value, IN or ANY with a list, joined by AND"
    return InvalidParameterError("filters", rule, value, "Ask for more nodes, and filter what comes back.")

"""Filters that LangChain's users write, as filters of chunk stores."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)

from kinsplit.integrations.shared.filters import containing, is_of_qdrant, of_qdrant, with_matches
from kinsplit.stores import ChunkStore
from kinsplit.stores.values import Where

#: A filter: a mapping, the filter of a structured query, or a `models.Filter` of Qdrant's client.
Filter: TypeAlias = Where | FilterDirective | object


def to_where(store: ChunkStore, given: Filter | None) -> Where | None:
    """Return a filter in the form that a store takes.

    Raises:
        InvalidParameterError: It has a condition that no engine supports.
    """
    if given is None:
        return None
    if isinstance(given, FilterDirective):
        given = given.accept(StructuredQueryTranslator())
    elif is_of_qdrant(given):
        given = of_qdrant(given, "metadata.")
    return with_matches(store, cast("Where", given))


class StructuredQueryTranslator(Visitor):
    """The translator for `SelfQueryRetriever` over a `KinsplitVectorStore`; all comparators and operators are allowed.

    Example:
        >>> StructuredQueryTranslator().visit_comparison(Comparison(Comparator.GTE, "year", 2020))
        {'year': {'$gte': 2020}}
    """

    allowed_comparators = tuple(Comparator)
    allowed_operators = tuple(Operator)

    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """Translate an operation on filters."""
        parts = [one.accept(self) for one in operation.arguments]
        if operation.operator is Operator.NOT:
            return {"$not": parts[0] if len(parts) == 1 else {"$or": parts}}
        return {f"${operation.operator.value}": parts}

    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """Translate a comparison of an attribute with a value."""
        value, comparator = comparison.value, comparison.comparator
        if isinstance(value, dict):  # Dates come with their type.
            value = value.get("date", value.get("datetime", value))
        if comparator is Comparator.CONTAIN:
            return {"$or": [{comparison.attribute: {"$eq": value}}, *_in_text(comparison.attribute, value)]}
        if comparator is Comparator.LIKE:
            is_pattern = not isinstance(value, str) or {*"%_"} & {*value}
            return {comparison.attribute: {"$like": value if is_pattern else containing(value)}}
        return {comparison.attribute: {f"${comparator.value}": value}}

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, Any]]:
        """Translate a query into its text and the keyword arguments of a search."""
        own = structured_query.filter
        return structured_query.query, {} if own is None else {"filter": own.accept(self)}


def _in_text(attribute: str, value: object) -> list[dict[str, Any]]:
    return [{attribute: {"$like": containing(value)}}] if isinstance(value, str) else []

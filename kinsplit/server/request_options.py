"""Rankings, rerankers and metadata filters as requests name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import Reranker, rankings
from kinsplit.server.collections import Collections
from kinsplit.stores.filters import check_request, parse_where
from kinsplit.wire import is_hidden

#: Description and OpenAPI schema of the rankings, which `SearchOptions` validates.
RANKING = "Ranking of the chunks. " + "; ".join(f"{each.name}: {each.description}" for each in rankings()) + "."
RANKINGS: dict[str, Any] = {"enum": [each.name for each in rankings()]}

DIVERSITY = "Weight of unlikeness among the candidates (MMR), from 0 for none to 1."


def pick_reranker(rerank: str, collections: Collections) -> str | Reranker:
    """Return one of the service's rerankers by name.

    Raises:
        InvalidParameterError: The service does not have it; loading another one would read a disk or a network.
    """
    try:
        return collections.rerankers[rerank]
    except KeyError:
        remedy = f"Use one of: {', '.join(collections.rerankers)}."
        raise InvalidParameterError("rerank", "must be a reranker of this service", rerank, remedy) from None


def parse_filter(given: Sequence[str] | dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a metadata filter, as `kinsplit.stores.protocol.Where`.

    Args:
        given: The filter itself, conditions such as `course=cs`, or the filter as one JSON text.

    Raises:
        InvalidParameterError: The filter is invalid, too large, or tests a hidden key.
    """
    if not given:
        return None
    where = given if isinstance(given, dict) else _parse(given)
    check_request(where)
    _check_keys(where)
    return where


def _parse(conditions: Sequence[str]) -> dict[str, Any]:
    if len(conditions) > 1 or not conditions[0].lstrip().startswith("{"):
        return parse_where("where", conditions)
    try:
        where: dict[str, Any] = json.loads(conditions[0])
    except (ValueError, RecursionError):
        remedy = 'For example: {"year": {"$gte": 2020}}.'
        raise InvalidParameterError("where", "must be JSON", conditions[0], remedy) from None
    return where


def _check_keys(where: object) -> None:
    """Reject a filter on hidden metadata, whose values a client could find out by trying them."""
    if isinstance(where, Mapping):
        for key, value in where.items():
            if isinstance(key, str) and is_hidden(key):
                raise InvalidParameterError("where", "can't filter by this key", key, "Use another key.")
            _check_keys(value)
    elif isinstance(where, list):
        for each in where:
            _check_keys(each)

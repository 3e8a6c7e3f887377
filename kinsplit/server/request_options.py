"""What a request may ask of a search, and what not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.retrieval import Reranker
from kinsplit.server.collections import Library
from kinsplit.server.responses import check_shown
from kinsplit.stores.filters import check_where, parse_where


def pick_reranker(rerank: str, library: Library) -> str | Reranker:
    """Return a reranker that the service lets requests name.

    Raises:
        InvalidParameterError: It is another one: loading it would read a disk or a network.
    """
    try:
        return library.rerankers[rerank]
    except KeyError:
        remedy = f"Take one of: {', '.join(library.rerankers)}."
        raise InvalidParameterError("rerank", "must be one that this service has", rerank, remedy) from None


def filter_of(given: Sequence[str] | dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a filter, as `kinsplit.stores.protocol.Where`.

    Args:
        given: The filter itself; or conditions such as `course=cs`, or one text that is the filter as JSON.

    Raises:
        InvalidParameterError: It is not valid, too large, or about what is not shown.
    """
    if not given:
        return None
    where = given if isinstance(given, dict) else _parsed(given)
    check_where(where)
    check_shown(where)
    return where


def _parsed(conditions: Sequence[str]) -> dict[str, Any]:
    if len(conditions) > 1 or not conditions[0].lstrip().startswith("{"):
        return parse_where("where", conditions)
    try:
        where: dict[str, Any] = json.loads(conditions[0])
    except (ValueError, RecursionError):
        remedy = 'Write for example {"year": {"$gte": 2020}}.'
        raise InvalidParameterError("where", "must be JSON", conditions[0], remedy) from None
    return where

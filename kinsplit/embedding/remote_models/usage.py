"""Requests and tokens of an embedding model on a server, and their cost."""

from __future__ import annotations

import threading
from typing import NamedTuple

from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.protocol import Embedder


class Used(NamedTuple):
    """Use of a model on a server.

    Attributes:
        requests: Number of answered requests.
        tokens: Number of tokens that the server counted.
        cost: Their cost in US dollars; None if the price is not known.
    """

    requests: int
    tokens: int
    cost: float | None


class Usage:
    """Requests and tokens so far, counted by any thread.

    Args:
        price: Price of a million tokens in US dollars; None if it is not known.
    """

    def __init__(self, price: float | None) -> None:
        self.price = price
        self._lock = threading.Lock()
        self._requests = self._tokens = 0

    def add(self, tokens: int | None) -> None:
        """Count a request."""
        with self._lock:
            self._requests += 1
            self._tokens += tokens or 0

    def since(self, before: Used | None = None) -> Used:
        """Return the use so far, or since an earlier moment."""
        with self._lock:
            requests, tokens = self._requests, self._tokens
        if before is not None:
            requests, tokens = requests - before.requests, tokens - before.tokens
        return Used(requests, tokens, None if self.price is None else tokens * self.price / 1e6)


def usage_of(embedder: Embedder) -> Usage | None:
    """Return the usage of an embedder whose model runs on a server, also behind a cache; else None."""
    found = getattr(without_cache(embedder), "usage", None)
    return found if isinstance(found, Usage) else None

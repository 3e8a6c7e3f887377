"""Metrics for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kinsplit.embedding import Embedder
from kinsplit.embedding.protocol import QuestionEmbedder, TokenEmbedder, card_of

_T = TypeVar("_T", str, Sequence[str])

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "kinsplit_request_seconds",
            "Time to the end of the response.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=_SECONDS,
        )
        self.in_flight = Gauge("kinsplit_requests_in_flight", "Requests in progress.", registry=self.registry)
        self.rejected = Counter("kinsplit_requests_rejected", "Rejected requests.", ("reason",), registry=self.registry)
        self.embed_seconds = Histogram(
            "kinsplit_embed_seconds", "Time to embed a question.", registry=self.registry, buckets=_SECONDS
        )
        self.watch_updates = Counter(
            "kinsplit_watch_updates", "Updates from watched folders.", ("collection",), registry=self.registry
        )
        self.watch_failed = Gauge(
            "kinsplit_watch_failed_files",
            "Files in watched folders that can't be loaded.",
            ("collection",),
            registry=self.registry,
        )


class TimedEmbedder:
    """An embedder that measures how long each question takes, in a histogram of seconds."""

    def __init__(self, embedder: Embedder, seconds: Histogram) -> None:
        self._embedder, self._seconds = embedder, seconds
        self.name, self.dimension = embedder.name, embedder.dimension
        self.window, self.fingerprint = embedder.window, embedder.fingerprint
        self.card = card_of(embedder)
        self.windows, self.embed = embedder.windows, embedder.embed
        if isinstance(embedder, TokenEmbedder):
            self.embed_tokens = embedder.embed_tokens
        if isinstance(embedder, QuestionEmbedder):
            self.embed_queries = partial(self._timed, embedder.embed_queries)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question and record how long it took."""
        return self._timed(self._embedder.embed_query, text)

    def _timed(self, embed: Callable[[_T], NDArray[np.float32]], asked: _T) -> NDArray[np.float32]:
        begun = time.perf_counter()
        vectors = embed(asked)
        for _ in range(1 if isinstance(asked, str) else len(asked)):
            self._seconds.observe(time.perf_counter() - begun)
        return vectors

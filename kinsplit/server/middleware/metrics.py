"""Metrics for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of one application.

    Attributes:
        registry: Registry that holds them.
        seconds: Time to the end of each response, by method, route and status.
        in_flight: Number of requests in progress.
        rejected: Number of rejected requests, by reason: queue, answers, timeout, rate, key, body, slow, crowd.
        embed_seconds: Time to embed a question.
    """

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

"""Qdrant Edge, an embedded engine."""

from __future__ import annotations

from kinsplit.stores.engines import Engine, deferred

#: The engine for the registry.
ENGINE = Engine(
    deferred("kinsplit.stores.engines.edge.store:EdgeStore", "search"),
    deferred("kinsplit.stores.engines.edge.store:EdgeCatalog", "search"),
    "one process without a server: Qdrant's engine in a folder; the default",
    "qdrant_edge",
    "search",
    holds_lock=True,
)

"""Qdrant Edge, an embedded engine."""

from __future__ import annotations

from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema


def _store(folder: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.edge.store import EdgeStore

    return EdgeStore(folder, collection, schema)


def _catalog(folder: str) -> Catalog:
    from kinsplit.stores.engines.edge.catalog import EdgeCatalog

    return EdgeCatalog(folder)


#: The engine for the registry.
ENGINE = Engine(
    _store,
    _catalog,
    "one process without a server: Qdrant's engine in a folder; the default",
    "qdrant_edge",
    "search",
    holds_lock=True,
)

"""Qdrant, as a server or in the client's local mode."""

from __future__ import annotations

from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.engines.qdrant.options import QdrantOptions, is_url, parse_location
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema


def _store(location: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.qdrant.store import QdrantStore

    return QdrantStore.open(*parse_location(location), collection, schema)


def _catalog(location: str) -> Catalog:
    from kinsplit.stores.engines.qdrant.catalog import QdrantCatalog

    return QdrantCatalog(*parse_location(location))


#: The engine for the registry.
ENGINE = Engine(
    _store,
    _catalog,
    "a Qdrant server, a cluster or Qdrant Cloud; a path or memory for some 20,000 chunks",
    "qdrant_client",
    "qdrant",
    options=QdrantOptions,
    is_server=is_url,
)

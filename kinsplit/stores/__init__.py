"""Stores of chunks in databases, behind one protocol."""

from __future__ import annotations

from kinsplit.stores.address import has_async_client, open_async_store, open_catalog, open_store
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.protocol import ChunkStore, Entry, Hit, Query, Schema, SyncReport, Vectors

__all__ = [
    "AsyncChunkStore",
    "Catalog",
    "ChunkStore",
    "CollectionInfo",
    "Entry",
    "Hit",
    "Query",
    "Schema",
    "SyncReport",
    "Vectors",
    "has_async_client",
    "open_async_store",
    "open_catalog",
    "open_store",
]

"""Chunks in a database, behind one protocol."""

from __future__ import annotations

from kinsplit.stores.address import open_async_store, open_store
from kinsplit.stores.async_protocol import AsyncChunkStore
from kinsplit.stores.protocol import ChunkStore, Hit, Query, Schema, SyncReport, Vectors

__all__ = [
    "AsyncChunkStore",
    "ChunkStore",
    "Hit",
    "Query",
    "Schema",
    "SyncReport",
    "Vectors",
    "open_async_store",
    "open_store",
]

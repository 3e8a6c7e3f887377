"""Chunks in a database, behind one protocol."""

from __future__ import annotations

from kinsplit.stores.address import open_store
from kinsplit.stores.protocol import ChunkStore, Hit, Query, Schema, SyncReport, Vectors

__all__ = ["ChunkStore", "Hit", "Query", "Schema", "SyncReport", "Vectors", "open_store"]

"""Stores of chunks in databases, behind one interface."""

from __future__ import annotations

from kinsplit.stores.address import check_source, open_catalog, open_store
from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Entry, Hit, Query, Schema, SyncReport, Vectors

__all__ = [
    "Catalog",
    "ChunkStore",
    "CollectionInfo",
    "Entry",
    "Hit",
    "Query",
    "Schema",
    "SyncReport",
    "Vectors",
    "check_source",
    "open_catalog",
    "open_store",
]

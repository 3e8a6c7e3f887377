"""Postgres with pgvector."""

from __future__ import annotations

from kinsplit.stores.engines import Engine
from kinsplit.stores.engines.catalog import Catalog
from kinsplit.stores.engines.postgres.options import PostgresOptions, parse_dsn
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema


def _store(dsn: str, collection: str, schema: Schema | None) -> ChunkStore:
    from kinsplit.stores.engines.postgres.store import PostgresStore

    return PostgresStore(*parse_dsn(dsn), collection, schema)


def _catalog(dsn: str) -> Catalog:
    from kinsplit.stores.engines.postgres.tables import PostgresCatalog

    return PostgresCatalog(parse_dsn(dsn)[0])


#: The engine for the registry.
ENGINE = Engine(
    _store, _catalog, "those who run Postgres", "psycopg", "pgvector", options=PostgresOptions, is_server=lambda _: True
)

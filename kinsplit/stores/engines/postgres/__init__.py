"""Postgres with pgvector."""

from __future__ import annotations

from kinsplit.stores.engines import Engine, deferred
from kinsplit.stores.engines.postgres.options import PostgresOptions, parse_dsn

#: The engine for the registry.
ENGINE = Engine(
    deferred("kinsplit.stores.engines.postgres.store:PostgresStore", "pgvector", parse_dsn),
    deferred("kinsplit.stores.engines.postgres.tables:PostgresCatalog", "pgvector", lambda dsn: parse_dsn(dsn)[:1]),
    "those who run Postgres",
    "psycopg",
    "pgvector",
    options=PostgresOptions,
    is_server=lambda _: True,
)

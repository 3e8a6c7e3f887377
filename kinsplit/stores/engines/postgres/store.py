"""Store in Postgres with pgvector."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kinsplit.chunk import Content
from kinsplit.errors import StoreError
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.filters import HasId, to_conditions
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, check_source
from kinsplit.stores.store import ChunkStore, FoundPoint, batches
from kinsplit.stores.values import Query, Schema, Vectors, Where
from kinsplit.support.extras import needs

with needs("pgvector"):
    from psycopg import sql

    from kinsplit.stores.engines.postgres.points import COLUMNS, delete, to_vectors, update, upsert
    from kinsplit.stores.engines.postgres.query import picked, to_statement
    from kinsplit.stores.engines.postgres.session import begin, postgres_errors
    from kinsplit.stores.engines.postgres.tables import LOCK, open_tables
    from kinsplit.stores.engines.postgres.where import Statement, decode_text, to_where

if TYPE_CHECKING:
    from psycopg import Cursor

    from kinsplit.stores.engines.postgres.session import Connection
    from kinsplit.stores.filters import Condition

#: Points per statement.
_BATCH = 500
#: The columns that `to_vectors` takes, of points by id.
_VECTORS = (
    "coalesce({dense}), terms, weights FROM {chunks}, LATERAL (SELECT array_agg(term ORDER BY term) AS terms,"
    " array_agg(weight ORDER BY term) AS weights FROM {terms} WHERE chunk = key) AS sparse WHERE id = ANY(%s::uuid[])"
)


class PostgresStore(ChunkStore):
    """A collection in a Postgres database, with an index for up to 2,000 dimensions, or 4,000 of 16 bits.

    A sync is one transaction. An advisory lock makes the writers of a collection, in all processes, take turns; readers
    never wait for them. Sessions that the server ended are reopened; an interrupted sync raises an error and changes
    nothing. Terms are ranked by BM25, with the IDF of the current chunks; Edge also counts recently deleted ones. A
    search without a filter reads up to 50,000 chunks of its terms, and up to 5,000 of each in any case: those in which
    they weigh most. Postgres chooses between comparing all vectors, which is exact, and the index, which finds nearly
    all of the nearest ones and none of length 0; elsewhere these rank last. A filter is evaluated once for all rankings
    of a search by meaning and terms, and the vectors of all matching chunks are compared.

    Payloads are stored in a jsonb column, with the keys that Qdrant has. NUL, which Postgres can't store, is escaped
    (see `kinsplit.stores.engines.postgres.where`) and restored.

    Args:
        dsn: Connection string or URL for libpq, which takes missing parts from its environment variables and password
            file. The role needs permission to create the schema "kinsplit" and, if missing, the extension "vector".
        options: Options of the collection and its searches.
        collection: Name of the collection.
        schema: Schema that the collection must have; a new collection gets it. None opens an existing collection.

    Raises:
        MissingExtraError: psycopg or pgvector is not installed.
        StoreError: An error or one of its subclasses; see `kinsplit.stores.open_store`.
    """

    def __init__(self, dsn: str, options: PostgresOptions, collection: str, schema: Schema | None = None) -> None:
        opened = open_tables(dsn, options, collection, schema)
        super().__init__(opened.schema)
        self._name, self._number, self._tables = opened.name, opened.number, opened.tables
        self._indexes, self._made = opened.indexes, opened.indexes.made
        self._reader, self._writer = opened.reader, opened.writer
        self._candidates = options.hnsw_ef if self._made.dense_index == "hnsw" else 1
        self._closed = False
        self._writing = threading.RLock()

    def delete(self, source_id: str) -> int:
        """Delete all chunks of a source in one statement and return the number of its leaves."""
        check_source(source_id)
        of_source = self._where(to_conditions(None, {"source_id": source_id}))
        with self._exclusively():
            return delete(self._writer.connection, self._tables, of_source)

    def count(self, level: int | None = None, where: Where | None = None) -> int:
        """Count the chunks of a level, or of all levels, that match a filter; see `ChunkStore.count`."""
        chosen = self._where(to_conditions(level, where))
        rows = self._read("SELECT count(*) FROM {chunks} WHERE {where}", chosen.values, where=chosen.text)
        return int(rows[0][0])

    def sources(self, level: int | None = None, where: Where | None = None) -> dict[str, int]:
        """Return the number of matching chunks by source; see `ChunkStore.sources`."""
        chosen = self._where(to_conditions(level, where))
        query = "SELECT source_id, count(*) FROM {chunks} WHERE {where} GROUP BY source_id"
        rows = self._read(query, chosen.values, where=chosen.text)
        return dict(sorted((decode_text(source_id), count) for source_id, count in rows))

    @contextmanager
    def first_load(self) -> Iterator[None]:
        """Postpone most indexes while an empty collection is filled; see `ChunkStore.first_load`."""
        with self._indexes.postponed():
            yield
        # A new session takes its settings from the new indexes.
        self._reader.close()

    def close(self) -> None:
        """Close the connections. A second call does nothing."""
        with self._writing:
            self._closed = True
            self._reader.close()
            self._writer.close()

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        """Exclude other writers by a transaction with the collection's lock."""
        with (
            self._writing,
            self._usable(),
            self._writer.run(lambda connection: begin(connection, self._name, (LOCK, self._number))),
        ):
            yield

    @contextmanager
    def _usable(self) -> Iterator[None]:
        if self._closed:
            raise StoreError(f"{self._name} was closed. Open the store again.")
        with postgres_errors(self._name):
            yield

    def _read(self, statement: str, values: Sequence[Any] = (), **parts: sql.Composable) -> list[tuple[Any, ...]]:
        with self._usable():
            return self._reader.run(lambda connection: self._run(connection, statement, values, **parts).fetchall())

    def _run(
        self, connection: Connection, statement: str, values: Sequence[Any] = (), **parts: sql.Composable
    ) -> Cursor[Any]:
        text = sql.SQL(statement).format(chunks=self._tables.chunks, terms=self._tables.terms, **parts)
        return connection.execute(text, values)

    def _where(self, conditions: Sequence[Condition]) -> Statement:
        return to_where(self._tables, conditions)

    def _payloads(self, conditions: Sequence[Condition], keys: Sequence[str] | None = None) -> dict[str, Payload]:
        where = self._where(conditions)
        payload = sql.SQL("payload") if keys is None else picked(self._tables, keys)
        query = "SELECT id, {payload} FROM {chunks} WHERE {where}"
        rows = self._read(query, where.values, payload=payload, where=where.text)
        return {str(id_): payload for id_, payload in rows}

    def _vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        rows = self._read(f"SELECT id, {_VECTORS}", [list(ids)], dense=COLUMNS)
        return {str(id_): to_vectors(*vectors) for id_, *vectors in rows}

    def _points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        rows = self._read(f"SELECT id, payload, {_VECTORS}", [list(ids)], dense=COLUMNS)
        return {str(id_): (payload, to_vectors(*vectors)) for id_, payload, *vectors in rows}

    def _write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        with self._writer.connection.cursor() as cursor:
            for batch in batches(plan.upserts, _BATCH):
                upsert(cursor, self._tables, self._made, batch, vectors)
            if plan.payloads:
                update(cursor, self._tables, self._made, plan.payloads)
            if plan.deletes:
                delete(cursor, self._tables, self._where([HasId(tuple(plan.deletes))]))

    def _rank(self, queries: Sequence[Query], keys: Sequence[str] | None) -> list[list[FoundPoint]]:
        rankings: list[list[FoundPoint]] = [[] for _ in queries]
        text, values = to_statement(self._tables, self._made, queries, keys, self._candidates)
        with self._usable():
            rows = self._reader.run(lambda connection: connection.execute(text, values).fetchall())
        for number, id_, payload, distance in rows:
            score = -distance if queries[number].using == "bm25" else 1 - distance
            # Postgres returns NaN as the cosine with a vector of length 0.
            rankings[number].append(FoundPoint(str(id_), payload, 0.0 if score != score else score))
        return rankings

    def _fetch(self, ids: Sequence[str]) -> dict[str, Payload]:
        rows = self._read("SELECT id, payload FROM {chunks} WHERE id = ANY(%s::uuid[])", [list(ids)])
        return {str(id_): payload for id_, payload in rows}

"""Collections of a Postgres database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kinsplit.errors import StoreError
from kinsplit.stores.engines.catalog import Catalog, CollectionInfo
from kinsplit.stores.schema import LISTED, check_change, no_collection, parse_schema
from kinsplit.support.extras import needs

with needs("pgvector"):
    from psycopg import sql

    from kinsplit.stores.engines.postgres.session import Connection, begin, connect, place_of, postgres_errors
    from kinsplit.stores.engines.postgres.tables import LOCK, names_in, names_of, tables_of

_COUNTS = "SELECT count(DISTINCT source_id), count(*) FROM {chunks} WHERE level = 0"
# Partitions count for themselves.
_SIZE = """
WITH named AS (SELECT unnest(%s::regclass[]) AS relid)
SELECT sum(pg_total_relation_size(relid)) FROM (
    SELECT relid FROM named UNION SELECT part.relid FROM named, pg_partition_tree(named.relid) AS part) AS every
"""
# The chunks go first, since readers lock them first.
_DROP = "DROP TABLE IF EXISTS {}"
_RENAME = "UPDATE kinsplit.collections SET name = %s WHERE name = %s"
# No collection can have this name.
_MOVING = "/"


class PostgresCatalog(Catalog):
    """The collections of a Postgres database, whose changes are transactions.

    Args:
        dsn: Connection string or URL for libpq.

    Raises:
        StoreError: The database can't be reached.
    """

    def __init__(self, dsn: str) -> None:
        self._place = place_of(dsn)
        with postgres_errors(self._place):
            self._connection: Connection = connect(dsn)

    def collections(self) -> list[CollectionInfo]:
        """Return the collections; see `Catalog.collections`."""
        with self._usable() as connection:
            known = names_in(connection)
            rows = connection.execute("SELECT name, id, schema FROM kinsplit.collections") if known else ()
            return [self._info(connection, *row) for row in sorted(rows)]

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with self._usable() as connection:
            return str(self._number(connection, name))

    def drop(self, name: str) -> None:
        """Delete a collection, once its writers and the running statements of its readers are done."""
        with self._usable() as connection:
            number = self._number(connection, name)
            with begin(connection, f"{self._place}/{name}", (LOCK, number)):
                tables = tables_of(connection, number)
                connection.execute(sql.SQL(_DROP).format(sql.SQL(", ").join(names_of(tables))))
                connection.execute("DELETE FROM kinsplit.collections WHERE id = %s", [number])

    def rename(self, old: str, new: str) -> None:
        """Give a collection another name; see `Catalog.rename`."""
        with self._usable() as connection, connection.transaction():
            check_change(self._place, self._locked(connection), old, new, is_switch=False)
            connection.execute(_RENAME, [new, old])

    def switch(self, one: str, other: str) -> None:
        """Exchange the names of two collections; see `Catalog.switch`."""
        with self._usable() as connection, connection.transaction():
            check_change(self._place, self._locked(connection), one, other, is_switch=True)
            for old, new in ((one, _MOVING), (other, one), (_MOVING, other)):
                connection.execute(_RENAME, [new, old])

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self._connection.close()

    @contextmanager
    def _usable(self) -> Iterator[Connection]:
        if self._connection.closed:
            raise StoreError(f"{self._place} was closed. Open the catalog again.")
        with postgres_errors(self._place):
            yield self._connection

    def _info(self, connection: Connection, name: str, number: int, stored: dict[str, Any]) -> CollectionInfo:
        tables = tables_of(connection, number)
        counts = connection.execute(sql.SQL(_COUNTS).format(chunks=tables.chunks)).fetchone()
        names = [table.as_string(connection) for table in names_of(tables)]
        size = connection.execute(_SIZE, [names]).fetchone()
        documents, chunks = counts or (None, None)
        try:
            schema = parse_schema(name, stored)
        except StoreError:
            schema = None
        return CollectionInfo(name, schema, documents, chunks, None if size is None else int(size[0]))

    def _number(self, connection: Connection, name: str) -> int:
        known = names_in(connection)
        row = (
            connection.execute("SELECT id FROM kinsplit.collections WHERE name = %s", [name]).fetchone()
            if known
            else None
        )
        if row is None:
            raise no_collection(self._place, name, known, LISTED)
        return int(row[0])

    def _locked(self, connection: Connection) -> list[str]:
        """Return the names of the collections, which nobody else changes until the transaction ends."""
        if names_in(connection):
            connection.execute("LOCK TABLE kinsplit.collections IN SHARE ROW EXCLUSIVE MODE")
        return names_in(connection)

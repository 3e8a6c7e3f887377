"""Collections of a Postgres database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kinsplit.errors import ForeignCollectionError, StoreError
from kinsplit.stores.engines.catalog import CollectionInfo, EngineCatalog, Named
from kinsplit.stores.schema import parse_schema
from kinsplit.support.extras import needs

with needs("pgvector"):
    from psycopg import sql

    from kinsplit.stores.engines.postgres.session import Connection, begin, connect, place_of, postgres_errors
    from kinsplit.stores.engines.postgres.tables import LOCK, is_set_up, names_in, names_of, tables_of

_COUNTS = "SELECT count(DISTINCT source_id), count(*) FROM {chunks} WHERE level = 0"
# Partitions count for themselves.
_SIZE = """
WITH named AS (SELECT unnest(%s::regclass[]) AS relid)
SELECT sum(pg_total_relation_size(relid)) FROM (
    SELECT relid FROM named UNION SELECT part.relid FROM named, pg_partition_tree(named.relid) AS part) AS every
"""
# The chunks go first, since readers lock them first.
_DROP = "DROP TABLE IF EXISTS {}"
_RENAME = "UPDATE kinsplit.collections SET name = %s WHERE id = %s"
# No collection can have this name.
_MOVING = "/"


class PostgresCatalog(EngineCatalog[int]):
    """The collections of a Postgres database, whose changes are transactions.

    Args:
        dsn: Connection string or URL for libpq.

    Raises:
        StoreError: The database can't be reached.
    """

    def __init__(self, dsn: str) -> None:
        self._place: str = place_of(dsn)
        with postgres_errors(self._place):
            self._connection: Connection = connect(dsn)

    def collections(self) -> list[CollectionInfo]:
        """Return the collections; see `Catalog.collections`."""
        with self._reading():
            found = [self._info(name, number) for name, number in sorted(self._names().items())]
        return [info for info in found if info is not None]

    def identity(self, name: str) -> str:
        """Return a text that stands for the collection of a name; see `Catalog.identity`."""
        with self._reading():
            return str(self._own(self._names(), name).key)

    def close(self) -> None:
        """Close the connection. A second call does nothing."""
        self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._connection.closed:
            raise StoreError(f"{self._place} was closed. Open the catalog again.")
        with postgres_errors(self._place):
            yield

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        with self._reading(), self._connection.transaction():
            yield

    @contextmanager
    def _naming(self) -> Iterator[None]:
        with self._dropping():
            if is_set_up(self._place, self._connection):
                self._connection.execute("LOCK TABLE kinsplit.collections IN SHARE ROW EXCLUSIVE MODE")
            yield

    def _names(self) -> Mapping[str, int]:
        return names_in(self._place, self._connection)

    def _stored(self, key: int) -> object:
        row = self._connection.execute("SELECT schema FROM kinsplit.collections WHERE id = %s", [key]).fetchone()
        return row and row[0]

    def _drop(self, found: Named[int]) -> None:
        # Once its writers and the running statements of its readers are done.
        with begin(self._connection, f"{self._place}/{found.name}", (LOCK, found.key)):
            tables = tables_of(self._connection, found.key)
            self._connection.execute(sql.SQL(_DROP).format(sql.SQL(", ").join(names_of(tables))))
            self._connection.execute("DELETE FROM kinsplit.collections WHERE id = %s", [found.key])

    def _rename(self, found: Named[int], new: str) -> None:
        self._connection.execute(_RENAME, [new, found.key])

    def _switch(self, one: Named[int], other: Named[int]) -> None:
        for new, key in ((_MOVING, one.key), (one.name, other.key), (other.name, one.key)):
            self._connection.execute(_RENAME, [new, key])

    def _info(self, name: str, number: int) -> CollectionInfo | None:
        connection = self._connection
        try:
            schema = parse_schema(name, self._stored(number))
        except ForeignCollectionError:
            return None
        except StoreError:
            schema = None
        tables = tables_of(connection, number)
        counts = connection.execute(sql.SQL(_COUNTS).format(chunks=tables.chunks)).fetchone()
        names = [table.as_string(connection) for table in names_of(tables)]
        size = connection.execute(_SIZE, [names]).fetchone()
        documents, chunks = counts or (None, None)
        return CollectionInfo(name, schema, documents, chunks, None if size is None else int(size[0]))

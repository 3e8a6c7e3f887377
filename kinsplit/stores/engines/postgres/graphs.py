"""HNSW indexes of a Postgres collection, one for each layer of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from psycopg import sql

from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.engines.postgres.query import Tables, type_of
from kinsplit.stores.engines.postgres.session import Connection, postgres_errors
from kinsplit.stores.schema import DENSE

#: Key of the advisory lock of a first load, used with a collection's number. It ends with the session.
_LOADING = 0x6B696E6C
#: Largest numbers of dimensions that pgvector indexes, by type.
_DIMENSIONS = {"vector": 2000, "halfvec": 4000}

_CREATE = """
CREATE INDEX IF NOT EXISTS {index} ON {chunks} USING hnsw ({name} {ops}) WITH (m = {m}, ef_construction = {ef})
"""
_SETTING = "SELECT set_config(%s, %s, false)"


class Graphs(NamedTuple):
    """The HNSW indexes of a collection.

    Attributes:
        name: Name of the collection, for errors.
        number: Number of the collection.
        tables: Tables of the collection.
        dimension: Length of the dense vectors.
        made: Options that the collection was made with.
        options: Options of the address.
        connect: Function that opens a connection.
    """

    name: str
    number: int
    tables: Tables
    dimension: int
    made: PostgresOptions
    options: PostgresOptions
    connect: Callable[[], Connection]

    def create(self, connection: Connection) -> None:
        """Create the indexes that are missing, unless vectors are too long for one."""
        if not self._possible:
            return
        if self.options.maintenance_work_mem is not None:
            connection.execute(_SETTING, ["maintenance_work_mem", self.options.maintenance_work_mem])
        if self.options.build_workers is not None:
            connection.execute(_SETTING, ["max_parallel_maintenance_workers", str(self.options.build_workers)])
        for name in DENSE:
            connection.execute(
                sql.SQL(_CREATE).format(
                    index=sql.Identifier(f"{self._chunks}_{name}_idx"),
                    chunks=self.tables.chunks,
                    name=sql.Identifier(name),
                    ops=sql.Identifier(f"{type_of(self.made)}_cosine_ops"),
                    m=sql.Literal(self.made.hnsw_m),
                    ef=sql.Literal(self.made.hnsw_ef_construct),
                )
            )

    def complete(self, connection: Connection) -> None:
        """Create the indexes that an interrupted first load left out; not those that one postpones now."""
        if self._missing(connection) and self._lock(connection):
            self.create(connection)

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Drop the indexes of an empty collection, and create them again when the block ends.

        Until then, searches compare all vectors. If the process dies, its session's lock ends, and whoever opens the
        collection next creates the indexes.
        """
        with postgres_errors(self.name):
            connection = self.connect()
        with closing(connection):
            with postgres_errors(self.name):
                is_first = self._possible and self._is_empty(connection) and self._lock(connection)
                if is_first:
                    for name in DENSE:
                        index = sql.Identifier("kinsplit", f"{self._chunks}_{name}_idx")
                        connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(index))
            try:
                yield
            finally:
                if is_first:
                    with postgres_errors(self.name):
                        self.create(connection)

    @property
    def _chunks(self) -> str:
        return f"chunks_{self.number}"

    @property
    def _possible(self) -> bool:
        return self.dimension <= _DIMENSIONS[type_of(self.made)]

    def _missing(self, connection: Connection) -> bool:
        names = [f"kinsplit.{self._chunks}_{name}_idx" for name in DENSE]
        found = "SELECT count(to_regclass(name)) < %s FROM unnest(%s::text[]) AS name"
        (missing,) = connection.execute(found, [len(names), names]).fetchone() or (False,)
        return self._possible and bool(missing)

    def _is_empty(self, connection: Connection) -> bool:
        text = sql.SQL("SELECT NOT EXISTS (SELECT FROM {})").format(self.tables.chunks)
        (empty,) = connection.execute(text).fetchone() or (False,)
        return bool(empty)

    def _lock(self, connection: Connection) -> bool:
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOADING, self.number]).fetchone()
        return bool(row and row[0])

"""Indexes of a Postgres collection that are built faster at once than row by row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import NamedTuple

from psycopg import OperationalError, sql
from psycopg.errors import Diagnostic, DiskFull, OutOfMemory

from kinsplit.errors import KinsplitWarning
from kinsplit.stores.engines.postgres.options import PostgresOptions
from kinsplit.stores.engines.postgres.query import type_of
from kinsplit.stores.engines.postgres.session import Connection, postgres_errors
from kinsplit.stores.engines.postgres.where import Tables
from kinsplit.stores.schema import DENSE

#: Key of the advisory lock of a first load, used with a collection's number. It ends with the session.
_LOADING = 0x6B696E6C
#: Largest numbers of dimensions that pgvector indexes, by type.
_DIMENSIONS = {"vector": 2000, "halfvec": 4000}

_GRAPH = """
CREATE INDEX IF NOT EXISTS {index} ON {chunks} USING hnsw ({name} {ops}) WITH (m = {m}, ef_construction = {ef})
"""
_FACTS = "CREATE INDEX IF NOT EXISTS {index} ON {chunks} USING gin (facts jsonb_path_ops)"
# The chunks in which a term weighs most come first.
_TERMS = "CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {terms} (field, term, weight DESC, chunk)"
#: Bytes that building a graph takes besides the vectors: for each of a row's links, and for the rest of a row.
_LINK, _ROW = 48, 512
#: Kilobytes that any server has for building an index.
_LEAST = 262_144
_MEMORY = """
SELECT greatest({columns}), (SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'),
    (SELECT setting::bigint * 8 FROM pg_settings WHERE name = 'shared_buffers') FROM {chunks}
"""
_SETTING = "SELECT set_config(%s, %s, false)"


class GraphWarning(KinsplitWarning):
    """An HNSW index does not fit into the memory in which it is built, which takes many times longer."""


class IndexWarning(KinsplitWarning):
    """Opening a collection builds its missing indexes, which takes minutes for a million chunks."""


class Indexes(NamedTuple):
    """The indexes of a collection's vectors, one for each layer of chunks, of its terms, and of all filters.

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

    def complete(self, connection: Connection) -> None:
        """Create the indexes that a new collection lacks, or an interrupted first load left out.

        Those that another first load postpones now are left to it.
        """
        if self._missing(connection) and self._lock(connection):
            if not self._is_empty(connection):
                cause = "its first load was interrupted, and its indexes are built now"
                cost = "which takes minutes for a million chunks"
                warnings.warn(f"{self.name}: {cause}, {cost}.", IndexWarning, stacklevel=2)
            self._create(connection)

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Drop the indexes of an empty collection, and create them again when the block ends.

        Until then, searches read all vectors and terms. If the process dies, its session's lock ends, and whoever opens
        the collection next creates the indexes.
        """
        with postgres_errors(self.name):
            connection = self.connect()
        with closing(connection):
            with postgres_errors(self.name):
                is_first = self._is_empty(connection) and self._lock(connection)
                if is_first:
                    names = [sql.Identifier("kinsplit", name) for name in self._statements()]
                    connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.SQL(", ").join(names)))
            try:
                yield
            finally:
                if is_first:
                    with postgres_errors(self.name):
                        self._end(connection)

    def _end(self, connection: Connection) -> None:
        try:
            self._create(connection)
            # Searches need the statistics at once, and pages marked as visible to all to read terms from their index.
            connection.execute(sql.SQL("VACUUM (ANALYZE) {}, {}").format(self.tables.chunks, self.tables.terms))
        except OperationalError:
            if not connection.closed:
                raise
            # The server ended the session, which was idle during the load, and with it the lock.
            with closing(self.connect()) as another:
                if self._lock(another):
                    self._create(another)

    def _create(self, connection: Connection) -> None:
        """Create the indexes that are missing."""
        needed, granted = self._memory(connection)
        memory = self.options.maintenance_work_mem or f"{granted}kB"
        connection.execute(_SETTING, ["maintenance_work_mem", memory])
        if self.options.build_workers is not None:
            connection.execute(_SETTING, ["max_parallel_maintenance_workers", str(self.options.build_workers)])
        connection.add_notice_handler(partial(self._warn, needed))
        for statement in self._statements().values():
            try:
                connection.execute(statement)
            except (DiskFull, OutOfMemory):
                # Processes need shared memory to build an index together, and Docker gives them 64 MB.
                if self.options.build_workers is not None:
                    raise
                connection.execute(_SETTING, ["max_parallel_maintenance_workers", "0"])
                connection.execute(statement)

    def _memory(self, connection: Connection) -> tuple[int, int]:
        """Return the kilobytes that building the largest graph takes, and those that it gets by default.

        It gets no more than the server has for its buffers.
        """
        size = self.dimension * (2 if self.made.halfvec else 4) + _LINK * self.made.hnsw_m + _ROW
        columns = sql.SQL(", ").join(sql.SQL("count({})").format(sql.Identifier(name)) for name in DENSE)
        text = sql.SQL(_MEMORY).format(columns=columns, chunks=self.tables.chunks)
        rows, allowed, buffers = connection.execute(text).fetchone() or (0, 0, 0)
        needed = rows * size // 1024 + 1024
        return needed, max(allowed, min(needed, max(_LEAST, buffers)))

    def _statements(self) -> dict[str, sql.Composed]:
        """Return the statements that create the indexes, by the indexes' names; vectors may be too long for one."""
        statements: dict[str, sql.Composed] = {}
        if self.tables.sizes is not None:  # Older collections have others, which are not postponed.
            facts, terms = f"chunks_{self.number}_facts_idx", f"terms_{self.number}_weights_idx"
            statements[facts] = sql.SQL(_FACTS).format(index=sql.Identifier(facts), chunks=self.tables.chunks)
            statements[terms] = sql.SQL(_TERMS).format(index=sql.Identifier(terms), terms=self.tables.terms)
        for name in DENSE if self.dimension <= _DIMENSIONS[type_of(self.made)] else ():
            index = f"chunks_{self.number}_{name}_idx"
            statements[index] = sql.SQL(_GRAPH).format(
                index=sql.Identifier(index),
                chunks=self.tables.chunks,
                name=sql.Identifier(name),
                ops=sql.Identifier(f"{type_of(self.made)}_cosine_ops"),
                m=sql.Literal(self.made.hnsw_m),
                ef=sql.Literal(self.made.hnsw_ef_construct),
            )
        return statements

    def _warn(self, needed: int, notice: Diagnostic) -> None:
        if "maintenance_work_mem" in (message := notice.message_primary or ""):
            remedy = f"Give the address as much as it takes: ?maintenance_work_mem={math.ceil(needed / 1024)}MB"
            warnings.warn(f"{self.name}: {message}. {remedy}.", GraphWarning, stacklevel=2)

    def _missing(self, connection: Connection) -> bool:
        names = [f"kinsplit.{name}" for name in self._statements()]
        found = "SELECT count(to_regclass(name)) < %s FROM unnest(%s::text[]) AS name"
        (missing,) = connection.execute(found, [len(names), names]).fetchone() or (False,)
        return bool(missing)

    def _is_empty(self, connection: Connection) -> bool:
        text = sql.SQL("SELECT NOT EXISTS (SELECT FROM {})").format(self.tables.chunks)
        (empty,) = connection.execute(text).fetchone() or (False,)
        return bool(empty)

    def _lock(self, connection: Connection) -> bool:
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOADING, self.number]).fetchone()
        return bool(row and row[0])

"""Indexes of a Postgres collection that are built faster at once than row by row."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
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
from kinsplit.stores.values import DENSE, LAYERS

#: Key of the advisory lock of a first load, used with a collection's number. It ends with the session.
_LOADING = 0x6B696E6C
#: Largest numbers of dimensions that pgvector indexes, by type.
_DIMENSIONS = {"vector": 2000, "halfvec": 4000}

_GRAPH = """
CREATE INDEX IF NOT EXISTS {index} ON {chunks} USING hnsw ({name} {ops}) WITH (m = {m}, ef_construction = {ef})
"""
_LISTS = """
DROP INDEX IF EXISTS {schema}.{index};
CREATE INDEX {index} ON {chunks} USING ivfflat ({name} {ops}) WITH (lists = {lists})
"""
#: Smallest number of vectors that get lists; fewer are all compared.
_FEWEST = 10_000
#: Number of lists from which there are only as many as the square root of the number of vectors, as pgvector advises,
#: since the memory for building them grows with their square; below, there are up to twice as many. Of 50,000 vectors
#: of the scale benchmark, a tenth of 50 lists has 89 % of the ten nearest, and a tenth of 450 lists 98 %; of a million,
#: a twelfth of 1,069 lists 98.4 %, and a twelfth of 2,138 lists 98.8 %.
_LISTS_AT_MOST = 2500
#: Lists are made anew if there should be more than so many times as many: it has over four times as many chunks.
_GROWTH = 2
#: Vectors per list, and in all, from which pgvector finds the centres of the lists.
_SAMPLES, _LEAST_SAMPLES = 50, 10_000
_COUNT = "SELECT coalesce(sum(chunks), 0)::bigint FROM {sizes} WHERE level BETWEEN %s AND %s"
_EXISTING = """
SELECT relname, substring(array_to_string(reloptions, ',') FROM 'lists=([0-9]+)')::int FROM pg_class
    WHERE relnamespace = 'kinsplit'::regnamespace AND relname = ANY(%s)
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
    """The indexes of a collection's vectors, one for each layer of chunks, of its terms, and of all filters."""

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
        if (lacking := self._lacking(connection)) and self._lock(connection):
            if not self._is_empty(connection):
                # A first load leaves out all indexes, and a small collection only those of its lists.
                grown = self.made.dense_index == "ivfflat" and not lacking.keys() & self._others().keys()
                cause = "it has grown" if grown else "its first load was interrupted"
                text = f"{self.name}: {cause}, and its indexes are built now, which takes minutes for a million chunks."
                warnings.warn(text, IndexWarning, stacklevel=2)
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
                    names = [sql.Identifier("kinsplit", name) for name in (*self._others(), *self._dense().values())]
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
        for statement in self._lacking(connection).values():
            try:
                connection.execute(statement)
            except (DiskFull, OutOfMemory):
                # Processes need shared memory to build an index together, and Docker gives them 64 MB.
                if self.options.build_workers is not None:
                    raise
                connection.execute(_SETTING, ["max_parallel_maintenance_workers", "0"])
                connection.execute(statement)

    def _memory(self, connection: Connection) -> tuple[int, int]:
        """Return the kilobytes that building the largest index of vectors takes, and those that it gets by default.

        A graph gets no more than the server has for its buffers; lists can't be built with less than they take.
        """
        size = self.dimension * (2 if self.made.halfvec else 4)
        columns = sql.SQL(", ").join(sql.SQL("count({})").format(sql.Identifier(name)) for name in DENSE)
        text = sql.SQL(_MEMORY).format(columns=columns, chunks=self.tables.chunks)
        rows, allowed, buffers = connection.execute(text).fetchone() or (0, 0, 0)
        if self.made.dense_index == "hnsw":
            needed = rows * (size + _LINK * self.made.hnsw_m + _ROW) // 1024 + 1024
            return needed, max(allowed, min(needed, max(_LEAST, buffers)))
        # Of pgvector's k-means: the sampled vectors, their distances from each centre, and those between centres.
        lists = self._lists(rows)
        samples = max(lists * _SAMPLES, _LEAST_SAMPLES)
        needed = ((samples + 3 * lists) * size + 4 * lists * (samples + lists)) * 5 // 4096 + 1024
        return needed, max(allowed, needed)

    def _dense(self) -> dict[str, str]:
        """Return the names of the vectors' indexes, by the vectors' names; vectors may be too long for one."""
        names = DENSE if self.dimension <= _DIMENSIONS[type_of(self.made)] else ()
        return {name: f"chunks_{self.number}_{name}_idx" for name in names}

    def _others(self) -> dict[str, sql.Composed]:
        """Return the statements that create the indexes of filters and terms, by the indexes' names."""
        facts, terms = f"chunks_{self.number}_facts_idx", f"terms_{self.number}_weights_idx"
        return {
            facts: sql.SQL(_FACTS).format(index=sql.Identifier(facts), chunks=self.tables.chunks),
            terms: sql.SQL(_TERMS).format(index=sql.Identifier(terms), terms=self.tables.terms),
        }

    def _lacking(self, connection: Connection) -> dict[str, sql.Composed]:
        """Return the statements that create the indexes that are missing or have too few lists, by their names."""
        existing = self._existing(connection)
        found = {name: statement for name, statement in self._others().items() if name not in existing}
        for name, index in self._dense().items():
            if self.made.dense_index == "hnsw":
                if index not in existing:
                    options = {"m": self.made.hnsw_m, "ef": self.made.hnsw_ef_construct}
                    found[index] = self._statement(_GRAPH, name, index, options)
            elif (rows := self._count(connection, name)) >= _FEWEST:
                lists = self._lists(rows)
                if lists > _GROWTH * (existing.get(index) or 0):
                    found[index] = self._statement(_LISTS, name, index, {"lists": lists})
        return found

    def _statement(self, text: str, name: str, index: str, options: Mapping[str, int]) -> sql.Composed:
        return sql.SQL(text).format(
            schema=sql.Identifier("kinsplit"),
            index=sql.Identifier(index),
            chunks=self.tables.chunks,
            name=sql.Identifier(name),
            ops=sql.Identifier(f"{type_of(self.made)}_cosine_ops"),
            **options,
        )

    def _lists(self, rows: int) -> int:
        """Return the number of lists of so many vectors, in each partition."""
        return list_count(rows // (self.made.partitions if self.made.partition_by else 1))

    def _count(self, connection: Connection, name: str) -> int:
        """Return the number of vectors of a name."""
        levels = next(layer.levels for layer in LAYERS if layer.dense == name)
        text = sql.SQL(_COUNT).format(sizes=self.tables.sizes)
        (count,) = connection.execute(text, [levels[0], levels[-1]]).fetchone() or (0,)
        return int(count)

    def _existing(self, connection: Connection) -> dict[str, int | None]:
        """Return the number of lists of each index that exists; None for other indexes."""
        names = [*self._others(), *self._dense().values()]
        return dict(connection.execute(_EXISTING, [names]).fetchall())

    def _warn(self, needed: int, notice: Diagnostic) -> None:
        if "maintenance_work_mem" in (message := notice.message_primary or ""):
            remedy = f"Give the address as much as it takes: ?maintenance_work_mem={math.ceil(needed / 1024)}MB"
            warnings.warn(f"{self.name}: {message}. {remedy}.", GraphWarning, stacklevel=2)

    def _is_empty(self, connection: Connection) -> bool:
        text = sql.SQL("SELECT NOT EXISTS (SELECT FROM {})").format(self.tables.chunks)
        (empty,) = connection.execute(text).fetchone() or (False,)
        return bool(empty)

    def _lock(self, connection: Connection) -> bool:
        row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOADING, self.number]).fetchone()
        return bool(row and row[0])


def list_count(rows: int) -> int:
    """Return the number of lists of so many vectors."""
    root = math.isqrt(rows)
    return max(1, root, min(_LISTS_AT_MOST, 2 * root))

"""An open shard of Qdrant Edge, shared by all store objects of its folder in this process."""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as qe

from kinsplit.chunk import Chunk
from kinsplit.errors import DiskFullError, StoreError
from kinsplit.stores.engines.arrays import PointArrays
from kinsplit.stores.engines.edge import folder
from kinsplit.stores.engines.edge.cache import EVERY, ArrayCopy, PointCache
from kinsplit.stores.engines.edge.indexes import KeyIndexes, add_indexes
from kinsplit.stores.engines.edge.ledger import Ledger, LedgerMark, digest, encode_payload, sketch
from kinsplit.stores.engines.edge.points import to_filter, to_point
from kinsplit.stores.engines.qdrant.payload import places_of, to_vectors, unwrapped, wrapped
from kinsplit.stores.filters import Condition, OneOf
from kinsplit.stores.payload import ENTRY_KEYS, Payload, from_payload, to_entry
from kinsplit.stores.plan import Inventory, Plan, content_of
from kinsplit.stores.store import batches
from kinsplit.stores.values import DENSE, SPARSE, Embedded, Entry, Schema, Vectors

# Bytes that are read by one call, during which other threads run.
_STEP = 2**26
#: Least bytes of a shard's segments; less is read quickly when it is needed.
_LEAST = 100_000_000
#: Largest share of the available memory that the segments may take.
_SHARE = 0.5
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB", re.MULTILINE)


class ReadAhead:
    """A thread that has the system read a shard's segments.

    The engine drops what it has written from the system's cache, and a search reads some 200 payloads, each on another
    page. From the disk, that takes longer than all the rest. Segments that are small, or larger than half of the
    available memory, are not read, and none are on systems other than Linux.
    """

    def __init__(self, path: Path) -> None:
        self._folder, self._stopped = path, threading.Event()
        # A daemon, since nothing is lost if the process ends.
        self._thread = threading.Thread(target=self._run, name="kinsplit-read-ahead", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End after the current call."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        # The engine may replace files meanwhile.
        with suppress(OSError):
            if _LEAST <= folder.size_on_disk(self._folder) <= _SHARE * _available():
                with Path(os.devnull).open("wb") as nowhere:
                    for path in self._folder.rglob("*"):
                        if path.is_file():
                            self._read(path, nowhere.fileno())

    def _read(self, path: Path, nowhere: int) -> None:
        with suppress(OSError), path.open("rb") as file:
            for start in range(0, path.stat().st_size, _STEP):
                if self._stopped.is_set():
                    return
                # Neither copies anything nor keeps the interpreter's lock.
                os.sendfile(nowhere, file.fileno(), start, _STEP)


def _available() -> int:
    """Return the bytes of memory that the system can give away; 0 where it doesn't tell."""
    found = _AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii", errors="replace"))
    return 1024 * int(found[1]) if found else 0


#: More points than a shard holds, so that a scroll or a facet returns everything at once.
ALL = 2**31
#: Largest numbers of cached entries, 1 kB each, and of cached chunks, 5 kB each.
_MOST_ENTRIES, _MOST_CHUNKS = 50_000, 2_000
#: Points per write or read.
_BATCH = 500
#: Points that are read at once for a copy; the engine keeps the interpreter's lock meanwhile.
_COPIED_AT_ONCE = 100
#: Largest size of a payload index on disk, in bytes.
_INDEX_BYTES = 8_000_000
#: Seconds between flushes, as in Qdrant's server. The log survives a crash of the process; only a flush survives a
#: power failure, and it can wait for the disk ten times as long as the writes take.
_SETTLE_SECONDS = 5.0
#: Multiple of a slow flush's duration that passes until the next, so that writes don't wait for the disk, and of an
#: optimization's, so that it takes a tenth of the time of a large load.
_SETTLE_SHARE, _OPTIMIZE_SHARE = 50, 10
#: New points, those of some 95,000 chunks, after which an optimization waits no longer. The segment that they are in
#: takes more memory and slower writes the larger it is, and moving them takes 0.1 ms each, also when the engine closes.
_MOST_NEW = 150_000


class EdgeEngine:
    """A shard with its ledger. Thread-safe.

    Attributes:
        entries: Entries of ranked points by the numbers of their ids, which take less time than texts.
        chunks: Chunks that searches show, by id.
        arrays: Copy of the points in memory, if they are few.
        writing: Lock of the writers.
    """

    def __init__(self, path: Path, schema: Schema | None) -> None:
        self.folder = path
        self.schema, self.shard = folder.open_folder(path, schema)
        self.entries = PointCache[int, Entry](to_entry, _MOST_ENTRIES)
        self.chunks = PointCache[str, Chunk](from_payload, _MOST_CHUNKS)
        self.arrays = ArrayCopy(self.schema.dimension)
        self.writing = threading.RLock()
        self._indexes = KeyIndexes()
        self._ledger: Ledger | None = None
        self._settled = True
        self._settle_at = time.monotonic() + _SETTLE_SECONDS
        self._optimize_at = 0.0
        # Number of points written since the last optimization.
        self._new = 0
        # Number of running calls; the engine is closed only when there are none.
        self._inside = 0
        self._left = threading.Condition()
        self._closed = False
        self._read_ahead = ReadAhead(path / folder.SHARD / "segments")
        self._read_ahead.start()

    @contextmanager
    def calling(self) -> Iterator[qe.EdgeShard]:
        """Yield the shard, and turn its errors into one-line errors."""
        with self._left:
            if self._closed:
                raise StoreError(f"{self.folder} was closed. Open the store again.")
            self._inside += 1
        try:
            with folder.edge_errors(self.folder):
                yield self.shard
        finally:
            with self._left:
                self._inside -= 1
                self._left.notify_all()

    def write(self, plan: Plan, vectors: Embedded) -> None:
        """Carry out a plan; the caller holds `writing`."""
        marks, size = self._marks(plan, vectors)
        folder.check_write(self.folder, size)
        ledger = self._open_ledger()
        ledger.begin(plan)
        with self.calling() as shard:
            self._settled = False
            try:
                for batch in batches(plan.upserts, _BATCH):
                    points = [to_point(id_, payload, vectors[content_of(payload)]) for id_, payload in batch]
                    shard.update(qe.UpdateOperation.upsert_points(points))
                for id_, payload in plan.payloads:
                    shard.update(qe.UpdateOperation.overwrite_payload([id_], wrapped(payload)))
                if plan.deletes:
                    shard.update(qe.UpdateOperation.delete_points(list(plan.deletes)))
            finally:
                self.entries.forget(UUID(id_).int for id_ in plan.ids)
                self.chunks.forget(plan.ids)
                self.arrays.forget()
                self._indexes.written()
            ledger.end(marks, plan.departures.items(), plan.inventory)
            self._add_indexes(shard)
            self._new += len(plan.upserts)
            if self._new >= _MOST_NEW:
                self._settle_at = self._optimize_at = 0.0
            if time.monotonic() >= self._settle_at:
                self._settle(shard)

    def _add_indexes(self, shard: qe.EdgeShard) -> None:
        """Create kinsplit's own payload indexes once the collection is large enough, unless the disk is full."""
        if lacking := self._indexes.lacking(shard):
            with suppress(DiskFullError):
                folder.check_write(self.folder, _INDEX_BYTES * len(lacking))
                add_indexes(shard, lacking)

    def prepare(self, conditions: Sequence[Condition]) -> None:
        """Create payload indexes for the filtered keys, unless a write is in progress or the disk is full.

        Without them, filters give the same results, only slower.
        """
        wanted = self._indexes.missing(conditions)
        if not wanted or not self.writing.acquire(blocking=False):
            return
        try:
            with suppress(DiskFullError):
                folder.check_write(self.folder, _INDEX_BYTES * len(wanted))
                with self.calling() as shard:
                    if self._indexes.make(shard, wanted):
                        self._settled = False
        finally:
            self.writing.release()

    def _marks(self, plan: Plan, vectors: Embedded) -> tuple[dict[str, LedgerMark], int]:
        """Return the ledger's marks of the points that a plan writes, and their total size in bytes."""
        marks: dict[str, LedgerMark] = {}
        size = 0
        for id_, payload in plan.upserts:
            encoded, given = encode_payload(payload), vectors[content_of(payload)]
            marks[id_] = _mark(payload, encoded, sketch(given))
            size += len(encoded) + 4 * self.schema.dimension + 8 * len(given.sparse.indices if given.sparse else ())
        # These points keep their vectors; unknown ones are read.
        kept = [(id_, plan.moves.get(id_, payload["source_id"])) for id_, payload in plan.payloads]
        known = {id_: mark.vectors for id_, mark in (self._open_ledger().marks(kept) if kept else {}).items()}
        unknown = [id_ for id_, _ in kept if id_ not in known]
        known |= {id_: sketch(found) for id_, found in self.vectors(unknown).items()}
        for id_, payload in plan.payloads:
            encoded = encode_payload(payload)
            marks[id_] = _mark(payload, encoded, known.get(id_, 0.0))
            size += len(encoded)
        return marks, size

    def _open_ledger(self) -> Ledger:
        """Return the ledger after resolving pending points; the caller holds `writing`."""
        if self._ledger is None:
            self._ledger = Ledger(self.folder / folder.LEDGER_FILE)
        if pending := self._ledger.pending():
            points = self.points(list(dict(pending)))
            written = {id_: _mark(p, encode_payload(p), sketch(vectors)) for id_, (p, vectors) in points.items()}
            # Those that were deleted, or given to another document. The others are written again.
            self._ledger.end(written, pending)
        return self._ledger

    def payloads(self, ids: Sequence[str], keys: bool | list[str] = True) -> dict[str, Payload]:
        """Return the payloads of points, or some of their keys, by id, without points that are not stored."""
        with self.calling() as shard:
            return read(shard, keys, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of points by id, without those that are not stored."""
        return {str(record.id): to_vectors(record.vector) for record in self._records(ids, False)}

    def points(self, ids: Sequence[str]) -> dict[str, tuple[Payload, Vectors]]:
        """Return the payloads and vectors of points by id, without those that are not stored."""
        records = self._records(ids, True)
        return {str(record.id): (unwrapped(record.payload), to_vectors(record.vector)) for record in records}

    def _records(
        self, ids: Sequence[str], keys: bool | list[str], names: Sequence[str] = (*DENSE, *SPARSE)
    ) -> Iterator[qe.Record]:
        for batch in batches(ids, _BATCH):
            with self.calling() as shard:
                records = shard.retrieve(list(batch), keys, list(names))
            yield from records

    def find_arrays(self) -> Mapping[int, PointArrays]:
        """Return the copies of points by level for one call; the shard answers queries for other levels."""
        # Neither the copy nor its thread keeps the engine, which would keep its lock after its last use.
        return self.arrays.find(self._count, partial(_read_all, weakref.ref(self)))

    def _count(self, levels: range) -> int:
        with self.calling() as shard:
            return shard.count(qe.CountRequest(filter=_within(levels)))

    def _ids(self, levels: range) -> list[str]:
        wanted = _within(levels)
        with self.calling() as shard:
            found, _ = shard.scroll(qe.ScrollRequest(limit=ALL, filter=wanted, with_payload=False, with_vector=False))
        return [str(record.id) for record in found]

    def acknowledged(self) -> tuple[dict[str, dict[str, LedgerMark]], bool]:
        """Return the marks of all points by source and by id, and whether every point must have one."""
        if self._lacks_ledger:
            return {}, False
        ledger = self._open_ledger()
        return ledger.sources(), ledger.is_whole

    def inventories(self, source_ids: Iterable[str]) -> list[Inventory]:
        """Return the inventories of documents, without those that were not whole after their last write."""
        with self.writing:
            return [] if self._lacks_ledger else self._open_ledger().inventories(source_ids)

    @property
    def _lacks_ledger(self) -> bool:
        """Whether there is no ledger, as after somebody deleted a damaged one; the next write starts another."""
        return self._ledger is None and not (self.folder / folder.LEDGER_FILE).is_file()

    def settle(self) -> None:
        """Flush pending writes to disk."""
        with self.writing, folder.edge_errors(self.folder):
            if not self._settled:
                self._settle(self.shard)

    def _settle(self, shard: qe.EdgeShard) -> None:
        self._settled = time.monotonic() >= self._optimize_at
        if self._settled:
            self._optimize(shard)
        begun = time.monotonic()
        # Also deletes replaced segments.
        shard.flush()
        now = time.monotonic()
        self._settle_at = now + max(_SETTLE_SECONDS, _SETTLE_SHARE * (now - begun))

    def _optimize(self, shard: qe.EdgeShard) -> None:
        """Move points into read-only segments and remove deleted ones, once there are enough, and room for it."""
        begun = time.monotonic()
        if folder.can_optimize(self.folder, self.folder / folder.SHARD):
            shard.optimize()
        self._new = 0
        now = time.monotonic()
        self._optimize_at = now + _OPTIMIZE_SHARE * (now - begun)

    def close(self) -> None:
        """Write everything to disk and unlock the folder after waiting for other threads' calls."""
        with self.writing:
            with self._left:
                self._closed = True
                self._left.wait_for(lambda: not self._inside)
            self._optimize_at = 0.0
            self._read_ahead.stop()
            try:
                self.settle()
            finally:
                with folder.edge_errors(self.folder):
                    self.shard.close()
                if self._ledger is not None:
                    self._ledger.close()


def read(shard: qe.EdgeShard, keys: bool | list[str], ids: Sequence[str]) -> dict[str, Payload]:
    """Return the payloads of points, or some of their keys, by id, without points that are not stored."""
    return {str(record.id): unwrapped(record.payload) for record in shard.retrieve(list(ids), keys, False)}


def _within(levels: range) -> qe.Filter | None:
    """Return the filter of some levels."""
    return None if levels == EVERY else to_filter([OneOf("level", integers=tuple(levels))])


def _read_all(engine: weakref.ref[EdgeEngine], levels: range) -> Iterator[tuple[Entry, Vectors]]:
    """Yield the entries of the points of some levels with their vectors, as long as the engine is in use.

    Dense vectors come with leaves alone: those of many parents, which weigh nothing by default, aren't copied.
    """
    names = (*DENSE, *SPARSE) if 0 in levels else SPARSE
    # Entries share their equal values: ids of siblings, and names and titles of documents.
    shared: dict[Any, Any] = {}
    found = engine()
    for batch in batches(found._ids(levels) if found else (), _COPIED_AT_ONCE):
        found = engine()
        records = list(found._records(batch, places_of(ENTRY_KEYS), names)) if found else []
        found = None  # An engine that nobody closed is let go of by its last user.
        for record in records:
            entry = to_entry(str(record.id), unwrapped(record.payload))
            values = (shared.setdefault(each, each) if isinstance(each, str | tuple) else each for each in entry)
            yield Entry._make(values), to_vectors(record.vector)


def _mark(payload: Payload, encoded: bytes, vectors: float) -> LedgerMark:
    return LedgerMark(payload["source_id"], payload["level"], payload["chunk_index"], digest(encoded), vectors)

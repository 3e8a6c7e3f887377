"""One open shard of Qdrant Edge, used by all store objects of its folder in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.chunk import Content
from kinsplit.errors import DiskFullError, StoreError
from kinsplit.stores.engines.edge.disk_space import can_optimize, check_write
from kinsplit.stores.engines.edge.folder import LEDGER_FILE, SHARD, edge_errors, open_folder
from kinsplit.stores.engines.edge.indexes import KeyIndexes
from kinsplit.stores.engines.edge.ledger import Ledger, Mark, digest, encode_payload, sketch
from kinsplit.stores.engines.edge.points import to_point, to_vectors
from kinsplit.stores.engines.qdrant.payload import unwrapped, wrapped
from kinsplit.stores.filters import Condition
from kinsplit.stores.logic import batches
from kinsplit.stores.payload import Payload
from kinsplit.stores.plan import Plan, content_of
from kinsplit.stores.protocol import Schema, Vectors
from kinsplit.stores.schema import DENSE, SPARSE

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard


#: Payloads to keep, those that were read last; 1.2 kB each.
_MOST = 20_000


class Places:
    """Some keys of the payloads of points that were found before, until the points are written. Safe for threads."""

    def __init__(self) -> None:
        self._kept: dict[str, Payload] = {}
        self._writes = 0
        self._lock = threading.Lock()

    def read(self, ids: Iterable[str], fetch: Callable[[list[str]], Mapping[str, Payload]]) -> dict[str, Payload]:
        """Return what is kept by id, and what `fetch` returns of the others; points may be missing there.

        Args:
            ids: Of the points.
            fetch: Reads points, always the same keys of them.
        """
        wanted = dict.fromkeys(ids)
        with self._lock:
            writes, kept = self._writes, self._kept
            found = {id_: kept[id_] for id_ in wanted if id_ in kept}
        missing = [id_ for id_ in wanted if id_ not in found]
        if missing:
            fetched = fetch(missing)
            found.update(fetched)
            with self._lock:
                # What was written meanwhile may have been read before.
                if writes == self._writes:
                    kept.update(fetched)
                    for id_ in list(islice(kept, max(0, len(kept) - _MOST))):
                        del kept[id_]
        return found

    def forget(self, ids: Iterable[str]) -> None:
        """Let go of points, once they have been written."""
        with self._lock:
            self._writes += 1
            for id_ in ids:
                self._kept.pop(id_, None)


#: Points per write or read of vectors.
_BATCH = 500
#: Most bytes of a payload index on disk.
_INDEX_BYTES = 8_000_000
#: Seconds from one flush to the next, as in Qdrant's server. The log alone survives the end of the process; a flush
#: survives the end of the machine's power, and can wait for the disk ten times as long as the writes take.
_SETTLE_SECONDS = 5.0
#: Where a flush takes long, so many times its own duration pass until the next, so that writing doesn't wait for disks.
_SETTLE_SHARE = 50


class EdgeEngine:
    """A shard with its ledger. Safe for threads.

    Args:
        folder: The collection's folder.
        schema: To create it with, where it isn't there.

    Attributes:
        folder: The collection's folder.
        schema: What the collection was made with.
        shard: The open shard.
        places: What rankings have read.
        writing: Held by a writer.
    """

    def __init__(self, folder: Path, schema: Schema | None) -> None:
        self.folder = folder
        self.schema, self.shard = open_folder(folder, schema)
        self.places = Places()
        self.writing = threading.RLock()
        self._indexes = KeyIndexes()
        self._ledger: Ledger | None = None
        self._settled = True
        self._settle_at = time.monotonic() + _SETTLE_SECONDS
        # Calls inside the engine, which can't be closed under them.
        self._inside = 0
        self._left = threading.Condition()
        self._closed = False

    @contextmanager
    def calling(self) -> Iterator[EdgeShard]:
        """Give the shard, and turn what it raises into one line."""
        with self._left:
            if self._closed:
                raise StoreError(f"{self.folder} was closed. Open the store again.")
            self._inside += 1
        try:
            with edge_errors(self.folder):
                yield self.shard
        finally:
            with self._left:
                self._inside -= 1
                self._left.notify_all()

    def write(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> None:
        """Carry out a plan; the caller holds `writing`."""
        import qdrant_edge as qe

        marks, size = self._marks(plan, vectors)
        check_write(self.folder, size)
        ledger = self._open_ledger()
        ledger.begin(plan.ids)
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
                self.places.forget(plan.ids)
                self._indexes.written()
            ledger.end(marks, plan.deletes)
            if time.monotonic() >= self._settle_at:
                self._settle(shard)

    def prepare(self, conditions: Sequence[Condition]) -> None:
        """Make payload indexes for what is to be filtered by, unless somebody writes or the disk is full.

        Without them everything is found too, but slowly.
        """
        wanted = self._indexes.missing(conditions)
        if not wanted or not self.writing.acquire(blocking=False):
            return
        try:
            with suppress(DiskFullError):
                check_write(self.folder, _INDEX_BYTES * len(wanted))
                with self.calling() as shard:
                    if self._indexes.make(shard, wanted):
                        self._settled = False
        finally:
            self.writing.release()

    def _marks(self, plan: Plan, vectors: Mapping[Content, Vectors]) -> tuple[dict[str, Mark], int]:
        """Return what the ledger is to know of the points that a plan writes, and their size in bytes."""
        marks: dict[str, Mark] = {}
        size = 0
        for id_, payload in plan.upserts:
            encoded, given = encode_payload(payload), vectors[content_of(payload)]
            marks[id_] = _mark(payload, encoded, sketch(given))
            size += len(encoded) + 4 * self.schema.dimension + 8 * len(given.sparse.indices if given.sparse else ())
        # Their vectors stay; where those are not known, they are read.
        ids = [id_ for id_, _ in plan.payloads]
        known = {id_: mark.vectors for id_, mark in (self._open_ledger().marks(ids) if ids else {}).items()}
        known |= {id_: sketch(found) for id_, found in self.vectors([i for i in ids if i not in known]).items()}
        for id_, payload in plan.payloads:
            encoded = encode_payload(payload)
            marks[id_] = _mark(payload, encoded, known.get(id_, 0.0))
            size += len(encoded)
        return marks, size

    def _open_ledger(self) -> Ledger:
        """Return the ledger, in which nothing is pending any more; the caller holds `writing`."""
        if self._ledger is None:
            self._ledger = Ledger(self.folder / LEDGER_FILE)
        if pending := self._ledger.pending():
            payloads, vectors = self.payloads(pending), self.vectors(pending)
            written = {
                id_: _mark(payload, encode_payload(payload), sketch(vectors[id_])) for id_, payload in payloads.items()
            }
            self._ledger.end(written, [id_ for id_ in pending if id_ not in written])
        return self._ledger

    def payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        """Return the payloads of the points among some ids that are stored, by id."""
        with self.calling() as shard:
            return read(shard, True, ids)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the points among some ids that are stored, by id."""
        vectors: dict[str, Vectors] = {}
        for batch in batches(ids, _BATCH):
            with self.calling() as shard:
                records = shard.retrieve(list(batch), False, [*DENSE, *SPARSE])
            vectors.update((str(record.id), to_vectors(record)) for record in records)
        return vectors

    def acknowledged(self) -> tuple[dict[str, dict[str, Mark]], bool]:
        """Return the marks of all points by source and by id, and whether every point must have one."""
        if self._ledger is None and not (self.folder / LEDGER_FILE).is_file():
            # The collection was made before there were ledgers; the next write begins one.
            return {}, False
        ledger = self._open_ledger()
        return ledger.sources(), ledger.is_whole

    def settle(self) -> None:
        """Write to disk what isn't there yet."""
        with self.writing, edge_errors(self.folder):
            if not self._settled:
                self._settle(self.shard)

    def _settle(self, shard: EdgeShard) -> None:
        begun = time.monotonic()
        # Nothing to do most of the time; clears away deleted points once they are a fifth of all. Where there is no
        # room for that it can wait.
        if can_optimize(self.folder, self.folder / SHARD):
            shard.optimize()
        # Also deletes the segments that were replaced.
        shard.flush()
        self._settled = True
        now = time.monotonic()
        self._settle_at = now + max(_SETTLE_SECONDS, _SETTLE_SHARE * (now - begun))

    def close(self) -> None:
        """Write everything to disk and unlock the folder, once other threads' calls are done."""
        with self.writing:
            with self._left:
                self._closed = True
                self._left.wait_for(lambda: not self._inside)
            try:
                self.settle()
            finally:
                with edge_errors(self.folder):
                    self.shard.close()
                if self._ledger is not None:
                    self._ledger.close()


def read(shard: EdgeShard, keys: bool | list[str], ids: Sequence[str]) -> dict[str, Payload]:
    """Return the payloads, or some of their keys, of the points among some ids that are stored, by id."""
    return {str(record.id): unwrapped(record.payload) for record in shard.retrieve(list(ids), keys, False)}


def _mark(payload: Payload, encoded: bytes, vectors: float) -> Mark:
    return Mark(payload["source_id"], payload["level"], payload["chunk_index"], digest(encoded), vectors)

"""Folder of a Qdrant Edge collection: created atomically, renamed, and opened by one process at a time.

Checks for free disk space before Qdrant Edge needs it. Edge maps sparse files into memory. On a full disk, writing into
a hole kills the process with SIGBUS and no message; on tmpfs, so does reading one.

A folder can take another name in one step, but two folders can't exchange their names in one. Therefore the exchange is
written down first, and whoever opens a collection afterwards completes it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import qdrant_edge as qe

from kinsplit.errors import DiskFullError, KinsplitError, LockWarning, StoreError, StoreLockedError
from kinsplit.stores.engines.edge.indexes import SOURCES, add_indexes
from kinsplit.stores.engines.edge.ledger import Ledger
from kinsplit.stores.schema import check_collection, check_schema, parse_schema, schema_to_create
from kinsplit.stores.values import DENSE, SPARSE, Schema

_MB = 1_000_000
#: Kept free for files that grow by pages, for the log, and for concurrent writes of other programs.
_RESERVE = 16 * _MB
#: Kept free for deletions and for opening, so that a full disk can be cleared.
_LEAST = _MB
#: Bytes of a new shard, and of one that is no longer small, on file systems that fill holes when they are read.
_NEW_SHARD, _FILLED_SHARD = 20 * _MB, 80 * _MB
#: Size up to which vectors and payloads are read page by page, that of some 2,000 chunks. Their files consist of holes
#: then, which would otherwise fill 100 MB of memory at each opening.
_SMALL = 4 * _MB
#: A point is stored in the log and in its segment, which rounds up.
_COPIES = 3


def check_creation(folder: Path) -> None:
    """Check that there is room to create a shard in a folder, or raise DiskFullError."""
    _check(folder, _RESERVE + _NEW_SHARD * _fills_holes(folder), "make a collection")


def check_opening(folder: Path, shard: Path) -> None:
    """Check that there is room to open a shard, or raise DiskFullError: opening one that isn't small reads vectors."""
    fills = _fills_holes(folder) and not is_small(shard)
    files = shard.glob("segments/*/*/vectors/*.mmap") if fills else ()
    holes = sum(max(0, path.stat().st_size - _allocated(path)) for path in files)
    _check(folder, _LEAST + holes, "open the collection")


def check_write(folder: Path, added: int) -> None:
    """Check that there is room to write points of so many bytes, or to delete some, or raise DiskFullError."""
    _check(folder, _RESERVE + _COPIES * added if added else _LEAST, "write into the collection")


def can_optimize(folder: Path, shard: Path) -> bool:
    """Return whether there is room to rewrite the segments next to the old ones."""
    needed = _RESERVE + size_on_disk(shard / "segments")
    return _free(folder) >= needed + (_FILLED_SHARD if _fills_holes(folder) else 0)


def size_on_disk(folder: Path) -> int:
    """Return the number of bytes that the files of a folder take, without their holes."""
    return sum(_allocated(path) for path in folder.rglob("*") if path.is_file())


def _check(folder: Path, needed: int, action: str) -> None:
    free = _free(folder)
    if free < needed:
        raise DiskFullError(str(folder), action, needed, free)


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def is_small(shard: Path) -> bool:
    """Return whether the vectors and payloads of a shard are few."""
    kinds = ("*/vectors/*.mmap", "payload_storage/*.dat")
    return sum(_allocated(file) for kind in kinds for file in shard.glob(f"segments/*/{kind}")) < _SMALL


def _allocated(path: Path) -> int:
    """Return the number of bytes that a file takes, without its holes."""
    found = path.stat()
    # Windows reports no blocks, and Edge's files have no holes there.
    return getattr(found, "st_blocks", found.st_size // 512) * 512


def _fills_holes(folder: Path) -> bool:
    """Return whether a folder is on tmpfs, which fills holes when they are read."""
    device = folder.stat().st_dev
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        if fields.split()[2] == number:
            return kind.startswith("tmpfs ")
    return False


SCHEMA_FILE = "kinsplit.json"
SHARD = "shard"
# Locked by the engine while a shard is open.
_LOCKED = "wal"
_JOURNAL = ".switch.json"
_TURN = ".names.lock"
#: Seconds that a change of names waits for another one before it says so. The lock of a process that died is free.
_PATIENCE = 5
LEDGER_FILE = "ledger.sqlite3"
_DISK_FULL = "os error 28"
_ADVICE = "`kinsplit verify` tells whether it is damaged."
_DAMAGED = "Its files are damaged: restore the folder from a backup, or delete it and index again."
#: Kilobytes of vectors, 13,000 of 384 dimensions, from which points move into a read-only segment, where terms take
#: less memory and are opened sooner. That costs about 0.2 ms of processor time per point and blocks the process.
_SEGMENT_KB = 20_000
#: Kilobytes of vectors up to which read-only segments are merged, so that merging blocks for seconds and not minutes,
#: and the number of segments from which it begins.
_MERGED_KB, _SEGMENTS = 80_000, 8


def open_folder(folder: Path, schema: Schema | None) -> tuple[Schema, qe.EdgeShard]:
    """Open the shard of a collection, creating it if it does not exist.

    Returns:
        The stored schema and the shard, which is locked against other processes.

    Raises:
        SchemaMismatchError: The collection was made with another schema.
        StoreLockedError: The collection is already open.
        DiskFullError: There is too little free space.
        StoreError: There is no collection and no schema to create it with, or the folder holds something else.
    """
    try:
        # Twice, since an exchange of names may have begun after the first look.
        if not (_exists(folder) or _exists(folder)):
            _create(folder, schema)
        stored = read_schema(folder)
        check_schema(folder, stored, schema)
        _check_files(folder)
        check_opening(folder, folder / SHARD)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}. Choose a folder that you may read and write.") from error
    return stored, _load(folder, stored.dimension)


@contextmanager
def edge_errors(folder: Path, fault: str = "", remedy: str = _ADVICE) -> Iterator[None]:
    """Turn the engine's errors into one-line errors."""
    try:
        yield
    except KinsplitError:
        raise
    except BaseException as error:
        # The engine raises an Exception or a Rust panic, which isn't one.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = fault + " ".join(str(error).split()).rstrip(".")
        if _DISK_FULL in reason:
            remedy = "Free some space on that disk."
        raise StoreError(f"{folder}: {reason}. {remedy}") from error


def collections_in(place: Path) -> list[str]:
    """Return the names of the collections in a folder."""
    return [file.parent.name for file in place.glob(f"[!.]*/{SCHEMA_FILE}")]


def _exists(folder: Path) -> bool:
    settle_names(folder.parent)
    return (folder / SCHEMA_FILE).is_file()


def _create(folder: Path, schema: Schema | None) -> None:
    """Create the folder under a temporary name and rename it, so that a crash leaves no partial collection."""
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"{folder} holds files but no {SCHEMA_FILE}, so it is no collection. Choose another name.")
    schema = schema_to_create(folder.parent, folder.name, schema, collections_in(folder.parent))
    draft = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    draft.mkdir(parents=True)
    try:
        check_creation(draft)
        _create_shard(draft / SHARD, schema.dimension)
        Ledger(draft / LEDGER_FILE, is_new=True).close()
        (draft / SCHEMA_FILE).write_text(json.dumps(asdict(schema), indent=2) + "\n", encoding="utf-8")
        # If another process created the collection first, or exchanged names meanwhile, that one is opened.
        with naming(folder.parent), suppress(OSError):
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _create_shard(path: Path, dimension: int) -> None:
    path.mkdir()
    shard = qe.EdgeShard.create(str(path), _config(dimension, qe.Memory.Cold, qe.Memory.Cold))
    add_indexes(shard, SOURCES)
    shard.close()


def _payload_memory(shard: Path) -> qe.Memory | None:
    """Return the memory that a shard's payloads were written for: with another one, the engine writes them all anew."""
    stored = json.loads((shard / "edge_config.json").read_text(encoding="utf-8")).get("payload_memory")
    return {"cold": qe.Memory.Cold, "cached": qe.Memory.Cached}.get(stored)


def _config(dimension: int, memory: qe.Memory | None, payload_memory: qe.Memory | None) -> qe.EdgeConfig:
    dense = qe.EdgeVectorParams(size=dimension, distance=qe.Distance.Cosine, memory=memory)
    return qe.EdgeConfig(
        vectors=dict.fromkeys(DENSE, dense),
        sparse_vectors={name: qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf) for name in SPARSE},
        # No graph, which takes a hundred times as long to build as the copies; the other numbers have to be given.
        hnsw_config=qe.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=2**31),
        # Copies of a byte per dimension find as much, but comparing them takes half as long again.
        quantization_config=qe.TurboQuantQuantizationConfig(bits=qe.TurboQuantBitSize.Bits4),
        optimizers=qe.EdgeOptimizersConfig(
            indexing_threshold=_SEGMENT_KB, max_segment_size=_MERGED_KB, default_segment_number=_SEGMENTS
        ),
        payload_memory=payload_memory,
    )


def read_schema(folder: Path) -> Schema:
    """Return the schema of a collection, with the errors of `parse_schema`."""
    return parse_schema(folder, stored_schema(folder))


def stored_schema(folder: Path) -> object:
    """Return the JSON in a collection's schema file, or raise StoreError if it is not JSON."""
    path = folder / SCHEMA_FILE
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        remedy = f"If {folder} is a damaged collection of yours, delete it and index again."
        raise StoreError(f"{path} is no schema of kinsplit: {reason}. {remedy}") from error


def strangers_in(folder: Path) -> list[str]:
    """Return the names of the files in a collection's folder that kinsplit didn't make."""
    own = {SCHEMA_FILE, SHARD, *(f"{LEDGER_FILE}{ending}" for ending in ("", "-wal", "-shm", "-journal"))}
    return sorted(path.name for path in folder.iterdir() if path.name not in own)


def _check_files(folder: Path) -> None:
    """Check for damage that would make the engine print a page of internals to standard error."""
    for path in (folder / SHARD).glob("segments/*/**/status.dat"):
        least = 8 if path.parent.name in ("vectors", "quantized_data") else 16
        if (size := path.stat().st_size) < least:
            raise StoreError(f"{folder}: can't be opened: {path} holds {size} bytes, not {least}. {_DAMAGED}")


def _load(folder: Path, dimension: int) -> qe.EdgeShard:
    shard = folder / SHARD
    # A search reads vectors from all over a file, and a page fault for each costs more than ranking them. So those of a
    # large collection are mapped when it is opened, as they are unless a memory is named.
    memory = qe.Memory.Cold if is_small(shard) else None
    with edge_errors(folder, "can't be opened: ", _DAMAGED):
        try:
            # Passed again, since a shard otherwise keeps the settings it was created with.
            return qe.EdgeShard.load(str(shard), _config(dimension, memory, _payload_memory(shard)))
        except Exception as error:
            if "WouldBlock" in str(error):
                raise StoreLockedError(
                    f"{folder} is open in another process, and Edge locks a collection even for reading. Close it "
                    "there first, or let one process serve it to the others with `kinsplit serve`."
                ) from None
            raise


@contextmanager
def naming(place: Path) -> Iterator[None]:
    """Keep others from changing the names in a folder, after completing an interrupted change."""
    from filelock import FileLock, Timeout

    turn = FileLock(place / _TURN)
    try:
        turn.acquire(timeout=_PATIENCE)
    except Timeout:
        who = "another process that changes the names of collections. If it hangs, end it."
        message = f"{turn.lock_file}: still waiting after {_PATIENCE} seconds for {who}"
        warnings.warn(message, LockWarning, stacklevel=2)
        turn.acquire()
    try:
        _complete(place)
        yield
    finally:
        turn.release()


def settle_names(place: Path) -> None:
    """Complete an interrupted exchange of names, if there is one."""
    if (place / _JOURNAL).is_file():
        with naming(place):
            pass


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of an open collection, or raise StoreLockedError if it is open, here or in another process."""
    try:
        import fcntl
    except ImportError:  # Windows renames no folder whose files are open.
        try:
            yield
        except PermissionError as error:
            raise _locked(folder) from error
        return
    file = os.open(folder / SHARD / _LOCKED, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _locked(folder) from None
        yield
    finally:
        os.close(file)


def exchange(place: Path, one: str, other: str) -> None:
    """Exchange the names of two folders; the caller holds `naming` and both folders."""
    draft = place / f"{_JOURNAL}.{uuid.uuid4().hex}"
    aside = f".{one}.{uuid.uuid4().hex}"
    draft.write_text(json.dumps({"one": one, "other": other, "aside": aside}), encoding="utf-8")
    draft.replace(place / _JOURNAL)
    (place / one).rename(place / aside)
    _complete(place)


def _complete(place: Path) -> None:
    """Complete the exchange that was written down; nothing has been moved while nothing is aside."""
    journal = place / _JOURNAL
    try:
        one, other, aside = (place / name for name in _read_journal(journal))
    except FileNotFoundError:
        return
    if aside.exists():
        if not one.exists():
            other.rename(one)
        aside.rename(other)
    journal.unlink()


def _read_journal(journal: Path) -> tuple[str, str, str]:
    """Return the names in a journal, which may come with a folder from anywhere and must not lead out of it."""
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        names = json.loads(journal.read_text(encoding="utf-8"))
        one, other, aside = (str(names[key]) for key in ("one", "other", "aside"))
        check_collection(one)
        check_collection(other)
        if re.fullmatch(rf"\.{re.escape(one)}\.[0-9a-f]{{32}}", aside):
            return one, other, aside
    raise StoreError(f"{journal} is no record of kinsplit's of an exchange of names. Delete the file.")


def _locked(folder: Path) -> StoreLockedError:
    return StoreLockedError(f"{folder} is open. Close it first, in this process or the other that has it open.")

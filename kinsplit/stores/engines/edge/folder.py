"""The folder of one Qdrant Edge collection: made whole or not at all, and opened by one process."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.errors import KinsplitError, StoreError, StoreLockedError
from kinsplit.stores.engines.edge.disk_space import check_creation, check_opening
from kinsplit.stores.engines.edge.ledger import Ledger
from kinsplit.stores.engines.qdrant.payload import INDEXES
from kinsplit.stores.protocol import Schema
from kinsplit.stores.schema import DENSE, SPARSE, check_schema, parse_schema, schema_to_create

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard

SCHEMA_FILE = "kinsplit.json"
LEDGER_FILE = "ledger.sqlite3"
SHARD = "shard"
_DISK_FULL = "os error 28"
_DAMAGED = "Its files are damaged: restore the folder from a backup, or delete it and index again."
#: Vectors up to this size are compared one by one, exactly: 650,000 of 384 dimensions take some 65 ms. To index them
#: takes the processor about a millisecond for each, while nobody can write: minutes, for what tens of thousands of
#: questions would win back.
_INDEXING_KB = 1_000_000


def open_folder(folder: Path, schema: Schema | None) -> tuple[Schema, EdgeShard]:
    """Open the shard of a collection, creating it where there is none.

    Returns:
        The schema in the folder, and the shard, locked for every other process.

    Raises:
        SchemaMismatchError: The collection was made with another schema.
        StoreLockedError: The collection is open already.
        DiskFullError: There is too little free space.
        StoreError: There is nothing to open and no schema to create it with, or the folder holds something else.
    """
    try:
        if not (folder / SCHEMA_FILE).is_file():
            _create(folder, schema)
        stored = _read_schema(folder)
        check_schema(folder, stored, schema)
        _check_files(folder)
        check_opening(folder, folder / SHARD)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}. Choose a folder that you may read and write.") from error
    return stored, _load(folder, stored.dimension)


@contextmanager
def edge_errors(
    folder: Path, fault: str = "", remedy: str = "`kinsplit verify` tells whether it is damaged."
) -> Iterator[None]:
    """Turn what the engine raises into one line.

    Args:
        folder: The collection's folder.
        fault: What can't be done, before the engine's reason.
        remedy: What to do about it, unless the disk is full.
    """
    try:
        yield
    except KinsplitError:
        raise
    except BaseException as error:
        # The engine fails by an Exception, or by a Rust panic, which isn't one.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = fault + " ".join(str(error).split()).rstrip(".")
        if _DISK_FULL in reason:
            remedy = "Free some space on that disk."
        raise StoreError(f"{folder}: {reason}. {remedy}") from error


def _collections(place: Path) -> list[str]:
    return [file.parent.name for file in place.glob(f"[!.]*/{SCHEMA_FILE}")]


def _create(folder: Path, schema: Schema | None) -> None:
    """Make the folder under another name and rename it when it is complete, so a crash leaves no half a collection."""
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"{folder} holds files but no {SCHEMA_FILE}, so it is no collection. Choose another name.")
    schema = schema_to_create(folder.parent, folder.name, schema, _collections(folder.parent))
    draft = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    draft.mkdir(parents=True)
    try:
        check_creation(draft)
        _create_shard(draft / SHARD, schema.dimension)
        Ledger(draft / LEDGER_FILE, is_new=True).close()
        (draft / SCHEMA_FILE).write_text(json.dumps(asdict(schema), indent=2) + "\n", encoding="utf-8")
        # Whoever made the collection meanwhile was first, and theirs is the one to open.
        with suppress(OSError):
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _create_shard(path: Path, dimension: int) -> None:
    import qdrant_edge as qe

    path.mkdir()
    shard = qe.EdgeShard.create(str(path), _config(dimension))
    kinds: dict[str, Any] = {
        "keyword": qe.PayloadSchemaType.Keyword,
        # Two indexes where ranges were looked up too, and an eighth more time to write.
        "integer": qe.IntegerIndexParams(lookup=True, range=False),
        "uuid": qe.PayloadSchemaType.Uuid,
    }
    for key, kind in INDEXES.items():
        shard.update(qe.UpdateOperation.create_field_index(key, kinds[kind]))
    shard.close()


def _config(dimension: int) -> EdgeConfig:
    import qdrant_edge as qe

    return qe.EdgeConfig(
        vectors={name: qe.EdgeVectorParams(size=dimension, distance=qe.Distance.Cosine) for name in DENSE},
        sparse_vectors={name: qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf) for name in SPARSE},
        optimizers=qe.EdgeOptimizersConfig(indexing_threshold=_INDEXING_KB),
        # Mapped when the shard is opened, as vectors are: a search reads some 500 payloads from all over the file, and
        # to fault in a page for each costs more than to rank them.
        payload_memory=qe.Memory.Cached,
    )


def _read_schema(folder: Path) -> Schema:
    path = folder / SCHEMA_FILE
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        remedy = f"Delete {folder} and index again."
        raise StoreError(f"{path}: is not a schema that this version reads: {error}. {remedy}") from error
    return parse_schema(path, stored)


def _check_files(folder: Path) -> None:
    """Look for damage that the engine would answer with a page of its inner life on standard error."""
    for path in (folder / SHARD).glob("segments/*/**/status.dat"):
        least = 8 if path.parent.name == "vectors" else 16
        if (size := path.stat().st_size) < least:
            raise StoreError(f"{folder}: can't be opened: {path} holds {size} bytes, not {least}. {_DAMAGED}")


def _load(folder: Path, dimension: int) -> EdgeShard:
    import qdrant_edge as qe

    with edge_errors(folder, "can't be opened: ", _DAMAGED):
        try:
            # Told again, since a shard keeps the settings that it was made with.
            return qe.EdgeShard.load(str(folder / SHARD), _config(dimension))
        except Exception as error:
            if "WouldBlock" in str(error):
                raise StoreLockedError(f"{folder} is open in another process. Close it there first.") from None
            raise

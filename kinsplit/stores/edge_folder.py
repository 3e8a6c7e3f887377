"""The folder of one Qdrant Edge collection: made whole or not at all, and opened by one process."""

from __future__ import annotations

import json
import shutil
import uuid
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.errors import StoreError, StoreLockedError
from kinsplit.stores.layout import DENSE, INDEXED, SPARSE
from kinsplit.stores.protocol import Schema
from kinsplit.stores.schema import check_collection, check_schema, parse_schema, wanted_schema

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard

SCHEMA_FILE = "kinsplit.json"
_SHARD = "shard"
#: Vectors up to this size are compared one by one, exactly: 650,000 of 384 dimensions take some 65 ms. To index them
#: takes the processor about a millisecond for each, while nobody can write: minutes, for what tens of thousands of
#: questions would win back.
_INDEXING_KB = 1_000_000


def open_folder(place: str, collection: str, schema: Schema | None) -> tuple[Path, Schema, EdgeShard]:
    """Open the shard of a collection, creating it where there is none.

    Returns:
        The collection's folder, the schema in it, and the shard, locked for everybody else.

    Raises:
        InvalidParameterError: The collection's name can't be the name of a folder.
        SchemaMismatchError: The collection was made with another schema.
        StoreLockedError: The collection is open already.
        StoreError: There is nothing to open and no schema to create it with, or the folder holds something else.
    """
    check_collection(collection)
    folder = Path(place).expanduser() / collection
    try:
        if not (folder / SCHEMA_FILE).is_file():
            _create(folder, schema)
        stored = _read_schema(folder)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}. Choose a folder that you may read and write.") from error
    check_schema(folder, stored, schema)
    return folder, stored, _load(folder, stored.dimension)


def _collections(place: Path) -> list[str]:
    return [file.parent.name for file in place.glob(f"[!.]*/{SCHEMA_FILE}")]


def _create(folder: Path, schema: Schema | None) -> None:
    """Make the folder under another name and rename it when it is complete, so a crash leaves no half a collection."""
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"{folder} holds files but no {SCHEMA_FILE}, so it is no collection. Choose another name.")
    schema = wanted_schema(folder.parent, folder.name, schema, _collections(folder.parent))
    draft = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    draft.mkdir(parents=True)
    try:
        _create_shard(draft / _SHARD, schema.dimension)
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
    for key, kind in INDEXED.items():
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


def _load(folder: Path, dimension: int) -> EdgeShard:
    import qdrant_edge as qe

    try:
        # Told again, since a shard keeps the settings that it was made with.
        return qe.EdgeShard.load(str(folder / _SHARD), _config(dimension))
    except Exception as error:  # The engine raises nothing more special.
        if "WouldBlock" in str(error):
            raise StoreLockedError(
                f"{folder} is open in another process, or in another store object of this one. "
                "Close it there first, or share one store object."
            ) from None
        raise StoreError(f"{folder}: can't be opened: {error}") from error

"""Backups: one Parquet file with the chunks and vectors of a collection, which other programs read too.

A row is a chunk, with the columns of `kinsplit.frames.to_arrow` and `dense` (32-bit floats; none for a whole document),
`sparse_indices` and `sparse_values`. The rows of a document are adjacent. The metadata of the file has the collection's
name and schema, as JSON under the key `kinsplit`.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinsplit.chunk import FIELDS, Beside, Chunk
from kinsplit.errors import CollectionNotFoundError, KinsplitError, StoreError, require
from kinsplit.frames import to_arrow
from kinsplit.spans import Span
from kinsplit.stores import ChunkStore, Schema, Vectors, open_catalog, open_store
from kinsplit.stores.maintenance.copy import Copied, Progress, batches_of, read, take_over
from kinsplit.stores.schema import check_collection, parse_schema
from kinsplit.stores.store import agreed
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

_KEY = b"kinsplit"
#: Version of the columns.
_FORMAT = 1
#: Rows that are read and compared with the target at once.
_ROWS = 1000
_ATTRIBUTES = {field.shown or str(field.stored): field.attribute for field in FIELDS if not field.is_computed}

_Rows = list[tuple[Chunk, Vectors]]


@dataclass(frozen=True, slots=True)
class Backup:
    """The head of a backup."""

    collection: str
    schema: Schema
    id: str
    chunks: int


@agreed()
def back_up(store: ChunkStore, collection: str, path: str | Path, progress: Progress | None = None) -> Copied:
    """Write a collection to a Parquet file, a batch of documents after the other.

    The file is complete once it has its name; one that existed is replaced then. Documents that are written meanwhile
    may be in it as they were before or as they are afterwards.

    Args:
        store: The collection.
        collection: Its name, which `restore` gives it again.
        path: Path of the file, whose folder is made if there is none.
        progress: Function called after each batch with the number of documents done and their total.

    Raises:
        MissingExtraError: pyarrow is not installed.
        OSError: The file can't be written.
    """
    with needs("frames"):
        from pyarrow import parquet
    path = Path(path)
    sizes = store.sources()
    head = {"format": _FORMAT, "id": uuid.uuid4().hex, "collection": collection, "schema": asdict(store.schema)}
    empty = _table([], {}, store.schema.dimension)
    form = empty.schema.with_metadata({_KEY: json.dumps(head).encode()})
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    done = Copied()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with draft.open("xb") as file:
            with parquet.ParquetWriter(file, form, compression="zstd") as writer:
                for names in batches_of(sizes):
                    chunks = [chunk for of_source in read(store, names).values() for chunk in of_source]
                    vectors = store.vectors([chunk.id for chunk in chunks])
                    # Others were deleted in between.
                    chunks = [chunk for chunk in chunks if chunk.id in vectors]
                    writer.write_table(_table(chunks, vectors, store.schema.dimension))
                    done += Copied(len(names), sum(chunk.level == 0 for chunk in chunks))
                    if progress is not None:
                        progress(done.documents, len(sizes))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return done


def read_head(path: str | Path) -> Backup:
    """Return the head of a backup.

    Raises:
        MissingExtraError: pyarrow is not installed.
        StoreError: The file is no backup, or one that this version of kinsplit can't read.
    """
    with _opened(Path(path)) as (_, backup):
        return backup


def restore(
    path: str | Path,
    address: str,
    collection: str | None = None,
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> Copied:
    """Make a collection from a backup.

    It is filled under the name `NAME.restoring-ID` and gets its name when it is complete. Repeat an interrupted call to
    complete it: documents that are there already are skipped.

    Args:
        path: Path of the file.
        address: Address of the store; see `kinsplit.stores.open_store`.
        collection: Name of the collection; None for the one that was backed up.
        replace: Whether to replace a collection of this name, which is dropped once the new one has its name.
        progress: Function called after each batch with the number of chunks done and their total.

    Raises:
        MissingExtraError: pyarrow is not installed.
        InvalidParameterError: There is a collection of this name, and `replace` is not set.
        StoreError: The file is no backup or damaged, or an error or one of its subclasses of the store.
    """
    with _opened(Path(path)) as (file, backup), open_catalog(address) as catalog:
        name = collection or backup.collection
        check_collection(name)
        exists = False
        with suppress(CollectionNotFoundError):
            catalog.check(name)
            exists = True
        remedy = "Choose another name with --as, or replace it with --replace."
        require(not exists or replace, "collection", "must not exist yet", name, remedy)
        draft = f"{name}.restoring-{backup.id[:8]}"
        with open_store(address, draft, backup.schema) as target, target.first_load():
            target.make()  # An empty collection is one, too.
            done = _fill(target, Path(path), file, backup, progress)
        if exists:
            catalog.switch(draft, name)
            catalog.drop(draft)
        else:
            catalog.rename(draft, name)
    return done


def _fill(
    target: ChunkStore, path: Path, file: parquet.ParquetFile, backup: Backup, progress: Progress | None
) -> Copied:
    held, done, rows = target.sources(), Copied(), 0
    for found in _documents(path, file, backup.schema.dimension):
        chunks = {name: [chunk for chunk, _ in pairs] for name, pairs in found.items()}
        vectors = {chunk.id: its for pairs in found.values() for chunk, its in pairs}
        done += take_over(target, held, chunks, lambda _: vectors)  # noqa: B023 - called at once
        rows += len(vectors)
        if progress is not None:
            progress(rows, backup.chunks)
    return done


def _documents(path: Path, file: parquet.ParquetFile, dimension: int) -> Iterator[dict[str, _Rows]]:
    """Yield whole documents in batches, by id."""
    rest: dict[str, _Rows] = {}
    # What fails where a batch is used does not arrive here.
    with _readable(path):
        for batch in file.iter_batches(batch_size=_ROWS):
            for name, group in groupby(_rows(batch, dimension), lambda pair: pair[0].source_id):
                rest.setdefault(name, []).extend(group)
            # The last document may continue in the next batch.
            *whole, last = rest
            if whole:
                yield {name: rest[name] for name in whole}
                rest = {last: rest[last]}
    if rest:
        yield rest


@contextmanager
def _opened(path: Path) -> Iterator[tuple[parquet.ParquetFile, Backup]]:
    with needs("frames"):
        from pyarrow import parquet
    with ExitStack() as stack:
        # Opened here, since an error of pyarrow would not name the file.
        opened = stack.enter_context(path.open("rb"))
        with _readable(path):
            file = stack.enter_context(parquet.ParquetFile(opened))
            head = json.loads((file.schema_arrow.metadata or {}).get(_KEY, b"{}"))
            if head.get("format") != _FORMAT:
                rule = "was written by another version of kinsplit" if head else "is no backup that kinsplit wrote"
                raise StoreError(f"{path} {rule}. Name a file of `kinsplit backup`.")
            schema = parse_schema(path, head["schema"])
            backup = Backup(str(head["collection"]), schema, str(head["id"]), file.metadata.num_rows)
        yield file, backup


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn the errors of reading a damaged file into one-line errors."""
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # Bytes that still pass for Parquet may hold anything.
        if isinstance(error, OSError) and error.errno is not None:
            raise  # Of the disk.
        reason = " ".join(str(error).split()).rstrip(".")
        rule = f"{path} is damaged, or no Parquet file: {reason}"
        raise StoreError(f"{rule}. Name a file of `kinsplit backup`.") from error


def _table(chunks: Sequence[Chunk], vectors: Mapping[str, Vectors], dimension: int) -> pyarrow.Table:
    """Return the rows of chunks."""
    import pyarrow

    table = to_arrow(chunks)
    dense = [vectors[chunk.id].dense for chunk in chunks]
    sparse = [vectors[chunk.id].sparse for chunk in chunks]
    missing = np.array([each is None for each in dense], dtype=bool)
    ends = np.append(0, np.cumsum(~missing)) * dimension
    values = np.concatenate([np.empty(0, dtype=np.float32), *(each for each in dense if each is not None)])
    columns = {
        # Not of a fixed size, since older versions of pyarrow can't write such lists where some are null.
        "dense": pyarrow.ListArray.from_arrays(ends.astype(np.int32), values, mask=pyarrow.array(missing)),
        "sparse_indices": pyarrow.array([each and each.indices for each in sparse], pyarrow.list_(pyarrow.int64())),
        "sparse_values": pyarrow.array([each and each.values for each in sparse], pyarrow.list_(pyarrow.float64())),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def _rows(batch: pyarrow.RecordBatch, dimension: int) -> Iterator[tuple[Chunk, Vectors]]:
    dense = iter(batch.column("dense").flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension))
    has_dense = batch.column("dense").is_valid().to_pylist()
    for row, is_there in zip(batch.drop_columns(["dense"]).to_pylist(), has_dense, strict=True):
        given = np.array(next(dense)) if is_there else None
        yield _chunk(row), Vectors.of(given, row["sparse_indices"], row["sparse_values"])


def _chunk(row: Mapping[str, Any]) -> Chunk:
    fields = {attribute: row[column] for column, attribute in _ATTRIBUTES.items()}
    fields["spans"] = tuple(Span(*span) for span in row["spans"])
    fields["beside"] = Beside.of(row)
    return Chunk(**fields, metadata=json.loads(row["metadata"]))

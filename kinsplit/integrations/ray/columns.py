"""Columns of the stages' batches, and their conversion from and to documents and chunks."""

from __future__ import annotations

import functools
import json
import pickle
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from kinsplit.chunk import FIELDS, Beside, Chunk, Document, Moment, Voice
from kinsplit.errors import EmbeddingError, InvalidParameterError, KinsplitError, LimitTooSmallError, LoadError
from kinsplit.frames import to_arrow
from kinsplit.indexing.reports import DocumentReport, FileRead
from kinsplit.integrations.ray.file_systems import is_address
from kinsplit.loaders import SourceFile
from kinsplit.spans import Heading, Part, Span
from kinsplit.stores.json_values import to_json
from kinsplit.stores.values import SyncReport
from kinsplit.support.extras import needs

with needs("ray"):
    import pyarrow as pa

_TEXTS = pa.list_(pa.string())
_RANGE = ("start", pa.int64()), ("end", pa.int64())
_ERROR = pa.struct([("kind", pa.string()), ("message", pa.string()), ("arguments", pa.string())])

#: Columns of files, which `Load` takes. `metadata` is JSON; `error` says why there is nothing to load.
FILES = pa.schema(
    [
        *((name, pa.string()) for name in ("path", "id", "metadata")),
        *(("given", pa.bool_()), ("reader", pa.string()), ("error", _ERROR)),
    ]
)

#: Columns of documents. Only `id` and `text` are required, and columns that are not listed here are metadata. A row
#: whose `text` is null stands for a file that has no documents, or couldn't be read: `error` says why. `metadata` is
#: JSON; the others are the attributes of `kinsplit.chunk.Document`. `file` is the id of the document's file,
#: `file_documents` the number of that file's documents, and `warnings` are those of the file, in its first row alone.
DOCUMENTS = pa.schema(
    [
        *(("id", pa.string()), ("text", pa.large_string()), ("metadata", pa.string()), ("pages", pa.list_(pa.int64()))),
        ("times", pa.list_(pa.struct([("at", pa.int64()), ("start", pa.float64()), ("end", pa.float64())]))),
        ("outline", pa.list_(pa.struct([*_RANGE, ("title", pa.string())]))),
        ("headings", pa.list_(pa.struct([*_RANGE, ("level", pa.int64()), ("title", pa.string())]))),
        ("voices", pa.list_(pa.struct([("at", pa.int64()), ("name", pa.string())]))),
        *(("digest", pa.string()), ("kind", pa.string()), ("file", pa.string()), ("file_documents", pa.int64())),
        *(("warnings", _TEXTS), ("error", _ERROR)),
    ]
)

#: Columns of reports, which `Write` returns: one row for each document, and for each file without documents. Numbers
#: count leaves; `requests` and `tokens` are those sent to a model on a server for the batch, in its first row.
REPORTS = pa.schema(
    [
        *(("id", pa.string()), ("file", pa.string()), ("file_documents", pa.int64())),
        *((name, pa.int64()) for name in ("chunks", "added", "updated", "unchanged", "deleted")),
        *((name, pa.int64()) for name in ("embedded", "windowed", "contexts", "fallbacks", "requests", "tokens")),
        *(("warnings", _TEXTS), ("error", _ERROR)),
    ]
)

#: Type of a chunk in the column `chunks`: the columns of `kinsplit.frames.to_arrow`.
CHUNK = pa.struct(list(to_arrow([]).schema))

# Characters of the documents in one batch, so that memory and messages stay small whatever the input.
_CHARACTERS = 500_000
# Documents in one batch, which are looked up in one call.
_DOCUMENTS = 500


def cut(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table of documents in parts of at most some 500,000 characters, or one document, and 500 documents."""
    first = size = 0
    for row, text in enumerate(table["text"]):
        length = len(text.as_buffer() or b"") if text.is_valid else 0
        if row > first and (size + length > _CHARACTERS or row - first == _DOCUMENTS):
            yield table.slice(first, row - first)
            first, size = row, 0
        size += length
    yield table.slice(first)


def check_documents(names: Iterable[str]) -> None:
    """Raise InvalidParameterError unless a dataset has the columns of documents, `id` and `text`."""
    given = list(names)
    if lacking := [name for name in ("id", "text") if name not in given]:
        rule = f"must have the columns 'id' and 'text', and lacks {' and '.join(map(repr, lacking))}"
        remedy = "Rename its columns first: dataset.rename_columns({'old': 'new'})."
        raise InvalidParameterError("source", rule, given, remedy)


def pack(files: Collection[SourceFile], number: int) -> Iterator[bytes]:
    """Yield files, divided evenly and compressed, as `index` sends them to the tasks that load them."""
    rest = iter(files)
    size, larger = divmod(len(files), number)
    for at in range(number):
        yield zlib.compress(pickle.dumps(list(islice(rest, size + (at < larger)))))


def unpack(packed: bytes) -> list[SourceFile]:
    """Return the files of one of the parts that `pack` yields."""
    files: list[SourceFile] = pickle.loads(zlib.decompress(packed))  # noqa: S301 - from a process of our own
    return files


def from_files(table: pa.Table) -> list[SourceFile]:
    """Return the files of a table with the columns `FILES`, of which all but `path` and `id` may be missing."""
    return [
        SourceFile(
            Path(row["path"]),
            row["id"],
            json.loads(row.get("metadata") or "{}"),
            bool(row.get("given")),
            from_error(row.get("error")),
            row.get("reader") or "",
            row["path"] if is_address(row["path"]) else "",
        )
        for row in table.to_pylist()
    ]


# Attributes of a document that are tuples of these.
_PARTS: dict[str, Any] = {"times": Moment, "outline": Part, "headings": Heading, "voices": Voice}


def to_row(document: Document) -> dict[str, Any]:
    """Return the columns of a document."""
    return {
        "id": document.id,
        "text": document.text,
        "metadata": json.dumps(to_json(document.metadata, "metadata"), ensure_ascii=False),
        "pages": document.pages,
        **{name: [each._asdict() for each in getattr(document, name)] for name in _PARTS},
        "digest": document.digest,
        "kind": document.kind,
    }


def from_documents(table: pa.Table) -> list[Document | None]:
    """Return the document of each row, None without a text; rows need the columns `id` and `text`, and an id."""
    check_documents(table.column_names)
    own = [name for name in table.column_names if name in _ATTRIBUTES]
    others = [name for name in table.column_names if name not in _KNOWN]
    extra = table.select(others).to_pylist() if others else [{}] * table.num_rows
    return [_document(row, more) for row, more in zip(table.select(own).to_pylist(), extra, strict=True)]


_ATTRIBUTES = ("id", "text", "metadata", "pages", "times", "outline", "headings", "digest", "kind", "voices")
#: Columns that are no metadata: those of documents, and those that the stages add.
_KNOWN = {*DOCUMENTS.names, "chunks", "missing", "unchanged", "vectors", "windows", "requests", "tokens"}


def _document(row: dict[str, Any], more: dict[str, Any]) -> Document | None:
    if row["text"] is None:
        return None
    if not isinstance(row["id"], str) or not isinstance(row["text"], str):
        rule = "must have texts as id and text"
        raise InvalidParameterError("source", rule, (row["id"], row["text"]), "Convert these columns to strings.")
    stated = row.get("metadata") or {}
    return Document(
        row["id"],
        row["text"],
        {**(json.loads(stated) if isinstance(stated, str) else stated), **more},
        tuple(row.get("pages") or ()),
        digest=row.get("digest") or "",
        kind=row.get("kind") or "",
        **{name: tuple(kind(**each) for each in row.get(name) or ()) for name, kind in _PARTS.items()},
    )


def to_lists(chunks: Sequence[Sequence[Chunk] | None]) -> pa.ListArray:
    """Return a column of lists of chunks, of type `CHUNK`; None becomes null."""
    flat = to_arrow(chunk for each in chunks for chunk in each or ()).combine_chunks()
    columns = [column.combine_chunks() for column in flat.columns]
    return _lists(chunks, pa.StructArray.from_arrays(columns, fields=list(CHUNK)))


def from_lists(column: pa.ChunkedArray) -> list[list[Chunk] | None]:
    """Return the chunks of a column that `to_lists` made."""
    return [None if each is None else [_chunk(row) for row in each] for each in column.to_pylist()]


def to_vectors(vectors: Sequence[Any], dimension: int) -> pa.ListArray:
    """Return a column of lists of vectors, float32 of shape (number, dimension) in each row; None becomes null."""
    flat = pa.array([], pa.float32())
    if given := [each.reshape(-1) for each in vectors if each is not None and len(each)]:
        flat = pa.concat_arrays([pa.array(each, pa.float32()) for each in given])
    return _lists(vectors, pa.FixedSizeListArray.from_arrays(flat, dimension))


def _lists(rows: Sequence[Sequence[Any] | None], values: pa.Array) -> pa.ListArray:
    """Return a column of lists as long as those of some rows, from the values of all of them."""
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + (0 if row is None else len(row)))
    mask = pa.array([row is None for row in rows])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=mask)


# Columns of the fields of a chunk that are not computed from others.
_FIELDS = [(field.attribute, field.shown or str(field.stored)) for field in FIELDS if not field.is_computed]


def _chunk(row: dict[str, Any]) -> Chunk:
    fields = {attribute: row[column] for attribute, column in _FIELDS}
    spans = tuple(Span(*span) for span in row["spans"])
    return Chunk(**{**fields, "spans": spans, "beside": Beside.of(row), "metadata": _metadata(row["metadata"])})


@functools.lru_cache(maxsize=256)
def _metadata(text: str) -> dict[str, Any]:
    """Return parsed metadata, which the chunks of a document share."""
    found: dict[str, Any] = json.loads(text)
    return found


def to_error(error: KinsplitError | None) -> dict[str, str] | None:
    """Return the columns of the error of a file or a document."""
    if error is None:
        return None
    return {"kind": type(error).__name__, "message": str(error), "arguments": json.dumps(error.args, default=str)}


def from_error(row: dict[str, str] | None) -> Any:
    """Return the error of a file or a document; the inverse of `to_error`."""
    if row is None:
        return None
    kind = {each.__name__: each for each in (LoadError, LimitTooSmallError, EmbeddingError)}.get(row["kind"])
    return KinsplitError(row["message"]) if kind is None else kind(*json.loads(row["arguments"]))


def to_events(
    rows: Iterable[Mapping[str, Any]], seen: MutableMapping[str, None]
) -> Iterator[FileRead | DocumentReport]:
    """Yield the files and documents of rows with the columns `REPORTS`.

    `seen` are the ids of stored documents, and of what failed, that arrived before; those of the rows are added.
    """
    for row in rows:
        id_, file, documents, error = row["id"], row["file"], row["file_documents"], from_error(row["error"])
        if row["chunks"] is not None and id_ in seen:
            reason = f"its id {id_!r} comes twice, and one of the two documents is stored. Give each its own id."
            error = LoadError(file or id_, reason)
        if row["chunks"] is not None or error is not None:  # The former documents of one that failed stay.
            seen[id_] = None
        if file is not None and row["warnings"] is not None:  # The first row of the file.
            yield FileRead(file, documents, tuple(row["warnings"]), None if documents else error)
        if documents != 0 and (row["chunks"] is not None or error is not None):
            changes = SyncReport(*(row[name] or 0 for name in ("added", "updated", "unchanged", "deleted")))
            counted = {name: row[name] or 0 for name in ("chunks", "embedded", "windowed", "contexts", "fallbacks")}
            yield DocumentReport(id_, changes=changes, **counted, error=error, file=file)

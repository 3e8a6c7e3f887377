"""`KinStore`: the chunks of documents, with their places, beside a vector store that can't be asked for them."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.identity import chunk_id
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, Method, SiblingPlace
from kinsplit.integrations.shared.records import stored_id
from kinsplit.stores.json_values import to_json
from kinsplit.support.threads import awaiting


class Row(NamedTuple):
    """A chunk with its place, under its id as a UUID."""

    id: str
    place: SiblingPlace
    found: FoundNode

    @classmethod
    def of(cls, found: FoundNode) -> Self:
        """Return the row of a chunk."""
        metadata = found.metadata
        place = SiblingPlace(metadata["source_id"], metadata["level"], metadata["chunk_index"])
        return cls(stored_id(found.id), place, found)

    def written(self) -> str:
        """Return the chunk as JSON."""
        found = self.found
        return json.dumps({"id": found.id, "text": found.text, "metadata": found.metadata})

    @classmethod
    def read(cls, written: str | bytes | dict[str, Any]) -> Self:
        """Return the row of a chunk that was written as JSON."""
        value = written if isinstance(written, dict) else json.loads(written)
        return cls.of(FoundNode(value["id"], value["text"], value["metadata"]))


class RowEntry(NamedTuple):
    """The id of a stored row, and its place."""

    id: str
    place: SiblingPlace


def stale(entries: Iterable[RowEntry], rows: Sequence[Row]) -> list[str]:
    """Return the ids of other rows at the place of a new one, and past the end of a level that has become shorter."""
    ids, places = {row.id for row in rows}, {row.place for row in rows}
    totals: defaultdict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        level = row.place[:2]
        totals[level] = max(totals[level], row.found.metadata["total_chunks"])
    return [
        id_
        for id_, place in entries
        if id_ not in ids and (place in places or place.position >= totals.get(place[:2], place.position + 1))
    ]


T = TypeVar("T")

_TABLE = """
CREATE TABLE IF NOT EXISTS chunks (
    id TEXT PRIMARY KEY, source_id TEXT NOT NULL, level INTEGER NOT NULL, position INTEGER NOT NULL, chunk TEXT NOT NULL
)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS places ON chunks (source_id, level, position)"
# Lists are passed as JSON, since the number of parameters is limited.
_ENTRIES = """
SELECT id, source_id, level, position FROM chunks WHERE source_id IN (SELECT value FROM json_each(?))
"""
_READ = """
SELECT chunk FROM chunks WHERE id IN (SELECT value FROM json_each(:ids))
UNION
SELECT chunk FROM chunks WHERE (source_id, level, position) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(:places)
)
"""
_LEVEL = "SELECT chunk FROM chunks WHERE source_id IN (SELECT value FROM json_each(?)) AND level = ?"
_WRITE = "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
_DELETE = "DELETE FROM chunks WHERE source_id IN (SELECT value FROM json_each(?))"


class SqliteRows:
    """Rows in a SQLite file, which several processes may read and write, or ":memory:"; StoreError if it is none."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        if str(path) != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute(_TABLE)
                self._connection.execute(_INDEX)
            except sqlite3.Error:
                self._connection.close()
                raise

    def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows by id, and delete those that `stale` names."""
        sources = json.dumps(list({row.place.source_id for row in rows}))

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(_ENTRIES, [sources])
            entries = [RowEntry(id_, SiblingPlace(*place)) for id_, *place in found]
            connection.execute(_REMOVE, [json.dumps(stale(entries, rows))])
            connection.executemany(_WRITE, [(row.id, *row.place, row.written()) for row in rows])

        self._call(write)

    def get(self, ids: Sequence[str], places: Sequence[SiblingPlace]) -> list[Row]:
        """Return rows by id and place."""
        values = {"ids": json.dumps(list(ids)), "places": json.dumps(list(places))}
        return self._call(lambda connection: _rows(connection.execute(_READ, values)))

    def level(self, source_ids: Sequence[str], level: int) -> list[Row]:
        """Return the rows of a level of some documents."""
        values = (json.dumps(list(source_ids)), level)
        return self._call(lambda connection: _rows(connection.execute(_LEVEL, values)))

    def delete(self, source_ids: Sequence[str]) -> int:
        """Delete the rows of documents and return their number."""
        return self._call(lambda connection: connection.execute(_DELETE, [json.dumps(list(source_ids))]).rowcount)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, self._errors(), self._connection:  # Which commits or rolls back what `work` began.
            return work(self._connection)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"The kin store {str(self._path)!r} can't be used: {error}") from error


def _rows(found: sqlite3.Cursor) -> list[Row]:
    return [Row.read(written) for (written,) in found]


# Collection of a `KVStore`, and prefixes of keys, which a store of files uses as names.
_COLLECTION = "kin"
_CHUNK, _SOURCE = "kin_chunk_", "kin_source_"


class KeyValues(NamedTuple):
    """A key-value store of either framework."""

    get: Callable[[Sequence[str]], list[Any]]  # Returns the value of each key; None without one.
    put: Callable[[Mapping[str, Any]], None]  # Adds or replaces values.
    delete: Callable[[Sequence[str]], None]  # Ignores unknown keys.

    @classmethod
    def of(cls, store: Any) -> Self | None:
        """Return a `ByteStore` of LangChain or a `KVStore` of LlamaIndex, or None for anything else."""
        if hasattr(store, "mset"):
            return cls._of_bytes(store)
        return cls._of_objects(store) if hasattr(store, "put_all") else None

    @classmethod
    def _of_bytes(cls, store: Any) -> Self:
        get, put = Method.of(store, "mget", "amget"), Method.of(store, "mset", "amset")
        delete = Method.of(store, "mdelete", "amdelete")
        return cls(
            lambda keys: [None if value is None else json.loads(value) for value in get(list(keys))],
            lambda values: put([(key, json.dumps(value).encode()) for key, value in values.items()]),
            lambda keys: delete(list(keys)),
        )

    @classmethod
    def _of_objects(cls, store: Any) -> Self:
        get, put = Method.of(store, "get", "aget"), Method.of(store, "put_all", "aput_all")
        delete = Method.of(store, "delete", "adelete")

        def delete_each(keys: Sequence[str]) -> None:  # It has no call for several keys.
            for key in keys:
                delete(key, collection=_COLLECTION)

        return cls(
            lambda keys: [get(key, collection=_COLLECTION) for key in keys],
            lambda values: put(list(values.items()), collection=_COLLECTION),
            delete_each,
        )


class KeyValueRows:
    """Rows in a key-value store, with one more value per document that lists them.

    Writes of one process wait for each other. Several processes must not write the same document at once.
    """

    def __init__(self, values: KeyValues) -> None:
        self._values = values
        self._writing = threading.Lock()

    def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows by id, and delete those that `stale` names."""
        sources = list({row.place.source_id for row in rows})
        with self._writing:
            entries = self._entries(sources)
            gone = set(stale(entries, rows))
            kept = {entry.id: entry for entry in entries if entry.id not in gone}
            kept.update((row.id, RowEntry(row.id, row.place)) for row in rows)
            written: dict[str, Any] = {_CHUNK + row.id: json.loads(row.written()) for row in rows}
            for source_id in sources:
                places = [(e.id, *e.place[1:]) for e in kept.values() if e.place.source_id == source_id]
                written[_source_key(source_id)] = {"source_id": source_id, "chunks": places}
            self._values.put(written)
            self._values.delete([_CHUNK + id_ for id_ in gone])

    def get(self, ids: Sequence[str], places: Sequence[SiblingPlace]) -> list[Row]:
        """Return rows by id and place."""
        wanted = set(places)
        entries = self._entries(list({place.source_id for place in places}))
        return self._read([*ids, *(entry.id for entry in entries if entry.place in wanted)])

    def level(self, source_ids: Sequence[str], level: int) -> list[Row]:
        """Return the rows of a level of some documents."""
        return self._read([entry.id for entry in self._entries(source_ids) if entry.place.level == level])

    def delete(self, source_ids: Sequence[str]) -> int:
        """Delete the rows of documents and return their number."""
        with self._writing:
            entries = self._entries(source_ids)
            known = {entry.place.source_id for entry in entries}
            self._values.delete([*map(_source_key, known), *(_CHUNK + entry.id for entry in entries)])
        return len(entries)

    def close(self) -> None:
        """Do nothing: whose store it is closes it."""

    def _entries(self, source_ids: Sequence[str]) -> list[RowEntry]:
        listed = self._values.get([_source_key(source_id) for source_id in source_ids]) if source_ids else []
        return [
            RowEntry(id_, SiblingPlace(value["source_id"], level, position))
            for value in listed
            if value is not None
            for id_, level, position in value["chunks"]
        ]

    def _read(self, ids: Sequence[str]) -> list[Row]:
        keys = [_CHUNK + id_ for id_ in dict.fromkeys(ids)]
        return [Row.read(value) for value in self._values.get(keys) if value is not None] if keys else []


def _source_key(source_id: str) -> str:
    return _SOURCE + chunk_id(source_id, "", 0, 0)


#: Rows of chunks by id and by place.
Rows = SqliteRows | KeyValueRows


class KinStore(AbstractContextManager[Any]):
    """The chunks of documents, from which `SiblingExpansion` fetches kin if a vector store can't.

    Fill it when the chunks are written to the vector store. It holds their texts and metadata, no vectors. Threads,
    event loops and, with SQLite, processes can share one.

    Args:
        store: Path of a SQLite file, created if it is missing; ":memory:" for none; or a LangChain `ByteStore` or a
            LlamaIndex `KVStore`.

    Raises:
        InvalidParameterError: `store` is none of these.
        StoreError: The file can't be opened, or is none of SQLite.

    Example:
        >>> kin = KinStore("kin.db")
        >>> kin.add(chunks)
        >>> chain = retriever | SiblingExpansion(kin, window=2)
    """

    def __init__(self, store: str | Path | Any = "kin.db") -> None:
        if isinstance(store, str | Path):
            self._rows: Rows = SqliteRows(store)
        else:
            found = KeyValues.of(store)
            if found is None:
                rule = "must be a path, a ByteStore of LangChain or a KVStore of LlamaIndex"
                raise InvalidParameterError("store", rule, store, 'Pass "kin.db".')
            self._rows = KeyValueRows(found)
        #: The reader of the chunks; see `kinsplit.integrations.shared.kin.reader.KinReader`.
        self.reader = SidecarReader(self._rows)

    def add(self, chunks: Iterable[Any]) -> int:
        """Add chunks, or replace those at the same place of their document.

        The documents may be added in several calls. If a document has become shorter, its chunks past the end are
        deleted.

        Args:
            chunks: Documents of LangChain or nodes of LlamaIndex that kinsplit has split.

        Returns:
            The number of chunks.

        Raises:
            InvalidParameterError: One is no chunk of kinsplit, or its position or id is unknown.
        """
        rows = _rows_of(chunks)
        self._rows.put(rows)
        return len(rows)

    aadd = awaiting(add)

    def delete(self, source_ids: str | Iterable[str]) -> int:
        """Delete the chunks of documents.

        Args:
            source_ids: Id of a document, or ids of several; unknown ones are ignored.

        Returns:
            The number of chunks deleted.
        """
        sources = [source_ids] if isinstance(source_ids, str) else list(dict.fromkeys(source_ids))
        return self._rows.delete(sources)

    adelete = awaiting(delete)

    def close(self) -> None:
        """Close the SQLite file. A second call does nothing; another store stays open."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SidecarReader(KinReader):
    """Fetches chunks from a `KinStore`, siblings and parents in one read."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        return [row.found.to_chunk() for row in self._rows.get([stored_id(id_) for id_ in ids], places)]

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return [row.found.to_chunk() for row in self._rows.level(source_ids, level)]

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents of a single chunk whose id is their path; see `KinReader.whole_documents`."""
        rows = self._rows.get([], [SiblingPlace(path, 0, 0) for path in paths])
        return [row.found for row in rows if not row.found.metadata["is_chunked"]]


def _rows_of(chunks: Iterable[Any]) -> list[Row]:
    rows = []
    for number, found in enumerate(map(FoundNode.of, chunks)):
        if not found.is_located or not found.id:
            rule = "must be chunks that kinsplit made, with their ids"
            remedy = "Pass the whole result of a text splitter or node parser of kinsplit."
            raise InvalidParameterError(f"chunks[{number}]", rule, found.text, remedy)
        rows.append(Row.of(found._replace(metadata=to_json(found.metadata, "metadata"))))
    return rows

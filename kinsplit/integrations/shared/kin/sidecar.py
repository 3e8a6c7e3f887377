"""`KinStore`: the chunks of documents beside a vector store that can't be asked for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, SiblingPlace
from kinsplit.integrations.shared.kin.rows import KeyValueRows, KeyValues, Row, SqliteRows
from kinsplit.integrations.shared.records import stored_id
from kinsplit.stores.json_values import to_json
from kinsplit.support.threads import awaiting

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
        rows = _rows(chunks)
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
        return self._rows.delete(_listed(source_ids))

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


def _listed(source_ids: str | Iterable[str]) -> list[str]:
    return [source_ids] if isinstance(source_ids, str) else list(dict.fromkeys(source_ids))


def _rows(chunks: Iterable[Any]) -> list[Row]:
    rows = []
    for number, found in enumerate(map(FoundNode.of, chunks)):
        if not found.is_located or not found.id:
            rule = "must be chunks that kinsplit made, with their ids"
            remedy = "Pass the whole result of a text splitter or node parser of kinsplit."
            raise InvalidParameterError(f"chunks[{number}]", rule, found.text, remedy)
        rows.append(Row.of(found._replace(metadata=to_json(found.metadata, "metadata"))))
    return rows

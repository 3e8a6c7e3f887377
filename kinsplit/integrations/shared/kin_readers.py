"""Readers that fetch kin from a chunk store, or from a Qdrant collection of either framework."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.index import Index
from kinsplit.integrations.shared.collection import Collection
from kinsplit.integrations.shared.origins import is_located
from kinsplit.integrations.shared.records import Item, from_chunk, to_chunk
from kinsplit.integrations.shared.siblings import Found, KinReader, Place
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore, open_store
from kinsplit.stores.engines.qdrant.payload import unwrapped
from kinsplit.stores.payload import ABOVE, RECORD

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

# Prefixes of metadata keys: none at top level, and that of LangChain's store.
_PREFIXES = ("", "metadata.")
# Prefix under which kinsplit's stores keep the metadata of parents.
_ABOVE = f"{ABOVE}."
# Keys of the text: LangChain's, kinsplit's, and often the only one of documents that were embedded whole.
_TEXTS = ("page_content", "full_content", "content_preview")


class QdrantReader:
    """Fetches kinsplit's chunks through a Qdrant client, without their vectors.

    Chunks are fetched by id if the strategy is known and they have kinsplit's ids; this needs no payload index.
    Otherwise they are fetched by source and index, for which a server needs payload indexes on `source_id` and
    `chunk_index`, or on `metadata.source_id` and `metadata.chunk_index` in LangChain's collections.

    Args:
        client: The client.
        collection: Name of the collection.
        fingerprint: Fingerprint of the strategy that made the chunks, if it is known.
    """

    def __init__(self, client: QdrantClient, collection: str, fingerprint: str | None = None) -> None:
        self._client, self._collection = client, collection
        self.fingerprint = fingerprint
        self._lock = threading.Lock()  # The client's local mode is not thread-safe.

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        with self._lock:
            records = self._client.retrieve(self._collection, list(ids), with_payload=True, with_vectors=False)
        return list(_chunks(records))

    def find(self, places: Sequence[Place], ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        from qdrant_client import models

        wanted: list[Any] = [_within(prefix, run) for run in _runs(places) for prefix in (*_PREFIXES, _ABOVE)]
        if ids:
            wanted.append(models.HasIdCondition(has_id=list(ids)))
        records: list[models.Record] = []
        offset = None
        while wanted:
            with self._lock:
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=models.Filter(should=wanted),
                    limit=len(places) + len(ids),
                    offset=offset,
                    with_payload=True,
                    with_vectors=False,
                )
            records += page
            if offset is None:  # There are further pages if chunks were written twice, under different ids.
                break
        return list(_chunks(records))

    def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return documents that were embedded whole or have a single chunk; see `KinReader.whole_documents`."""
        from qdrant_client import models

        records: list[models.Record] = []
        offset = None
        wanted = [
            models.FieldCondition(key=f"{prefix}file_path", match=models.MatchAny(any=list(paths)))
            for prefix in _PREFIXES
        ]
        chunked = [
            models.FieldCondition(key=f"{prefix}is_chunked", match=models.MatchValue(value=True))
            for prefix in _PREFIXES
        ]
        while paths:
            with self._lock:
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=models.Filter(should=list(wanted), must_not=list(chunked)),
                    offset=offset,
                    with_payload=True,
                    with_vectors=False,
                )
            records += page
            if offset is None:
                break
        contents = ((str(record.id), *_content(record.payload or {})) for record in records)
        return [Found(id_, text, metadata, None) for id_, text, metadata in contents]


def _runs(places: Sequence[Place]) -> Iterator[tuple[Place, int]]:
    """Yield the first place of each run of consecutive siblings, with the last index of the run."""
    ordered = enumerate(sorted(set(places)))
    for _, group in groupby(ordered, key=lambda pair: (pair[1].source_id, pair[1].level, pair[1].position - pair[0])):
        run = [place for _, place in group]
        yield run[0], run[-1].position


def _within(prefix: str, run: tuple[Place, int]) -> models.Filter:
    from qdrant_client import models

    first, last = run
    return models.Filter(
        must=[
            models.FieldCondition(key=f"{prefix}source_id", match=models.MatchValue(value=first.source_id)),
            models.FieldCondition(key=f"{prefix}level", match=models.MatchValue(value=first.level)),
            models.FieldCondition(key=f"{prefix}chunk_index", range=models.Range(gte=first.position, lte=last)),
        ]
    )


def _chunks(records: Sequence[models.Record]) -> Iterator[Chunk]:
    for record in records:
        text, metadata = _content(record.payload or {})
        if is_located(metadata, text):
            yield to_chunk(Item(str(record.id), text, metadata, metadata["source_id"]))


def _content(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text and the metadata of a payload."""
    payload = unwrapped(payload)
    if "_node_content" in payload:
        node = json.loads(payload["_node_content"])
        return node.get("text") or (node.get("text_resource") or {}).get("text") or "", node.get("metadata") or {}
    text = next((payload[key] for key in _TEXTS if key in payload), "")
    return text, payload.get("metadata") or payload


class StoreReader:
    """Fetches chunks from a chunk store.

    Chunks are fetched by id if the strategy is known and they have kinsplit's ids; otherwise by a filter that matches
    more than is needed, and parents by id in a separate call.

    Args:
        opened: Returns the store; None while the collection doesn't exist, which finds nothing.
        fingerprint: Fingerprint of the strategy that made the chunks; None takes that of the collection.
    """

    def __init__(self, opened: Callable[[], ChunkStore | None], fingerprint: str | None = None) -> None:
        self._opened, self._fingerprint = opened, fingerprint

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy; see `KinReader.fingerprint`."""
        store = None if self._fingerprint else self._opened()
        return self._fingerprint if store is None else store.schema.fingerprint

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        store = self._opened()
        return [] if store is None else [chunk for chunk in store.get(ids) if _is_located(chunk)]

    def find(self, places: Sequence[Place], ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        store = self._opened()
        if store is None:
            return []
        found = store.get(ids) if ids else []
        if places:
            sources, levels, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            where = {"source_id": sources, "chunk_index": indices}
            found += store.find(where, levels[0] if len(levels) == 1 else None)
        return [chunk for chunk in found if _is_located(chunk)]

    def whole_documents(self, paths: Sequence[str]) -> list[Found]:
        """Return documents of a single chunk; see `KinReader.whole_documents`."""
        store = self._opened()
        found = [] if store is None else store.find({"file_path": list(paths), "is_chunked": False})
        return [Found(item.id, item.text, item.metadata, None) for item in map(from_chunk, found)]


def _is_located(chunk: Chunk) -> bool:
    """Return whether kinsplit made a chunk; anything else that a framework stores is a document of a single chunk."""
    if RECORD not in chunk.metadata:
        return True
    item = from_chunk(chunk)
    return is_located(item.metadata, item.text)


class Opened(NamedTuple):
    """A reader of a collection.

    Attributes:
        reader: The reader.
        store: The store that was opened for the reader, to be closed with it; None if the user gave an open store.
    """

    reader: KinReader
    store: ChunkStore | None = None


def open_reader(store: object, collection: str, strategy: Strategy | None) -> Opened:
    """Return a reader of a collection.

    Args:
        store: The address of a store, an open store, a `kinsplit.Index`, a vector store of kinsplit, a Qdrant store of
            LlamaIndex or LangChain, a LlamaIndex index over one of these, or a Qdrant client.
        collection: Name of the collection, for an address or a Qdrant client.
        strategy: The strategy that made the chunks, if the collection doesn't record it.

    Raises:
        InvalidParameterError: `store` is none of these.
        StoreError: The collection doesn't exist or can't be opened.
    """
    fingerprint = None if strategy is None else strategy.fingerprint
    given = cast(Any, getattr(store, "vector_store", store))  # An index of LlamaIndex holds its store there.
    if isinstance(given, str):
        opened = open_store(given, collection)
        return Opened(StoreReader(lambda: opened, fingerprint), opened)
    if isinstance(given, Index):
        return Opened(StoreReader(lambda: given.store, fingerprint))
    kept = getattr(given, "_collection", None)
    if isinstance(kept, Collection):  # It may open or create the collection later.
        return Opened(StoreReader(kept.open, fingerprint))
    name = getattr(given, "collection_name", None)
    client = given if name is None else given.client
    if hasattr(client, "scroll"):
        return Opened(QdrantReader(client, name or collection, fingerprint))
    if hasattr(given, "sources"):
        return Opened(StoreReader(lambda: given, fingerprint))
    rule = "must be the address of a store, an open store, an Index, a vector store over kinsplit or Qdrant"
    raise InvalidParameterError(
        "store", f"{rule}, or a QdrantClient", store, "Pass the store that the chunks were written to."
    )

"""Readers that fetch kin from a store of kinsplit, of either framework, or from a `KinStore`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kinsplit.chunk import RECORD, Chunk
from kinsplit.errors import InvalidParameterError, require
from kinsplit.index import Index
from kinsplit.integrations.shared.collection import Collection
from kinsplit.integrations.shared.kin.framework import FrameworkReader, JointReader, Keys, QdrantReader
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, SiblingPlace
from kinsplit.integrations.shared.kin.sidecar import KinStore
from kinsplit.integrations.shared.origins import is_located
from kinsplit.integrations.shared.records import from_chunk, stored_id
from kinsplit.parsers import Strategy
from kinsplit.stores import ChunkStore, open_store
from kinsplit.stores.values import Where


class StoreReader(KinReader):
    """Fetches chunks from a chunk store, or nothing while its collection doesn't exist.

    Chunks are fetched by id if the strategy is known, as a collection knows its own, and they have kinsplit's ids;
    otherwise by a filter that matches more than is needed, and parents by id in a separate call.
    """

    def __init__(self, opened: Callable[[], ChunkStore | None], fingerprint: str | None = None) -> None:
        super().__init__(fingerprint)
        self._opened = opened

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy; see `KinReader.fingerprint`."""
        store = None if self._fingerprint else self._opened()
        return self._fingerprint if store is None else store.schema.fingerprint

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        store = self._opened()
        found = [] if store is None else store.get([stored_id(id_) for id_ in ids])
        return [chunk for chunk in found if _is_located(chunk)]

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found = self.get(ids) if ids else []
        if places:
            sources, levels, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            where = {"source_id": sources, "chunk_index": indices}
            placed = self._find(where, levels[0] if len(levels) == 1 else None)
            found += [chunk for chunk in placed if _is_located(chunk)]
        return found

    def _find(self, where: Where, level: int | None = 0) -> list[Chunk]:
        store = self._opened()
        return [] if store is None else store.find(where, level)

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return [chunk for chunk in self._find({"source_id": list(source_ids)}, level) if _is_located(chunk)]

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents of a single chunk; see `KinReader.whole_documents`."""
        found = self._find({"file_path": list(paths), "is_chunked": False})
        return [FoundNode(item.id, item.text, item.metadata) for item in map(from_chunk, found)]


def _is_located(chunk: Chunk) -> bool:
    """Return whether kinsplit made a chunk; anything else that a framework stores is a document of a single chunk."""
    if RECORD not in chunk.metadata:
        return True
    item = from_chunk(chunk)
    return is_located(item.metadata, item.text)


_RULE = (
    "must be a store that can be asked for chunks: the address of a store, an open store, an Index, a QdrantClient, a "
    "vector store or docstore of LangChain or LlamaIndex that reads by id or by metadata, or a KinStore"
)
_REMEDY = "Fill a KinStore when the chunks are written, KinStore('kin.db').add(chunks), and pass that."


class AddressedStore(NamedTuple):
    """A store that was opened by its address."""

    address: str
    collection: str
    opened: ChunkStore

    @classmethod
    def of(cls, store: object, collection: str) -> object:
        """Return the store of an address, or of another collection there; and any other store unchanged."""
        if isinstance(store, cls):
            return store if store.collection == collection else cls.of(store.address, collection)
        return cls(store, collection, open_store(store, collection)) if isinstance(store, str) else store


class Readers(NamedTuple):
    """Readers of a collection, and of the parents of its chunks."""

    siblings: KinReader
    parents: KinReader


def open_reader(store: object, collection: str, strategy: Strategy | None, parent_store: object = None) -> Readers:
    """Return readers of a collection.

    Args:
        store: An open store, also of an address, a `kinsplit.Index`, a `QdrantClient`, a vector store or document
            store of either framework, a LlamaIndex index or storage context, or a `KinStore`.
        collection: Name of the collection, for an address or a Qdrant client; others have one of their own.
        strategy: The strategy that made the chunks, if the collection doesn't record it.
        parent_store: Store of the parents, if it is another one; not an address.

    Raises:
        InvalidParameterError: `store` or `parent_store` is none of these, or can't be asked for chunks, or `store` has
            a collection of its own, and another one is named.
    """
    fingerprint = None if strategy is None else strategy.fingerprint
    siblings = _reader(store, collection, fingerprint, "store")
    named = isinstance(store, AddressedStore) or (hasattr(store, "scroll") and not hasattr(store, "collection_name"))
    rule = "can be given for an address or a QdrantClient only, since other stores have one of their own"
    require(named or collection == "default", "collection", rule, collection, "Leave it out.")
    parents = siblings if parent_store is None else _reader(parent_store, collection, fingerprint, "parent_store")
    return Readers(siblings, parents)


def _reader(store: Any, collection: str, fingerprint: str | None, field: str) -> KinReader:
    reader = _first(store, collection, fingerprint)
    if reader is None:
        raise InvalidParameterError(field, _RULE, store, _REMEDY)
    return reader


def _first(store: Any, collection: str, fingerprint: str | None) -> KinReader | None:
    ways = (_of_kin_store, _of_index, _of_several, _of_chunk_store, _of_qdrant, _of_framework)
    found = (way(store, collection, fingerprint) for way in ways)
    return next((reader for reader in found if reader is not None), None)


def _of_kin_store(store: Any, _collection: str, _fingerprint: str | None) -> KinReader | None:
    return store.reader if isinstance(store, KinStore) else None


def _of_index(store: Any, _collection: str, fingerprint: str | None) -> KinReader | None:
    return StoreReader(lambda: store.store, fingerprint) if isinstance(store, Index) else None


def _of_chunk_store(store: Any, _collection: str, fingerprint: str | None) -> KinReader | None:
    """A chunk store, or a vector store of kinsplit over one, which may open or create the collection later."""
    if isinstance(store, AddressedStore):
        return StoreReader(lambda: store.opened, fingerprint)
    kept = getattr(store, "_collection", None)
    if isinstance(kept, Collection):
        return StoreReader(kept.open, fingerprint)
    return StoreReader(lambda: store, fingerprint) if hasattr(store, "sources") else None


def _of_qdrant(store: Any, collection: str, fingerprint: str | None) -> KinReader | None:
    """A Qdrant client, or the Qdrant store of either framework."""
    name = getattr(store, "collection_name", None)
    client: Any = store if name is None else getattr(store, "client", None)
    if not hasattr(client, "scroll"):
        return None
    text = getattr(store, "content_payload_key", None) or getattr(store, "text_key", None)
    keys = Keys((*((text,) if text else ()), *Keys().texts), getattr(store, "metadata_payload_key", Keys().metadata))
    return QdrantReader(client, name or collection, fingerprint, keys, getattr(store, "_aclient", None))


def _of_several(store: Any, collection: str, fingerprint: str | None) -> KinReader | None:
    """A LlamaIndex index or storage context: its vector store, if it has one that can be asked, and its docstore."""
    if not hasattr(store, "docstore") or not (hasattr(store, "vector_store") or hasattr(store, "index_struct")):
        return None
    found = (_first(one, collection, fingerprint) for one in (getattr(store, "vector_store", None), store.docstore))
    readers = [reader for reader in found if reader is not None]
    return JointReader(readers) if readers else None


def _of_framework(store: Any, _collection: str, fingerprint: str | None) -> KinReader | None:
    reader = FrameworkReader(store, fingerprint)
    return reader if reader.is_readable else None

"""Readers of the frameworks' own stores, of Qdrant collections, and of several stores together."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kinsplit.chunk import ABOVE, Chunk
from kinsplit.errors import StoreError
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, Method, SiblingPlace
from kinsplit.integrations.shared.origins import has_chunk_metadata
from kinsplit.integrations.shared.records import stored_id
from kinsplit.stores.engines.qdrant.payload import unwrapped

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient, models

#: Allowed values by metadata key; all keys must match.
Values = Mapping[str, Sequence[str | int | bool]]

# Module of LlamaIndex's base class of vector stores.
_LLAMA_INDEX = "llama_index.core.vector_stores.types"
# LlamaIndex's store for Postgres puts values into SQL as they are.
_PLAIN = re.compile(r"[\w ./@#+=,~()-]*")


#: Reads the documents or nodes that match, in one call to the store, in any order.
ByMetadata = Callable[[Values], list[FoundNode]]


def by_metadata(store: Any) -> ByMetadata | None:
    """Return the read by metadata that is known for a store, or None."""
    names = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(store).__mro__)
    way = next((FILTER_WAYS[name] for name in names if name in FILTER_WAYS), None)
    return None if way is None else way(store)


def _chroma(store: Any) -> ByMetadata:
    """LangChain's store for Chroma."""
    get = Method(store.get)

    def read(values: Values) -> list[FoundNode]:
        conditions = [{key: {"$in": list(allowed)}} for key, allowed in values.items()]
        rows = get(where=conditions[0] if len(conditions) == 1 else {"$and": conditions})
        return _found(zip(rows["ids"], rows["documents"], rows["metadatas"], strict=False))

    return read


def _postgres(store: Any) -> ByMetadata:
    """LangChain's `PGVector`, which can only search; the query goes past the vectors and so past an index of them."""

    def statement(values: Values) -> Any:
        from sqlalchemy import select

        row = store.EmbeddingStore
        conditions = [row.cmetadata[key].astext.in_(list(map(_json, allowed))) for key, allowed in values.items()]
        named = row.collection.has(name=store.collection_name)
        return select(row.id, row.document, row.cmetadata).where(named, *conditions)

    def blocking(values: Values) -> Iterable[Any]:
        with store.session_maker() as session:
            return list(session.execute(statement(values)))

    async def awaitable(values: Values) -> Iterable[Any]:
        async with store.session_maker() as session:
            return list(await session.execute(statement(values)))

    query = Method(blocking, awaitable if store.async_mode else None)
    return lambda values: _found(query(values))


def _found(rows: Iterable[Any]) -> list[FoundNode]:
    return [FoundNode(str(id_), text or "", metadata or {}) for id_, text, metadata in rows]


def _json(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_memory(store: Any, ids: Iterable[str]) -> ByMetadata:
    """A store of LangChain in this process, all of whose documents are read."""
    get = Method.of(store, "get_by_ids", "aget_by_ids")

    def read(values: Values) -> list[FoundNode]:
        found = [FoundNode.of(document) for document in get(list(ids))]
        return [one for one in found if all(one.metadata.get(key) in allowed for key, allowed in values.items())]

    return read


def _llama_index(store: Any) -> ByMetadata | None:
    """A vector store of LlamaIndex."""
    if not store.stores_text or not _own(store, "get_nodes", _LLAMA_INDEX):
        return None
    get = Method.of(store, "get_nodes", "aget_nodes")

    def read(values: Values) -> list[FoundNode]:
        from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

        safe = {key: [v for v in allowed if _PLAIN.fullmatch(str(v))] for key, allowed in values.items()}
        if not all(safe.values()):
            return []
        filters = MetadataFilters(
            filters=[MetadataFilter(key=key, value=v, operator=FilterOperator.IN) for key, v in safe.items()]
        )
        return [FoundNode.of(node) for node in get(node_ids=None, filters=filters)]

    return read


#: The known reads by metadata, by package and class of the store, of which the most specific is used.
FILTER_WAYS: Mapping[str, Callable[[Any], ByMetadata | None]] = {
    "langchain_chroma.Chroma": _chroma,
    "langchain_community.FAISS": lambda store: _in_memory(store, store.index_to_docstore_id.values()),
    "langchain_core.InMemoryVectorStore": lambda store: _in_memory(store, store.store),
    "langchain_postgres.PGVector": _postgres,
    "llama_index.BasePydanticVectorStore": _llama_index,
}


#: Reads documents or nodes by id, in one call to the store, in any order.
ById = Callable[[Sequence[str]], list[FoundNode]]


def by_id(store: Any) -> ById | None:
    """Return the read by id that a store offers, or None."""
    found = (way(store) for way in (_of_vector_store, _of_docstore, _of_nodes))
    return next((read for read in found if read is not None), None)


def _own(store: Any, method: str, base: str) -> bool:
    """Return whether a store has a method of its own, and not that of a framework's base class."""
    return getattr(getattr(store, method, None), "__module__", base) != base


def _of_vector_store(store: Any) -> ById | None:
    """The documents of a LangChain vector store."""
    if not _own(store, "get_by_ids", "langchain_core.vectorstores.base"):
        return None
    get = Method.of(store, "get_by_ids", "aget_by_ids")
    return lambda ids: [FoundNode.of(document) for document in get(list(ids))]


def _of_docstore(store: Any) -> ById | None:
    """The documents of a LangChain key-value store, by keys, which replace their own ids: a docstore, or its bytes."""
    if not hasattr(store, "mget"):
        return None
    get = Method.of(store, "mget", "amget")

    def found(key: str, value: Any) -> FoundNode:
        if not isinstance(value, bytes):
            return FoundNode.of(value)._replace(id=key)
        try:  # As `create_kv_docstore` writes a document, read without creating objects of any class.
            fields = json.loads(value)["kwargs"]
            return FoundNode(key, fields["page_content"], fields.get("metadata") or {})
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"The value of {key!r} is not a document of LangChain. Pass the docstore.") from error

    def read(ids: Sequence[str]) -> list[FoundNode]:
        return [found(key, value) for key, value in zip(ids, get(list(ids)), strict=True) if value is not None]

    return read


def _of_nodes(store: Any) -> ById | None:
    """The nodes of a LlamaIndex vector store or docstore."""
    if not _own(store, "get_nodes", _LLAMA_INDEX) or not getattr(store, "stores_text", True):
        return None
    # A docstore fails on unknown ids by default, and a vector store doesn't know the argument.
    options = {"raise_error": False} if hasattr(type(store), "get_document") else {}
    get = Method.of(store, "get_nodes", "aget_nodes")
    return lambda ids: [FoundNode.of(node) for node in get(node_ids=list(ids), **options)]


class FrameworkReader(KinReader):
    """Fetches chunks from a vector store or document store of either framework, by id or by metadata."""

    def __init__(self, store: Any, fingerprint: str | None = None) -> None:
        super().__init__(fingerprint)
        self._by_id, self._by_metadata = by_id(store), by_metadata(store)

    @property
    def is_readable(self) -> bool:
        """Whether the store offers a read by id, or one by metadata that is known."""
        return self._by_id is not None or self._by_metadata is not None

    @property
    def by_place(self) -> Literal["first", "last", "never"]:
        """When chunks are read by place; see `KinReader.by_place`."""
        if self._by_metadata is None:
            return "never"
        return "first" if self._by_id is None else "last"

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        if self._by_id is None or not ids:
            return []
        try:
            return [found.to_chunk() for found in self._by_id(ids)]
        except NotImplementedError:  # A method that a subclass has and refuses.
            self._by_id = None
            return []

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found = self.get(ids)
        if places:
            sources, _, indices = ([*dict.fromkeys(column)] for column in zip(*places, strict=True))
            found += self._matching({"source_id": sources, "chunk_index": indices})
        return found

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return self._matching({"source_id": list(source_ids), "level": [level]})

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents that were embedded whole or have a single chunk; see `KinReader.whole_documents`."""
        found = self._read({"file_path": list(paths)}) if paths else []
        return [one for one in found if not one.metadata.get("is_chunked", has_chunk_metadata(one.metadata))]

    def _matching(self, values: Values) -> list[Chunk]:
        return [found.to_chunk() for found in self._read(values) if found.is_located]

    def _read(self, values: Values) -> list[FoundNode]:
        return [] if self._by_metadata is None else self._by_metadata(values)


class JointReader(KinReader):
    """Fetches chunks from several stores: from each what the ones before it don't have."""

    def __init__(self, readers: Sequence[KinReader]) -> None:
        super().__init__()
        self._readers = readers

    @property
    def by_place(self) -> Literal["first", "last", "never"]:
        """When chunks are read by place; see `KinReader.by_place`."""
        order = [reader.by_place for reader in self._readers]
        return "never" if set(order) == {"never"} else "first" if order[0] == "first" else "last"

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the strategy; see `KinReader.fingerprint`."""
        return self._readers[0].fingerprint

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        found: list[Chunk] = []
        for reader in self._readers:
            if not places and not ids:
                break
            found += reader.find(places, ids) if places else reader.get(ids)
            known, taken = ({chunk.id for chunk in found}, {(c.source_id, c.level, c.index) for c in found})
            ids = [id_ for id_ in ids if stored_id(id_) not in known]
            places = [place for place in places if place not in taken]
        return found

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        return [chunk for reader in self._readers for chunk in reader.level(source_ids, level)]

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents of a single chunk; see `KinReader.whole_documents`."""
        return [found for reader in self._readers for found in reader.whole_documents(paths)]


# Prefix under which kinsplit's stores keep the metadata of parents.
_ABOVE = f"{ABOVE}."


class Keys(NamedTuple):
    """Keys of a payload."""

    texts: tuple[str, ...] = ("page_content", "full_content", "content_preview")
    metadata: str = "metadata"  # LangChain's; they may be at top level too.

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Prefixes of the metadata's keys."""
        return ("", f"{self.metadata}.")


class QdrantReader(KinReader):
    """Fetches kinsplit's chunks through a Qdrant client, without their vectors.

    Chunks are fetched by id if the strategy is known and they have kinsplit's ids; this needs no payload index.
    Otherwise they are fetched by source and index, for which a server needs payload indexes on `source_id` and
    `chunk_index`, or on `metadata.source_id` and `metadata.chunk_index` in LangChain's collections. Without an
    asynchronous client, event loops call the other one in threads.
    """

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        fingerprint: str | None = None,
        keys: Keys = Keys(),  # noqa: B008 - an immutable value
        async_client: AsyncQdrantClient | None = None,
    ) -> None:
        super().__init__(fingerprint)
        self._collection, self._keys = collection, keys
        self._lock = threading.Lock()  # The client's local mode is not thread-safe.
        self._retrieve, self._scroll = (self._method(client, async_client, name) for name in ("retrieve", "scroll"))

    def _method(self, client: QdrantClient, async_client: AsyncQdrantClient | None, name: str) -> Method:
        def blocking(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                return getattr(client, name)(*args, **kwargs)

        return Method(blocking, getattr(async_client, name, None))

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        records = self._retrieve(
            self._collection, [stored_id(id_) for id_ in ids], with_payload=True, with_vectors=False
        )
        return self._chunks(records)

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        from qdrant_client import models

        prefixes = (*self._keys.prefixes, _ABOVE)
        wanted: list[Any] = [_within(prefix, run) for run in _runs(places) for prefix in prefixes]
        if ids:
            wanted.append(models.HasIdCondition(has_id=[stored_id(id_) for id_ in ids]))
        # There are further pages if chunks were written twice, under different ids.
        return self._chunks(self._pages(models.Filter(should=wanted), len(places) + len(ids)) if wanted else [])

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        from qdrant_client import models

        wanted: list[Any] = [
            models.Filter(must=[_among(f"{prefix}source_id", source_ids), _equal(f"{prefix}level", level)])
            for prefix in (*self._keys.prefixes, _ABOVE)
        ]
        return self._chunks(self._pages(models.Filter(should=wanted)))

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents that were embedded whole or have a single chunk; see `KinReader.whole_documents`."""
        from qdrant_client import models

        if not paths:
            return []
        wanted = [_among(f"{prefix}file_path", paths) for prefix in self._keys.prefixes]
        chunked = [_equal(f"{prefix}is_chunked", True) for prefix in self._keys.prefixes]
        records = self._pages(models.Filter(should=wanted, must_not=chunked))
        return [self._found(record) for record in records]

    def _pages(self, wanted: models.Filter, limit: int = 256) -> list[models.Record]:
        """Return all matching records."""
        records: list[models.Record] = []
        offset = None
        while True:
            reading = {"limit": limit, "offset": offset, "with_payload": True, "with_vectors": False}
            page, offset = self._scroll(self._collection, scroll_filter=wanted, **reading)
            records += page
            if offset is None:
                return records

    def _chunks(self, records: Sequence[models.Record]) -> list[Chunk]:
        return [found.to_chunk() for found in map(self._found, records) if found.is_located]

    def _found(self, record: models.Record) -> FoundNode:
        return FoundNode(str(record.id), *self._content(unwrapped(record.payload)))

    def _content(self, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the text and the metadata of a payload."""
        if "_node_content" in payload:
            node = json.loads(payload["_node_content"])
            text = node.get("text") or (node.get("text_resource") or {}).get("text") or ""
            return text, node.get("metadata") or {}
        text = next((payload[key] for key in self._keys.texts if key in payload), "")
        return text, payload.get(self._keys.metadata) or payload


def _runs(places: Sequence[SiblingPlace]) -> Iterator[tuple[SiblingPlace, int]]:
    """Yield the first place of each run of consecutive siblings, with the last index of the run."""
    ordered = enumerate(sorted(set(places)))
    for _, group in groupby(ordered, key=lambda pair: (pair[1].source_id, pair[1].level, pair[1].position - pair[0])):
        run = [place for _, place in group]
        yield run[0], run[-1].position


def _equal(key: str, value: str | int | bool) -> Any:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _among(key: str, values: Sequence[str]) -> Any:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def _within(prefix: str, run: tuple[SiblingPlace, int]) -> models.Filter:
    from qdrant_client import models

    first, last = run
    position = models.FieldCondition(key=f"{prefix}chunk_index", range=models.Range(gte=first.position, lte=last))
    place = [_equal(f"{prefix}source_id", first.source_id), _equal(f"{prefix}level", first.level), position]
    return models.Filter(must=place)

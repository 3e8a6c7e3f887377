"""The collection behind both frameworks' vector stores, opened at first use, for threads and event loops."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError, KinsplitWarning, require
from kinsplit.integrations.shared.origins import has_chunk_metadata
from kinsplit.integrations.shared.records import Item, stored_id, to_chunk
from kinsplit.stores import ChunkStore, Hit, Schema, Vectors, open_store
from kinsplit.stores.address import STORES
from kinsplit.stores.schema import check_collection
from kinsplit.stores.values import Where

T = TypeVar("T")


def check_store(store: object) -> None:
    """Raise InvalidParameterError unless this is an open store, or an address that names an engine."""
    if isinstance(store, str):
        STORES.of_spec(store)
    else:
        remedy = 'Give for example "edge:./kinsplit-data", or Index.store.'
        require(isinstance(store, ChunkStore), "store", "must be an address or an open store", store, remedy)


class Collection:
    """A chunk store, or the address of one, that is opened at first use, and created for a model and a language."""

    def __init__(self, store: str | ChunkStore, name: str, model: str, language: str | None) -> None:
        rule = "can be given for an address only, since an open store has one of its own"
        require(isinstance(store, str) or name == "default", "collection", rule, name, "Leave it out.")
        check_store(store)
        check_collection(name)
        self._address = store if isinstance(store, str) else None
        self._store = None if isinstance(store, str) else store
        self._name, self._model, self._language = name, model, language
        self._lock = threading.Lock()

    def open(self) -> ChunkStore | None:
        """Return the store, opened on first call; None while the collection doesn't exist."""
        return self._open(None)

    def run(self, work: Callable[[ChunkStore], T], otherwise: T) -> T:
        """Return the result of a function of the store, or another one while the collection doesn't exist."""
        store = self.open()
        return otherwise if store is None else work(store)

    def put(self, items: Sequence[Item], vectors: Sequence[Sequence[float]]) -> None:
        """Store items, at least one, with their vectors; if several have one id, the last one wins.

        A missing collection is created, with the strategy that split the first chunk of kinsplit among them.
        """
        size = len(vectors[0])
        require(size, f"embedding of {items[0].id!r}", "must have numbers", vectors[0], "Embed it again.")
        store = self._open(size, _split_by(items))
        assert store is not None, "it has been created"  # noqa: S101
        _put(store, items, vectors)

    def close(self) -> None:
        """Close the store, if it was opened here."""
        with self._lock:
            if self._address is not None and self._store is not None:
                self._store.close()
                self._store = None

    def _open(self, dimension: int | None, strategy: str = "") -> ChunkStore | None:
        with self._lock:
            if self._store is None and self._address is not None:
                try:
                    self._store = open_store(self._address, self._name)
                except CollectionNotFoundError:
                    if dimension is None:
                        return None
                    self._store = open_store(self._address, self._name, self._schema(dimension, strategy))
            return self._store

    def _schema(self, dimension: int, strategy: str) -> Schema:
        sparse = Bm25Embedder(self._language).fingerprint
        made = {"name": "given", "parameters": {"split_by": strategy} if strategy else {}}
        return Schema(self._model, dimension, sparse, json.dumps(made), "given")


def _split_by(items: Sequence[Item]) -> str:
    """Return the name of the strategy that split the first of some items that are chunks of kinsplit, or ""."""
    return next((str(i.metadata.get("strategy", "")) for i in items if has_chunk_metadata(i.metadata)), "")


def _warn_of_other_parts(schema: Schema, items: Sequence[Item]) -> None:
    """Warn of parts of documents that another splitter made than the collection's chunks."""
    made = json.loads(schema.strategy)
    strategy = made["parameters"].get("split_by", "") if made["name"] == "given" else made["name"]
    other = next((i for i in items if i.source_id != i.id and not has_chunk_metadata(i.metadata)), None)
    if strategy and other is not None:
        warnings.warn(
            f"nodes: {other.id!r} of {other.source_id!r} was not split by kinsplit, unlike the collection's chunks, "
            f'which "{strategy}" made. An index that is loaded from storage, or made from a vector '
            "store, splits with LlamaIndex's own parser unless it is given transformations=[...].",
            KinsplitWarning,
            stacklevel=5,
        )


def _put(store: ChunkStore, items: Sequence[Item], vectors: Sequence[Sequence[float]]) -> None:
    _warn_of_other_parts(store.schema, items)
    pairs: dict[str, tuple[Chunk, NDArray[np.float32]]] = {}
    for item, vector in zip(items, vectors, strict=True):
        dense = np.asarray(vector, dtype=np.float32)
        name, size = f"embedding of {item.id!r}", store.schema.dimension
        rule = f"must have {size:,} numbers, as the collection's embeddings have"
        require(dense.shape == (size,), name, rule, dense.shape, "Embed with the collection's model.")
        require(np.isfinite(dense).all(), name, "must be finite numbers", vector, "Embed it again, or leave it out.")
        chunk = to_chunk(item, dense)
        pairs[chunk.id] = chunk, dense
    chunks = [chunk for chunk, _ in pairs.values()]
    sparse = Bm25Embedder.of(store.schema.sparse).embed([chunk.text for chunk in chunks])
    contents = {
        chunk.content_key: Vectors(dense, terms) for (chunk, dense), terms in zip(pairs.values(), sparse, strict=True)
    }
    store.put(chunks, contents)


def checked_ids(ids: Sequence[str]) -> Sequence[str]:
    """Return ids; raise InvalidParameterError if they are a single one, or one of them is not a string."""
    require(not isinstance(ids, str), "ids", "must be several", ids, "Pass a list.")
    for id_ in ids:
        require(isinstance(id_, str), "ids", "must be strings", id_, "Convert it: str(id).")
    return ids


def stored_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids under which a store keeps items, each once; see `checked_ids`."""
    return [stored_id(id_) for id_ in dict.fromkeys(checked_ids(ids))]


def get(store: ChunkStore, ids: Sequence[str]) -> list[Chunk]:
    """Fetch chunks by the ids of their items."""
    return store.get(stored_ids(ids))


def counted(store: ChunkStore, where: Where | None) -> int:
    """Return the number of leaves that match a filter."""
    found = store.count(0, where)
    if not found:
        store.check_fields(where)
    return found


def remove(store: ChunkStore, ids: Sequence[str]) -> None:
    """Delete chunks by the ids of their items."""
    store.remove(stored_ids(ids))


def clear(store: ChunkStore) -> None:
    """Delete all chunks."""
    for source_id in store.sources():
        store.delete(source_id)


def refuse_unknown(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError for keyword arguments that a framework passes through, such as misspelt ones."""
    for name, value in arguments.items():
        raise InvalidParameterError(name, "is not a known argument", value, "Leave it out.")


def check_number(name: str, value: object) -> None:
    """Raise InvalidParameterError unless this is a number of items to find."""
    is_one = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1
    require(is_one, name, "must be a whole number of at least 1", value, "Ask for one or more.")


def check_cosine(score_threshold: float | None) -> None:
    """Raise InvalidParameterError unless a minimum score is a cosine, or None."""
    if score_threshold is not None:
        rule = "must be a cosine from -1 to 1"
        require(-1 <= score_threshold <= 1, "score_threshold", rule, score_threshold, "Leave it out.")


def with_vectors(store: ChunkStore, hits: Sequence[Hit]) -> tuple[list[Hit], list[Any]]:
    """Return hits and their dense vectors, without those deleted in the meantime."""
    vectors = store.vectors([hit.chunk.id for hit in hits])
    kept = [hit for hit in hits if hit.chunk.id in vectors]
    return kept, [vectors[hit.chunk.id].dense for hit in kept]

"""Examination of a store: every operation, tried on a collection that is made for it and dropped afterwards.

The tests of stores take their chunks and vectors from here too.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kinsplit.chunk import DOCUMENT, Chunk, Content
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import CollectionNotFoundError, KinsplitError, SchemaMismatchError, StoreError
from kinsplit.identity import chunk_id, content_hash, document_hash
from kinsplit.spans import Span
from kinsplit.stores.address import STORES, open_catalog, open_store
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, Schema, SyncReport, Vectors, Where

DENSE = HashEmbedder()
SPARSE = Bm25Embedder()
_STRATEGY = '{"name": "sentence", "parameters": {"chunk_size": 500}}'
SCHEMA = Schema(DENSE.fingerprint, DENSE.dimension, SPARSE.fingerprint, _STRATEGY, "f1", "none")

TEXTS = (
    "A class is a blueprint for objects.",
    "An object is an instance of a class.",
    "Recursion is a function that calls itself.",
    "A loop repeats statements until a condition fails.",
    "Sorting puts the items of a list in order.",
)


def make_chunks(source_id: str, texts: Sequence[str], level: int = 0, **metadata: Any) -> list[Chunk]:
    """Return the linked chunks of a document whose text is `texts` joined by a line break."""
    ids = [chunk_id(source_id, "f1", level, index) for index in range(len(texts))]
    chunks, start = [], 0
    for index, text in enumerate(texts):
        chunks.append(
            Chunk(
                id=ids[index],
                source_id=source_id,
                index=index,
                total=len(texts),
                level=level,
                spans=(Span(start, start + len(text)),),
                text=text,
                prev_id=ids[index - 1] if index else None,
                next_id=ids[index + 1] if index + 1 < len(texts) else None,
                content_hash=content_hash(text),
                metadata=metadata,
            )
        )
        start += len(text) + 1
    return chunks


def make_document(leaves: Sequence[Chunk], title: str = "", **metadata: Any) -> Chunk:
    """Return the chunk of a whole document from its leaves; `embed` takes its terms from the title."""
    return Chunk(
        id=chunk_id(leaves[0].source_id, "f1", DOCUMENT, 0),
        source_id=leaves[0].source_id,
        index=0,
        total=1,
        level=DOCUMENT,
        spans=(Span(0, leaves[-1].end),),
        text="",
        content_hash=document_hash((leaf.content_hash for leaf in leaves), title),
        metadata={"title": title, **metadata},
    )


def embed(chunks: Sequence[Chunk]) -> dict[Content, Vectors]:
    """Return dense and sparse vectors of chunks by content; documents have no dense vectors."""
    vectors = {}
    for chunk in chunks:
        whole = chunk.level == DOCUMENT
        text = chunk.metadata["title"] if whole else chunk.text
        vectors[chunk.content_key] = Vectors(None if whole else DENSE.embed([text])[0], SPARSE.embed([text])[0])
    return vectors


def save(store: ChunkStore, source_id: str, chunks: Sequence[Chunk]) -> tuple[SyncReport, list[Chunk]]:
    """Sync a source as an indexer does; return the report and the chunks that had to be embedded."""
    missing = store.missing(source_id, chunks)
    return store.sync(source_id, chunks, embed(missing)), missing


_REPORT = "Report this with the version of the server"
#: Addresses of stores that no other object can open.
_PRIVATE = ("memory:", "qdrant::memory:")


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """Result of one operation."""

    name: str
    seconds: float
    problem: str | None = None


def examine(address: str) -> Generator[DoctorCheck, None, None]:
    """Try every operation of a store, on a new collection that is dropped whatever happens.

    Yields:
        The result of each operation. A failed one does not keep the others from being tried.

    Raises:
        KinsplitError: The collection can't be created: the server can't be reached, refuses access or is too old.
    """
    name = f"kinsplit-doctor-{uuid.uuid4().hex[:12]}"
    begun = time.perf_counter()
    engine, location = STORES.of_spec(address)
    store = engine.open(location, name, SCHEMA)
    try:
        yield DoctorCheck("create a collection", time.perf_counter() - begun)
        with store:
            for title, within in _WITHIN:
                yield _tried(title, partial(within, store))
        if address not in _PRIVATE:
            for title, outside in _OUTSIDE:
                yield _tried(title, partial(outside, address, name))
    finally:
        store.close()
        if address not in _PRIVATE:
            # The last check reports what keeps it from being dropped.
            with suppress(KinsplitError):
                _clear(address, name)


def _tried(title: str, operation: Callable[[], None]) -> DoctorCheck:
    begun, problem = time.perf_counter(), None
    try:
        operation()
    except KinsplitError as error:
        problem = str(error)
    return DoctorCheck(title, time.perf_counter() - begun, problem)


def _clear(address: str, name: str) -> None:
    """Drop the collection, under either of its names, unless that is done."""
    with open_catalog(address) as catalog:
        for each in (name, _renamed(name)):
            with suppress(CollectionNotFoundError):
                catalog.drop(each)


def _renamed(name: str) -> str:
    return f"{name}-renamed"


def _expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise StoreError(f"{what}: {found!r} instead of {wanted!r}. {_REPORT}.")


def _family(source_id: str, texts: Sequence[str]) -> list[Chunk]:
    """Return the leaves, parents and document of a text, with metadata of every kind."""
    year = 2000 + len(source_id)
    metadata: dict[str, Any] = {"subject": source_id, "year": year, "day": f"{year}-05-31", "final": True}
    metadata["authors"] = [{"name": f"Author of {source_id}"}]
    leaves = make_chunks(source_id, texts, **metadata)
    parents = make_chunks(source_id, [" ".join(texts)], level=1, **metadata)
    leaves = [replace(leaf, parent_id=parents[0].id) for leaf in leaves]
    return [*leaves, *parents, make_document(leaves, "Objects and loops", **metadata)]


_ONE, _OTHER = _family("one", TEXTS), _family("other", TEXTS[:2])
_LEAVES = len(TEXTS)


def _write(store: ChunkStore) -> None:
    with store.first_load():
        for family in (_ONE, _OTHER):
            leaves = sum(chunk.level == 0 for chunk in family)
            _expect("the report of a write", save(store, family[0].source_id, family)[0], SyncReport(added=leaves))


def _write_again(store: ChunkStore) -> None:
    _expect("the contents to embed of an unchanged document", store.missing("one", _ONE), [])
    _expect("the report of an unchanged document", store.sync("one", _ONE, {}), SyncReport(unchanged=_LEAVES))


def _count(store: ChunkStore) -> None:
    _expect("the number of chunks", store.count(), len(_ONE) + len(_OTHER))
    _expect("the documents", store.sources(0), {"one": _LEAVES, "other": 2})


def _search_dense(store: ChunkStore) -> None:
    (hits,) = store.search([Query("dense", DENSE.embed_query(TEXTS[3]), 3)])
    _expect("the best chunk by meaning", [hit.chunk for hit in hits][:1], [_ONE[3]])


def _search_terms(store: ChunkStore) -> None:
    (hits,) = store.search([Query("bm25", SPARSE.embed_query("recursion"), 3)])
    _expect("the chunk with a word", [hit.chunk for hit in hits], [_ONE[2]])


def _search_hybrid(store: ChunkStore) -> None:
    asked = DENSE.embed_query(TEXTS[2])
    terms = SPARSE.embed_query("objects loops")
    queries = [
        Query("dense", asked, 1),
        Query("dense", asked, 5, 1),
        Query("bm25", terms, 5, DOCUMENT),
        Query("bm25", SPARSE.embed_query("recursion"), 5, 0, {"source_id": "other"}),
    ]
    found = [{entry.id for entry, _ in ranking} for ranking in store.rank(queries)]
    parents, documents = ({chunk.id for chunk in (*_ONE, *_OTHER) if chunk.level == level} for level in (1, DOCUMENT))
    _expect("the ids of chunks, parents and documents", found, [{_ONE[2].id}, parents, documents, set()])


def _filter(store: ChunkStore) -> None:
    filters: list[tuple[Where, list[str]]] = [
        ({"subject": "one"}, ["one"]),
        ({"subject": ["one", "other"], "final": True}, ["one", "other"]),
        ({"year": {"$gt": 2003, "$lte": 2005}}, ["other"]),
        ({"day": {"$gte": "2005-01-01"}}, ["other"]),
        ({"subject": {"$ne": "one"}}, ["other"]),
        ({"$not": {"year": 2003}}, ["other"]),
        ({"$or": [{"year": 2003}, {"subject": "nothing"}]}, ["one"]),
        ({"authors[].name": "Author of one"}, ["one"]),
        ({"missing": None}, ["one", "other"]),
        ({"$id": [_ONE[0].id]}, ["one"]),
    ]
    for where, sources in filters:
        _expect(f"the documents by the filter {where}", list(store.sources(0, where)), sources)
        (hits,) = store.search([Query("dense", DENSE.embed_query("a"), 20, 0, where)])
        _expect(f"the hits by the filter {where}", sorted({hit.chunk.source_id for hit in hits}), sources)


def _read_kin(store: ChunkStore) -> None:
    middle = _ONE[2]
    kin = [id_ for id_ in (middle.prev_id, middle.next_id, middle.parent_id) if id_]
    _expect("the kin of a chunk", store.get(kin), [_ONE[1], _ONE[3], _ONE[_LEAVES]])
    _expect("the chunks of a document", store.find({"source_id": "one"}, None), _ONE)


def _read_vectors(store: ChunkStore) -> None:
    given = embed(_ONE)
    for chunk, vectors in store.export("one"):
        wanted = given[chunk.content_key]
        terms = [set(each.sparse.indices if each.sparse else ()) for each in (vectors, wanted)]
        _expect("the terms of a chunk", *terms)
        if wanted.dense is not None:
            # 16 bits per number are enough.
            alike = vectors.dense is not None and np.allclose(vectors.dense, wanted.dense, atol=1e-2)
            _expect("whether a dense vector is the one written", alike, True)


def _update(store: ChunkStore) -> None:
    changed = _family("other", [TEXTS[0].upper(), TEXTS[1]])
    _expect("the report of a change", save(store, "other", changed)[0], SyncReport(updated=1, unchanged=1))
    _expect("the chunks after a change", store.find({"source_id": "other"}, None), changed)
    moved = [replace(chunk, metadata={**chunk.metadata, "year": 1999}) for chunk in changed]
    _expect("the report of new metadata", store.sync("other", moved, {}), SyncReport(updated=2))
    _expect("the documents by new metadata", list(store.sources(0, {"year": 1999})), ["other"])


def _write_single(store: ChunkStore) -> None:
    chunks = make_chunks("single", TEXTS[:2], subject="single")
    _expect("the report of single chunks", store.put(chunks, embed(chunks)), SyncReport(added=2))
    _expect("the number of chunks removed by id", store.remove([chunks[0].id]), 1)
    _expect("the chunks that remain", store.find({"source_id": "single"}), chunks[1:])


def _delete(store: ChunkStore) -> None:
    _expect("the number of deleted chunks", store.delete("other"), 2)
    _expect("the documents after a deletion", list(store.sources()), ["one", "single"])


_WITHIN: tuple[tuple[str, Callable[[ChunkStore], None]], ...] = (
    ("write documents", _write),
    ("write them again, unchanged", _write_again),
    ("count", _count),
    ("search by meaning", _search_dense),
    ("search by words", _search_terms),
    ("search several levels in one call", _search_hybrid),
    ("filter by metadata", _filter),
    ("read kin", _read_kin),
    ("read vectors", _read_vectors),
    ("change a document", _update),
    ("write and remove single chunks", _write_single),
    ("delete a document", _delete),
)


def _reopen(address: str, name: str) -> None:
    with open_store(address, name) as store:
        _expect("the schema", store.schema, SCHEMA)
        _expect("the chunks after reopening", store.find({"source_id": "one"}, None), _ONE)


def _refuse(address: str, name: str) -> None:
    try:
        open_store(address, name, replace(SCHEMA, model="another")).close()
    except SchemaMismatchError:
        return
    raise StoreError(f"The collection was opened with another model's schema. {_REPORT}.")


def _rename(address: str, name: str) -> None:
    with open_catalog(address) as catalog:
        catalog.rename(name, _renamed(name))
    _expect("whether the old name is free", _exists(address, name), False)
    _reopen(address, _renamed(name))


def _drop(address: str, name: str) -> None:
    _clear(address, name)
    _expect("whether the collection is left", [_exists(address, each) for each in (name, _renamed(name))], [False] * 2)


def _exists(address: str, name: str) -> bool:
    with open_catalog(address) as catalog, suppress(CollectionNotFoundError):
        return bool(catalog.identity(name))
    return False


_OUTSIDE: tuple[tuple[str, Callable[[str, str], None]], ...] = (
    ("open the collection again", _reopen),
    ("refuse another model", _refuse),
    ("rename the collection", _rename),
    ("drop the collection", _drop),
)

"""Tests of opening, reopening and closing collections."""

# ruff: noqa: S101

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import replace

import pytest

from kinsplit.errors import (
    CollectionNotFoundError,
    InvalidParameterError,
    SchemaMismatchError,
    StoreError,
    StoreLockedError,
)
from kinsplit.identity import chunk_id
from kinsplit.stores.address import open_store
from kinsplit.stores.maintenance.doctor import SCHEMA, SPARSE, TEXTS, make_chunks, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import LAYOUT, Query, SyncReport
from kinsplit.support.workers import WorkerPool
from kinsplit_testing.base import COLLECTION, Contract


class Opening(Contract):
    """Tests of opening, reopening and closing collections."""

    def test_everything_is_there_after_reopening(self, address: str) -> None:
        """Chunks, vectors and schema outlive the store object; using a closed one is an error."""
        if self.reach == "object":
            pytest.skip("nothing outlives this store object")
        chunks = make_chunks("doc", TEXTS, subject="cs")
        with self.open(address, schema=SCHEMA) as store:
            save(store, "doc", chunks)
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.count()
        with self.open(address) as store:
            assert store.schema == SCHEMA
            assert store.get([chunk.id for chunk in chunks]) == chunks
            assert save(store, "doc", chunks) == (SyncReport(unchanged=5), [])
            query = Query("bm25", SPARSE.embed_query("recursion"), 3, where={"subject": "cs"})
            assert [hit.chunk for hit in store.search([query])[0]] == [chunks[2]]

    def test_another_schema_is_refused(self, address: str) -> None:
        """The error names both values and a remedy."""
        if self.reach == "object":
            pytest.skip("nothing outlives this store object")
        self.make(address)
        with pytest.raises(SchemaMismatchError) as caught:
            self.open(address, schema=replace(SCHEMA, model="other-model", fingerprint="f2", embedding_context="late"))
        message = str(caught.value)
        assert all(part in message for part in (SCHEMA.model, "other-model", "f1", "f2", "another collection name"))
        assert "embedding_context is 'none' there and 'late' here" in message
        self.open(address, f"{COLLECTION}-second", replace(SCHEMA, model="other-model")).close()

    def test_the_layout_of_another_version_is_refused(self, address: str) -> None:
        """Its payloads and vectors can't be read, with or without a given schema."""
        if self.reach == "object":
            pytest.skip("nothing outlives this store object")
        with suppress(SchemaMismatchError):
            self.make(address, schema=replace(SCHEMA, version=LAYOUT - 1))
        for schema in (SCHEMA, None):
            with pytest.raises(SchemaMismatchError, match=f"layout is {LAYOUT - 1}.*index again"):
                self.open(address, schema=schema)

    def test_a_collection_that_is_not_there_needs_a_schema(self, address: str) -> None:
        """Opening without a schema creates nothing."""
        with pytest.raises(StoreError, match="no collection 'nothing'"):
            self.open(address, "nothing")
        with pytest.raises(InvalidParameterError, match="collection"):
            self.open(address, "../outside", SCHEMA)

    def test_only_a_write_makes_a_collection(self, address: str) -> None:
        """Neither reads do, nor a write that is refused or has nothing to write."""
        chunks = make_chunks("doc", TEXTS)
        with self.open(address, schema=SCHEMA) as store:
            assert (store.count(), store.sources(), store.find({}), store.get([chunks[0].id])) == (0, {}, [], [])
            assert store.search([Query("bm25", SPARSE.embed_query("recursion"), 3)]) == [[]]
            assert (store.delete("doc"), store.remove([chunks[0].id])) == (0, 0)
            assert store.sync("doc", [], {}) == SyncReport()
            with pytest.raises(InvalidParameterError):
                store.sync("doc", chunks, {})
            with pytest.raises(CollectionNotFoundError):
                self.open(address)
            with store.first_load():
                save(store, "doc", chunks)
            assert store.count() == len(TEXTS)
            if self.reach != "object":
                with self.open(address) as second:
                    assert second.count() == len(TEXTS)

    def test_a_collection_can_be_made_before_it_is_written(self, address: str) -> None:
        """For others who open it; a second call does nothing."""
        with self.open(address, schema=SCHEMA) as store:
            store.make()
            store.make()
            assert store.count() == 0
            if self.reach != "object":
                with self.open(address) as second:
                    assert (second.schema, second.count()) == (SCHEMA, 0)

    def test_a_collection_that_somebody_else_makes_is_found(self, address: str) -> None:
        """By a store that was opened before, which compares the schemas then."""
        if self.reach == "object":
            pytest.skip("nobody else finds what this store object holds")
        with self.open(address, schema=SCHEMA) as store, self.open(address, schema=SCHEMA) as second:
            other = self.open(address, schema=replace(SCHEMA, model="other-model"))
            save(second, "doc", make_chunks("doc", TEXTS))
            assert store.count() == len(TEXTS)
            with pytest.raises(SchemaMismatchError, match="other-model"):
                save(other, "doc", make_chunks("doc", TEXTS))

    def test_opening_twice(self, address: str, store: ChunkStore) -> None:
        """A collection can be opened again by this process, and by others unless it is exclusive."""
        if self.reach == "object":
            pytest.skip("nobody else finds what this store object holds")
        save(store, "doc", make_chunks("doc", TEXTS))
        if self.exclusive or self.reach == "process":
            with pytest.raises(StoreLockedError if self.exclusive else CollectionNotFoundError):
                _other_process().call(_count, address, COLLECTION)
        else:
            assert _other_process().call(_count, address, COLLECTION) == len(TEXTS)
        with self.open(address, schema=SCHEMA) as second:
            assert second.count() == len(TEXTS)
            save(second, "more", make_chunks("more", TEXTS[:1]))
        assert store.sources() == {"doc": len(TEXTS), "more": 1}
        with pytest.raises(StoreError, match="closed"):
            second.count()

    def test_a_closed_store_says_so(self, store: ChunkStore) -> None:
        """Using a closed store is an error; closing it again is not."""
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.count()
        with pytest.raises(StoreError, match="closed"):
            store.get([chunk_id("doc", "f1", 0, 0)])


@functools.cache
def _other_process() -> WorkerPool:
    """Return a process that all tests share, since starting one and importing an engine takes seconds."""
    return WorkerPool()


def _count(address: str, collection: str) -> int:
    with open_store(address, collection) as store:
        return store.count()

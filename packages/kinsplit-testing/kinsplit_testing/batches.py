"""Tests of `put`, `remove` and `find`."""

# ruff: noqa: S101

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.stores.maintenance.doctor import DENSE, SPARSE, TEXTS, embed, make_chunks, make_document, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, SyncReport, Where
from kinsplit_testing.base import Contract


class Batches(Contract):
    """Tests of writes and deletions in arbitrary batches, and of filters without a query."""

    def test_put_adds_and_replaces_and_deletes_nothing(self, store: ChunkStore) -> None:
        """One batch contains chunks of several sources; a later sync of the whole document recognises them."""
        one, two = make_chunks("one", TEXTS), make_chunks("two", TEXTS[:2])
        first, second = [*one[:2], two[1]], [*one[2:], two[0]]
        assert store.put(first, embed(first)) == SyncReport(added=3)
        assert store.put(second, embed(second)) == SyncReport(added=4)
        assert store.sources() == {"one": 5, "two": 2}
        assert store.get([chunk.id for chunk in (*one, *two)]) == [*one, *two]
        assert store.put(one, {}) == SyncReport(unchanged=5)
        assert save(store, "one", one) == (SyncReport(unchanged=5), [])

        moved = replace(one[0], metadata={"course": "cs"})
        other = make_chunks("two", ["A tuple can't be changed.", TEXTS[1]])
        assert store.put([moved, other[0]], embed([other[0]])) == SyncReport(updated=2)
        assert store.get([one[0].id, two[0].id]) == [moved, other[0]]
        assert store.sources() == {"one": 5, "two": 2}
        (hits,) = store.search([Query("dense", DENSE.embed_query(other[0].text), 1)])
        assert hits[0].chunk == other[0]
        (hits,) = store.search([Query("bm25", SPARSE.embed_query(two[0].text), 5, where={"source_id": "two"})])
        assert [hit.chunk for hit in hits] == [two[1]]

    def test_a_put_that_can_not_be_done_writes_nothing(self, store: ChunkStore) -> None:
        """Every argument is checked before the first write."""
        chunks = [*make_chunks("one", TEXTS[:2]), *make_chunks("two", TEXTS[:1])]
        vectors = embed(chunks)
        with pytest.raises(InvalidParameterError, match="each content that the store lacks"):
            store.put(chunks, {chunks[0].content_key: vectors[chunks[0].content_key]})
        with pytest.raises(InvalidParameterError, match="differ"):
            store.put([*chunks, chunks[0]], vectors)
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.put([replace(chunks[0], id="chunk-1")], vectors)
        with pytest.raises(InvalidParameterError, match="surrogates"):
            store.put([replace(chunks[0], source_id="\udce9")], vectors)
        assert (store.count(), store.put([], {})) == (0, SyncReport())

    def test_remove_takes_ids(self, store: ChunkStore) -> None:
        """It returns the number of deleted chunks and keeps all others."""
        one, two = make_chunks("one", TEXTS), make_chunks("two", TEXTS)
        save(store, "one", one)
        save(store, "two", two)
        gone = [one[1].id, two[4].id, chunk_id("other", "f1", 0, 0)]
        assert store.remove(gone) == 2
        assert store.remove(gone) == store.remove([]) == 0
        assert store.sources() == {"one": 4, "two": 4}
        assert store.get([chunk.id for chunk in one]) == [one[0], *one[2:]]
        (hits,) = store.search([Query("bm25", SPARSE.embed_query(TEXTS[1]), 50, where={"source_id": "one"})])
        assert one[1] not in [hit.chunk for hit in hits]
        with pytest.raises(InvalidParameterError, match="UUID"):
            store.remove(["chunk-1"])
        assert store.remove([one[0].id, one[0].id]) == 1

    def test_a_chunk_moves_to_another_document(self, store: ChunkStore) -> None:
        """A chunk that is put with another source leaves its former one."""
        one = make_chunks("one", TEXTS)
        save(store, "one", one)
        moved = replace(one[2], source_id="two")
        assert store.put([moved], {}) == SyncReport(updated=1)
        assert store.sources() == {"one": 4, "two": 1}
        assert store.find({"source_id": "two"}) == [moved]
        assert store.remove([moved.id]) == 1
        assert store.find({"source_id": ["one", "two"]}) == [*one[:2], *one[3:]]
        assert store.delete("one") == 4
        assert store.sources() == {}

    def test_find_takes_a_filter_and_no_vector(self, store: ChunkStore) -> None:
        """All matching chunks are found, in order of source, level and index."""
        sources: dict[str, list[Chunk]] = {}
        for source_id, subject in (("b", "math"), ("a", "cs"), ("c", "cs")):
            leaves = make_chunks(source_id, TEXTS, 0, subject=subject, tags=["x", source_id])
            parents = make_chunks(source_id, [" ".join(TEXTS)], 1, subject=subject)
            sources[source_id] = [*leaves, *parents, make_document(leaves, "Objects", subject=subject)]
            save(store, source_id, sources[source_id])

        def found(where: Where, **how: Any) -> list[str]:
            return [chunk.id for chunk in store.find(where, **how)]

        def ids(name: str, part: slice = slice(5)) -> list[str]:
            return [chunk.id for chunk in sources[name][part]]

        assert store.find({"source_id": "a"}) == sources["a"][:5]
        assert store.find({"source_id": "a"}, level=None) == sources["a"]
        assert found({}) == [*ids("a"), *ids("b"), *ids("c")]
        assert found({"subject": "cs"}) == [*ids("a"), *ids("c")]
        assert found({"subject": "cs"}, level=100) == [*ids("a", slice(6, 7)), *ids("c", slice(6, 7))]
        assert found({"subject": ["cs", "math"], "chunk_index": [1, 4], "tags": "b"}) == [ids("b")[1], ids("b")[4]]
        assert found({}, level=2) == found({"subject": []}) == found({"source_id": "nobody"}) == []
        assert [store.count(level, {"subject": "cs"}) for level in (0, 1, 100, None)] == [10, 2, 2, 14]
        assert store.count(where={"tags": "b", "chunk_index": [1, 4]}) == 2
        assert store.sources(where={"subject": "cs"}) == {"a": 7, "c": 7}
        assert store.sources(0, {"subject": {"$ne": "cs"}}) == {"b": 5}
        for asked in (found, store.sources, store.count):
            with pytest.raises(InvalidParameterError, match=r"where\['year'\]"):
                asked(where={"year": {"$near": 1.5}})

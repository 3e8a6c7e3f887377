"""Tests that a sync writes changes and nothing else."""

# ruff: noqa: S101

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from kinsplit.chunk import STATE, Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.stores.filters import MOST_VALUES
from kinsplit.stores.maintenance.doctor import DENSE, SPARSE, TEXTS, embed, make_chunks, save
from kinsplit.stores.payload import contents_of, state_of
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import DocumentComparison, Query, SyncReport
from kinsplit_testing.base import Contract


class Syncing(Contract):
    """Tests that a sync writes changes and nothing else."""

    def test_sync_reports_what_it_changed(self, store: ChunkStore) -> None:
        """Added, unchanged, updated and deleted are counted per id; only new content is embedded."""
        first = make_chunks("doc", TEXTS[:4])
        assert save(store, "doc", first) == (SyncReport(added=4), first)
        assert save(store, "doc", first) == (SyncReport(unchanged=4), [])

        edited = make_chunks("doc", [*TEXTS[:2], "Tail calls need no stack.", TEXTS[3]])
        report, embedded = save(store, "doc", edited)
        assert embedded == [edited[2]]
        # The last chunk keeps its text but moves.
        assert report == SyncReport(updated=2, unchanged=2)

        shorter = make_chunks("doc", TEXTS[:2])
        assert save(store, "doc", shorter) == (SyncReport(updated=2, deleted=2), [])
        assert store.get([chunk.id for chunk in first]) == shorter
        assert store.known("doc") == {chunk.id: chunk.content_key for chunk in shorter}

    def test_documents_are_compared_together(self, store: ChunkStore) -> None:
        """A comparison tells what to embed, and whether there is anything to sync."""
        held = {name: make_chunks(name, TEXTS[:3], year=2020, score=0.1) for name in ("a", "b", "c\0")}
        for name, chunks in held.items():
            save(store, name, chunks)
        edited = make_chunks("b", [*TEXTS[:2], TEXTS[4]], year=2020, score=0.1)
        wanted = {
            **held,
            "b": edited,
            "new": make_chunks("new", [TEXTS[0], TEXTS[0]]),
            "gone": [],
        }
        assert store.compare(wanted) == {
            "a": DocumentComparison([], is_stored=True),
            "b": DocumentComparison(edited[2:], is_stored=False),
            "c\0": DocumentComparison([], is_stored=True),
            "new": DocumentComparison(wanted["new"][:1], is_stored=False),
            "gone": DocumentComparison([], is_stored=True),
        }
        others = {"a": make_chunks("a", TEXTS[:3], year=True, score=0.1), "b": held["b"][:2], "c\0": []}
        assert store.compare(others) == dict.fromkeys(others, DocumentComparison([], is_stored=False))
        assert store.compare({}) == {}

    def test_documents_that_are_stored_as_they_are_are_found(self, store: ChunkStore) -> None:
        """A document is found by the hash of its origin and of all its chunks."""

        def whole(name: str, origin: str) -> list[Chunk]:
            leaves = make_chunks(name, TEXTS[:3], year=2020, score=0.1)
            state = state_of(origin, contents_of({leaf.id: leaf.content_hash for leaf in leaves}))
            return [replace(leaves[0], metadata={**leaves[0].metadata, STATE: state}), *leaves[1:]]

        for name in ("a", "b", "c\0", "changed", "lost"):
            save(store, name, whole(name, f"origin of {name}"))
        save(store, "unknown", make_chunks("unknown", TEXTS))
        changed = [whole("changed", "")[1], make_chunks("changed", TEXTS)[3]]
        store.put([replace(changed[0], content_hash=changed[1].content_hash)], embed(changed))
        store.remove([whole("lost", "")[2].id])
        origins = {name: f"origin of {name}" for name in ("a", "c\0", "changed", "lost", "unknown", "new")}
        assert store.stored({**origins, "b": "another"}) == {"a": 3, "c\0": 3}
        assert store.stored({}) == {}

    def test_more_documents_than_a_request_may_name_are_looked_up(self, store: ChunkStore) -> None:
        """The limits of requests don't hold for a program's own look-ups, which go in batches."""
        chunks = make_chunks("a", TEXTS[:3])
        state = state_of("origin", contents_of({chunk.id: chunk.content_hash for chunk in chunks}))
        chunks[0] = replace(chunks[0], metadata={STATE: state})
        save(store, "a", chunks)
        others = [str(number) for number in range(MOST_VALUES)]
        assert store.stored({**dict.fromkeys(others, "origin"), "a": "origin"}) == {"a": 3}
        compared = store.compare({**{name: [] for name in others}, "a": chunks[:2]})
        assert [name for name, comparison in compared.items() if not comparison.is_stored] == ["a"]
        absent = [chunk_id(name, "f1", 0, 0) for name in others]
        assert store.get([*absent, chunks[1].id]) == chunks[1:2]
        assert store.remove([*absent, chunks[1].id]) == 1

    def test_text_that_moved_keeps_its_vectors(self, store: ChunkStore) -> None:
        """Inserting a chunk at the front embeds one text, and every text keeps its vectors."""
        save(store, "doc", make_chunks("doc", TEXTS[1:]))
        moved = make_chunks("doc", TEXTS)
        report, embedded = save(store, "doc", moved)
        assert (report, embedded) == (SyncReport(added=1, updated=4), [moved[0]])
        for chunk in moved:
            queries = [
                Query("dense", DENSE.embed_query(chunk.text), 1),
                Query("bm25", SPARSE.embed_query(chunk.text), 1),
            ]
            assert [hits[0].chunk for hits in store.search(queries)] == [chunk, chunk]

    def test_texts_that_change_places(self, store: ChunkStore) -> None:
        """Points can exchange their vectors."""
        save(store, "doc", make_chunks("doc", TEXTS[:3]))
        turned = make_chunks("doc", TEXTS[2::-1])
        assert save(store, "doc", turned)[1] == []
        for chunk in turned:
            (hits,) = store.search([Query("dense", DENSE.embed_query(chunk.text), 1)])
            assert hits[0].chunk == chunk
            assert hits[0].score == pytest.approx(1.0, abs=1e-5)

    def test_payload_changes_need_no_vectors(self, store: ChunkStore) -> None:
        """Metadata is rewritten, and removed keys disappear."""
        save(store, "doc", make_chunks("doc", TEXTS[:2], course="cs", old="x"))
        changed = make_chunks("doc", TEXTS[:2], course="math")
        assert save(store, "doc", changed) == (SyncReport(updated=2), [])
        assert store.get([chunk.id for chunk in changed]) == changed

    def test_equal_texts_are_embedded_once_and_kept_apart(self, store: ChunkStore) -> None:
        """Chunks of one or of two documents with equal texts stay separate."""
        one, two = make_chunks("one", [TEXTS[0], TEXTS[0]]), make_chunks("two", [TEXTS[0]])
        assert save(store, "one", one) == (SyncReport(added=2), [one[0]])
        assert save(store, "two", two) == (SyncReport(added=1), two)
        assert store.sources() == {"one": 2, "two": 1}
        assert store.delete("one") == 2
        assert (store.sources(), store.get([two[0].id])) == ({"two": 1}, two)
        assert store.delete("one") == 0

    def test_a_sync_that_can_not_be_done_writes_nothing(self, store: ChunkStore) -> None:
        """Every argument is checked before the first write."""
        chunks = make_chunks("doc", TEXTS[:2])
        vectors = embed(chunks)
        wrong = {key: replace(value, dense=np.zeros(5, np.float32)) for key, value in vectors.items()}
        with pytest.raises(InvalidParameterError, match=r"missing\(\)"):
            store.sync("doc", chunks, {})
        with pytest.raises(InvalidParameterError, match=r"\(64,\)"):
            store.sync("doc", chunks, wrong)
        with pytest.raises(InvalidParameterError, match="source 'other'"):
            store.sync("other", chunks, vectors)
        with pytest.raises(InvalidParameterError, match="differ"):
            store.sync("doc", [*chunks, chunks[0]], vectors)
        with pytest.raises(InvalidParameterError, match="full_content"):
            store.sync("doc", make_chunks("doc", TEXTS[:2], full_content="mine"), vectors)
        with pytest.raises(InvalidParameterError, match=r"metadata\['when'\]"):
            store.sync("doc", make_chunks("doc", TEXTS[:2], when=object()), vectors)
        with pytest.raises(InvalidParameterError, match="surrogates"):
            save(store, "\udce9", make_chunks("\udce9", TEXTS[:1]))
        assert (store.count(), store.sources(), store.known("doc")) == (0, {}, {})

    def test_eight_writing_threads_lose_nothing(self, store: ChunkStore) -> None:
        """Syncs of different sources and searches run concurrently."""
        documents = {f"doc{n}": make_chunks(f"doc{n}", [f"{text} {n}" for text in TEXTS * 2]) for n in range(24)}
        query = Query("dense", DENSE.embed_query("class"), 5)

        def work(source_id: str) -> SyncReport:
            report, _ = save(store, source_id, documents[source_id])
            assert len(store.search([query])[0]) == 5
            return report

        with ThreadPoolExecutor(8) as pool:
            reports = list(pool.map(work, documents))
        assert sum(reports, SyncReport()) == SyncReport(added=24 * 10)
        assert store.sources() == dict.fromkeys(sorted(documents), 10)
        for chunks in documents.values():
            assert store.get([chunk.id for chunk in chunks]) == chunks

"""Tests of leaves, parents and documents in one collection."""

# ruff: noqa: S101

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kinsplit.chunk import DOCUMENT, Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import title_of
from kinsplit.stores.maintenance.doctor import DENSE, SPARSE, TEXTS, embed, make_chunks, make_document, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Entry, Query, SyncReport, Vectors
from kinsplit_testing.base import Contract


def _family(source_id: str, title: str, **metadata: Any) -> list[Chunk]:
    leaves = make_chunks(source_id, TEXTS, 0, **metadata)
    parents = make_chunks(source_id, [" ".join(TEXTS[:3]), " ".join(TEXTS[3:])], 1, **metadata)
    return [*leaves, *parents, make_document(leaves, title, **metadata)]


class Levels(Contract):
    """Tests of leaves, parents and documents in one collection, with separate vectors."""

    def test_one_call_asks_several_levels_with_filters_of_their_own(self, store: ChunkStore) -> None:
        """Each query returns the same hits as in a call of its own."""
        save(store, "a", _family("a", "Objects and classes", subject="cs"))
        save(store, "b", _family("b", "Sorting", subject="math"))
        dense, terms = DENSE.embed_query("what is a class"), SPARSE.embed_query("class objects")
        queries = [
            Query("dense", dense, 3),
            Query("bm25", terms, 2, where={"subject": "math"}),
            Query("dense", dense, 4, 1, {"source_id": "a"}),
            Query("bm25", terms, 5, 1),
            Query("bm25", terms, 5, DOCUMENT),
            Query("bm25", terms, 5, DOCUMENT, {"subject": "math"}),
            Query("dense", dense, 50, 2),
        ]
        answers = store.search(queries)
        levels = [[hit.chunk.level for hit in hits] for hits in answers]
        assert levels == [[0] * 3, [0] * 2, [1] * 2, [1] * 2, [DOCUMENT], [], []]
        assert {hit.chunk.source_id for hit in answers[1]} == {"b"}
        for query, hits in zip(queries, answers, strict=True):
            (alone,) = store.search([query])
            assert [hit.score for hit in alone] == pytest.approx([hit.score for hit in hits])
        assert [hit.chunk.source_id for hit in answers[4]] == ["a"]

    def test_rank_tells_the_places_of_what_search_finds(self, store: ChunkStore) -> None:
        """Hits, scores and order are the same, without texts."""
        save(store, "a", _family("a", "Objects and classes", sibling_files=["b", "c"], course="6.0001"))
        save(store, "b", _family("b", "Sorting"))
        dense, terms = DENSE.embed_query("what is a class"), SPARSE.embed_query("class objects")
        queries = [Query("dense", dense, 3), Query("bm25", terms, 2), Query("bm25", terms, 5, 1)]
        queries.append(Query("bm25", terms, 5, DOCUMENT, {"source_id": "a"}))
        for hits, ranked in zip(store.search(queries), store.rank(queries), strict=True):
            assert ranked
            assert [score for _, score in ranked] == pytest.approx([hit.score for hit in hits])
            assert [entry for entry, _ in ranked] == [
                Entry(
                    chunk.id,
                    chunk.source_id,
                    chunk.index,
                    chunk.total,
                    chunk.level,
                    chunk.parent_id,
                    chunk.prev_id,
                    chunk.next_id,
                    chunk.token_count,
                    len(chunk.text),
                    tuple(chunk.metadata.get("sibling_files", ())),
                    title_of(chunk.metadata),
                    tuple(chunk.metadata[key] for key in ("course",) if key in chunk.metadata),
                )
                for chunk in (hit.chunk for hit in hits)
            ]

    def test_bare_rankings_have_the_same_ids_and_scores(self, store: ChunkStore) -> None:
        """They need nothing else of what they find."""
        save(store, "a", _family("a", "Objects and classes"))
        dense, terms = DENSE.embed_query("what is a class"), SPARSE.embed_query("class objects")
        queries = [Query("dense", dense, 3), Query("bm25", terms, 2), Query("bm25", terms, 5, 1, {"source_id": "a"})]
        whole, bare = store.rank(queries), store.rank([replace(query, bare=True) for query in queries])
        for entries, some in zip(whole, bare, strict=True):
            assert entries
            assert [entry.id for entry, _ in some] == [entry.id for entry, _ in entries]
            assert [score for _, score in some] == pytest.approx([score for _, score in entries])

    def test_rank_tells_the_places_as_they_are_now(self, store: ChunkStore) -> None:
        """A ranking after a sync or a put returns the new positions."""
        query = Query("bm25", SPARSE.embed_query("class objects"), 9)
        for number in (5, 3, 4):
            save(store, "a", make_chunks("a", TEXTS[:number], sibling_files=[str(number)]))
            (entries,) = store.rank([query])
            assert entries
            assert {(entry.total, entry.sibling_files) for entry, _ in entries} == {(number, (str(number),))}
        chunks = make_chunks("a", TEXTS[:4], sibling_files=["put"])
        store.put(chunks, {})
        (entries,) = store.rank([query])
        assert {entry.sibling_files for entry, _ in entries} == {("put",)}
        store.remove([entries[0][0].id])
        (left,) = store.rank([query])
        assert [entry.id for entry, _ in left] == [entry.id for entry, _ in entries[1:]]
        store.delete("a")
        assert store.rank([query]) == [[]]

    def test_a_parent_with_a_single_child_has_vectors_of_its_own(self, store: ChunkStore) -> None:
        """Equal texts on two levels are different contents."""
        leaf, parent = make_chunks("doc", TEXTS[:1]), make_chunks("doc", TEXTS[:1], level=1)
        chunks = [*leaf, *parent]
        assert store.missing("doc", chunks) == chunks
        ours, theirs = DENSE.embed(["one thing", "quite another"])
        store.sync("doc", chunks, {leaf[0].content_key: Vectors(ours), parent[0].content_key: Vectors(theirs)})
        assert store.known("doc") == {chunk.id: chunk.content_key for chunk in chunks}
        (below,), (above,) = store.search([Query("dense", ours, 5), Query("dense", theirs, 5, level=1)])
        assert (below.chunk, above.chunk) == (leaf[0], parent[0])
        assert (below.score, above.score) == pytest.approx((1, 1))
        # A second parent with that text gets the parent's vectors, not the leaf's.
        more = [*chunks, *make_chunks("doc", TEXTS[:1], level=2)]
        assert store.missing("doc", more) == more[2:]
        twice = [*leaf, *make_chunks("doc", TEXTS[:1] * 2, level=1)]
        assert store.missing("doc", twice) == []
        assert store.sync("doc", twice, {}) == SyncReport(unchanged=1)
        (hits,) = store.search([Query("dense", theirs, 5, level=1)])
        assert [hit.score for hit in hits] == pytest.approx([1, 1])

    def test_a_document_repeats_no_text_and_is_found_by_its_terms(self, store: ChunkStore) -> None:
        """It is stored, found and deleted with its leaves, and changes when they do."""
        chunks = _family("doc", "Objects")
        save(store, "doc", chunks)
        assert store.get([chunks[-1].id]) == [chunks[-1]]
        assert (store.count(), store.count(DOCUMENT), store.sources()) == (8, 1, {"doc": 8})
        assert store.sources(level=0) == {"doc": 5}
        (hits,) = store.search([Query("bm25", SPARSE.embed_query("an object"), 5, DOCUMENT)])
        assert [hit.chunk for hit in hits] == [chunks[-1]]
        assert save(store, "doc", chunks) == (SyncReport(unchanged=5), [])
        leaves = make_chunks("doc", TEXTS[:4])
        changed = [*leaves, *chunks[5:7], make_document(leaves, "Classes")]
        assert save(store, "doc", changed)[1] == changed[-1:]
        asked = [Query("bm25", SPARSE.embed_query(word), 5, DOCUMENT) for word in ("class", "object")]
        assert [[hit.chunk for hit in hits] for hits in store.search(asked)] == [changed[-1:], []]
        assert store.delete("doc") == 4
        assert store.count() == 0

    def test_a_document_without_terms_is_kept_and_never_found(self, store: ChunkStore) -> None:
        """A point without any vector is valid."""
        leaves = make_chunks("doc", TEXTS[:1])
        for title, sparse in (("nothing", None), ("stop words", SPARSE.embed(["of the"])[0])):
            document = make_document(leaves, title)
            store.sync("doc", [document], {document.content_key: Vectors(None, sparse)})
            assert [chunk for chunk, _ in store.export("doc")] == [document]
            assert store.search([Query("bm25", SPARSE.embed_query("class"), 5, DOCUMENT)]) == [[]]

    def test_only_a_document_has_no_dense_vector(self, store: ChunkStore) -> None:
        """A document with a dense vector, another chunk without one and a dense query for documents are errors."""
        leaf, *_, parent, document = _family("doc", "Objects")
        row = DENSE.embed_query("class")
        for chunk, dense in ((leaf, None), (parent, None), (document, row)):
            with pytest.raises(InvalidParameterError, match="dense"):
                store.sync("doc", [chunk], {chunk.content_key: Vectors(dense)})
        with pytest.raises(InvalidParameterError, match="documents"):
            Query("dense", row, 5, DOCUMENT)
        assert store.count() == 0

    def test_levels_reach_from_leaves_to_documents(self, store: ChunkStore) -> None:
        """Any other level is an error that names it."""
        (leaf,) = make_chunks("doc", TEXTS[:1])
        for level in (-1, DOCUMENT + 1):
            with pytest.raises(InvalidParameterError, match="level"):
                Query("bm25", SPARSE.embed_query("class"), 5, level)
            wrong = replace(leaf, level=level)
            with pytest.raises(InvalidParameterError, match="level"):
                store.sync("doc", [wrong], {wrong.content_key: Vectors(np.ones(64, np.float32))})
        deepest = replace(leaf, level=DOCUMENT - 1)
        assert save(store, "doc", [deepest]) == (SyncReport(), [deepest])
        (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 5, DOCUMENT - 1)])
        assert [hit.chunk for hit in hits] == [deepest]

    def test_each_layer_has_an_idf_of_its_own(self, store: ChunkStore) -> None:
        """Chunks added on other levels do not change scores."""
        families = {name: _family(name, f"Objects {name}") for name in ("one", "two", "three")}
        queries = [Query("bm25", SPARSE.embed_query("object class recursion"), 50, level) for level in (0, 1, DOCUMENT)]
        alone: list[list[float]] = []
        for layer in (0, 1, DOCUMENT):
            for chunks in families.values():
                added = [chunk for chunk in chunks if chunk.level == layer]
                store.put(added, embed(added))
            answers = [[hit.score for hit in hits] for hits in store.search(queries)]
            alone.append(answers[len(alone)])
            assert len(alone[-1]) >= 3
            for before, now in zip(alone, answers, strict=False):
                assert now == pytest.approx(before)

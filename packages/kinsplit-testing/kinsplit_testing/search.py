"""Tests of rankings and of filters on them."""

# ruff: noqa: S101

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.maintenance.doctor import DENSE, SPARSE, TEXTS, make_chunks, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, Vectors
from kinsplit_testing.base import Contract


class Searching(Contract):
    """Tests of exact rankings, and of filters that select among their hits."""

    def test_search_ranks_as_exact_cosine_does(self, store: ChunkStore) -> None:
        """Scores are cosines, the best hit comes first, and each query has a separate list."""
        rng = np.random.default_rng(7)
        chunks = make_chunks("doc", [f"text {number}" for number in range(200)])
        matrix = rng.standard_normal((200, DENSE.dimension)).astype(np.float32)
        vectors = {chunk.content_key: Vectors(row) for chunk, row in zip(chunks, matrix, strict=True)}
        store.sync("doc", chunks, vectors)
        asked = rng.standard_normal((3, DENSE.dimension)).astype(np.float32)
        found = store.search([Query("dense", row, 10) for row in asked])
        unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        for row, hits in zip(asked, found, strict=True):
            cosines = unit @ (row / np.linalg.norm(row))
            best = np.argsort(-cosines)[:10]
            assert [hit.chunk.index for hit in hits] == best.tolist()
            assert [hit.score for hit in hits] == pytest.approx(cosines[best].tolist(), abs=1e-5)

    def test_terms_are_weighed_by_their_rarity_within_the_level(self, store: ChunkStore) -> None:
        """A rare term outweighs a common one, and parents do not count in the IDF of leaves."""
        leaves = make_chunks("doc", ["apple pear", *["apple plum"] * 8, "zebra plum"])
        parents = make_chunks("doc", ["zebra"] * 20, level=1)
        save(store, "doc", [*leaves, *parents])
        (hits,) = store.search([Query("bm25", SPARSE.embed_query("zebra apple"), 20)])
        assert hits[0].chunk == leaves[-1]
        assert {hit.chunk.level for hit in hits} == {0}
        (above,) = store.search([Query("bm25", SPARSE.embed_query("zebra apple"), 30, level=1)])
        assert len(above) == 20
        assert store.search([Query("bm25", SPARSE.embed_query("of the"), 5)]) == [[]]

    def test_filters_and_levels(self, store: ChunkStore) -> None:
        """A filter takes a value or a list of values; a stored list matches by any member."""
        save(store, "a", make_chunks("a", TEXTS[:2], 0, subject="cs", tags=["x", "y"], year=1, **{"a.b": "q"}))
        save(store, "b", make_chunks("b", TEXTS[:2], subject="math", tags=["y"], year=2))
        save(store, "c", [*make_chunks("c", TEXTS[:2]), *make_chunks("c", TEXTS[:1], level=1)])

        def sources(level: int = 0, **where: Any) -> set[str]:
            (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 50, level, where)])
            return {hit.chunk.source_id for hit in hits}

        assert sources() == {"a", "b", "c"}
        assert sources(subject="cs") == {"a"}
        assert sources(subject=["cs", "math"]) == {"a", "b"}
        assert sources(subject=["cs", "math"], year=2) == {"b"}
        assert sources(year=[1, 2, "x"]) == {"a", "b"}
        assert sources(tags="y") == {"a", "b"}
        assert sources(0, **{"a.b": "q"}) == {"a"}
        assert sources(subject=[]) == set()
        assert sources(subject="nobody") == set()
        assert sources(level=1) == {"c"}
        assert (store.count(), store.count(0), store.count(1), store.count(2)) == (7, 6, 1, 0)
        assert sources(is_chunked=True) == {"a", "b", "c"}
        assert sources(level=1, is_chunked=False) == {"c"}

    def test_filters_by_ids(self, store: ChunkStore) -> None:
        """Ids select among dense and BM25 hits, also inside other filters; unknown ids are ignored."""
        chunks = make_chunks("a", TEXTS, subject="cs")
        save(store, "a", chunks)
        ids = [chunks[2].id, chunks[0].id, make_chunks("nobody", TEXTS[:1])[0].id]
        places: list[tuple[Any, set[int]]] = [
            ({"$id": ids}, {0, 2}),
            ({"$id": ids, "chunk_index": [0, 1]}, {0}),
            ({"$not": {"$id": ids}}, set(range(len(TEXTS))) - {0, 2}),
            ({"$or": [{"$id": ids[:1]}, {"chunk_index": 1}]}, {1, 2}),
            ({"$id": []}, set()),
        ]
        for where, expected in places:
            assert {chunk.index for chunk in store.find(where)} == expected
            (hits,) = store.search([Query("dense", DENSE.embed_query("class"), 50, where=where)])
            assert {hit.chunk.index for hit in hits} == expected
        for nothing in ("a", ["no UUID"], [1], None):
            with pytest.raises(InvalidParameterError, match="id"):
                store.find({"$id": nothing})

    def test_filters_hold_for_terms_too(self, store: ChunkStore) -> None:
        """A filter selects among the hits and does not change scores."""
        save(store, "a", make_chunks("a", TEXTS, subject="cs"))
        save(store, "b", [*make_chunks("b", TEXTS, subject="math"), *make_chunks("b", TEXTS, level=1)])
        save(store, "c", make_chunks("c", TEXTS, level=2, subject="cs"))

        def scores(level: int = 0, **where: Any) -> dict[str, float]:
            (hits,) = store.search([Query("bm25", SPARSE.embed_query("recursion of a class"), 50, level, where)])
            return {hit.chunk.id: hit.score for hit in hits}

        everything = scores()
        for source_id, subject in (("a", "cs"), ("b", "math")):
            ids = {chunk.id for chunk in make_chunks(source_id, TEXTS)}
            expected = {id_: score for id_, score in everything.items() if id_ in ids}
            assert len(expected) == 3
            assert scores(subject=subject) == pytest.approx(expected)
            assert scores(source_id=[source_id], subject=subject) == pytest.approx(expected)
        assert scores(subject=["cs", "math"]) == pytest.approx(everything)
        assert len(scores(1)) == len(scores(2)) == len(scores(2, subject="cs")) == 3
        assert scores(3) == scores(2, subject="math") == scores(subject=[]) == scores(1, subject="cs") == {}
        assert store.search([Query("bm25", SPARSE.embed_query("recursion"), 50, where={"level": 1})]) == [[]]

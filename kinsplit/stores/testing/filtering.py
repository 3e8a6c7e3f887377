"""Filters by ranges and exceptions, joined in any way."""

# ruff: noqa: S101

from __future__ import annotations

from typing import Any

import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.conditions import MOST_CONDITIONS, MOST_DEPTH, MOST_VALUES
from kinsplit.stores.protocol import ChunkStore, Query, Where
from kinsplit.stores.testing.base import Contract
from kinsplit.stores.testing.data import DENSE, SPARSE, TEXTS, make_chunks, save

#: Metadata by source id; "e" has none.
_SOURCES: dict[str, dict[str, Any]] = {
    "a": {"year": 2019, "subject": "cs", "tags": ["x", "y"], "grade": 1.5},
    "b": {"year": 2020, "subject": "cs", "tags": ["y"], "grade": -3},
    "c": {"year": 2021.5, "subject": "math", "tags": [], "scores": [1, 10]},
    "d": {"year": "2022", "subject": "art", "scores": [5, [7], "6", True], "a.b": 2, "it's $key": 4},
    "e": {},
}  # fmt: skip

#: Filters with the sources whose chunks they let through.
_EXPECTED: list[tuple[Where, str]] = [
    ({"year": {"$gte": 2020}}, "bc"),
    ({"year": {"$gt": 2020}}, "c"),
    ({"year": {"$lt": 2020}}, "a"),
    ({"year": {"$lte": 2020, "$gt": 2019}}, "b"),
    ({"year": {"$lte": 2021.5}}, "abc"),
    ({"grade": {"$lt": 0}}, "b"),
    ({"year": {"$gte": 2020}, "subject": "cs"}, "b"),
    # A single member must lie within all bounds; members that are no numbers, and lists in lists, never do.
    ({"scores": {"$gt": 2, "$lt": 9}}, "d"),
    ({"scores": {"$gte": 6, "$lt": 9}}, ""),
    ({"scores": {"$lte": 1}}, "c"),
    ({"subject": {"$gt": 0}}, ""),
    ({"a.b": {"$gte": 2}}, "d"),
    ({"it's $key": {"$gte": 4}}, "d"),
    ({"nobody": {"$lt": 5}}, ""),
    ({"chunk_index": {"$gte": 3}, "source_id": "a"}, "a"),
    ({"level": {"$gt": 0}}, ""),
    ({"subject": {"$eq": "cs"}}, "ab"),
    ({"subject": {"$in": ["art", "math"]}}, "cd"),
    # What lacks the key has no such value either.
    ({"subject": {"$ne": "cs"}}, "cde"),
    ({"subject": {"$nin": ["cs", "art"]}}, "ce"),
    ({"subject": {"$nin": []}}, "abcde"),
    ({"tags": {"$ne": "x"}}, "bcde"),
    ({"tags": {"$ne": "x", "$in": ["y"]}}, "b"),
    ({"year": {"$ne": 2019, "$lt": 2021}}, "b"),
    ({"source_id": {"$ne": "a"}}, "bcde"),
    ({"parent_id": {"$ne": "8f14e45f-ceea-467f-a9d5-3c1d2e4b5a69"}}, "abcde"),
    ({"$or": [{"subject": "math"}, {"year": {"$lt": 2020}}]}, "ac"),
    ({"$or": [{"subject": "cs", "tags": "x"}, {"subject": "art"}]}, "ad"),
    ({"$or": [{"subject": "cs"}, {"source_id": "e"}], "source_id": {"$ne": "b"}}, "ae"),
    ({"$or": [{"subject": "cs"}, {}]}, "abcde"),
    ({"$and": [{"tags": "x"}, {"tags": "y"}]}, "a"),
    ({"$not": {"subject": "cs", "tags": "x"}}, "bcde"),
    ({"$not": {"$or": [{"subject": "cs"}, {"scores": {"$gt": 0}}]}}, "e"),
    ({"$not": {"$not": {"subject": "cs"}}}, "ab"),
    ({"$not": {}}, ""),
    ({"$not": {"subject": []}}, "abcde"),
]


def _nested(depth: int) -> dict[str, Any]:
    """Return a filter of so many mappings inside each other."""
    where: dict[str, Any] = {"subject": "cs"}
    for _ in range(depth - 1):
        where = {"$not": where}
    return where


_REFUSED: list[Any] = [
    {"year": {}},
    {"year": {"$near": 1}},
    {"year": {"gte": 1}},
    {"year": {"$gte": "2020"}},
    {"year": {"$gte": True}},
    {"year": {"$gte": float("nan")}},
    {"year": {"$lt": 2**60}},
    {"year": {"$in": 2020}},
    {"year": {"$ne": [2020]}},
    {"year": {"$eq": 1.5}},
    {"$or": []},
    {"$or": {"year": 1}},
    {"$and": [1]},
    {"$not": [{"year": 1}]},
    {"$nor": [{"year": 1}]},
    {"$or": [{f"key{i}": i} for i in range(MOST_CONDITIONS + 1)]},
    {f"key{i}": {"$gte": i} for i in range(MOST_CONDITIONS + 1)},
    {"$not": {"$and": [{"source_id": i} for i in range(MOST_CONDITIONS + 2)]}},
    {"$or": [{f"key{i}": ["x", i]} for i in range(MOST_CONDITIONS // 2 + 1)]},
    {"year": [2020] * MOST_VALUES},
    _nested(MOST_DEPTH),
    [{"year": 1}],
    {"a\\b": 1},
    {'a"b': {"$gt": 1}},
]


class Filtering(Contract):
    """Filters by ranges and exceptions, joined in any way."""

    def test_ranges_exceptions_and_what_joins_them(self, store: ChunkStore) -> None:
        """Each filter lets the same chunks through wherever it is given."""
        for source_id, metadata in _SOURCES.items():
            save(store, source_id, make_chunks(source_id, TEXTS, 0, **metadata))
        dense, terms = DENSE.embed_query("class"), SPARSE.embed_query("recursion")
        for where, expected in _EXPECTED:
            assert "".join(sorted({chunk.source_id for chunk in store.find(where)})) == expected, where
            queries = [Query("dense", dense, 99, 0, where), Query("bm25", terms, 99, 0, where)]
            by_meaning, by_terms = store.search(queries)
            assert "".join(sorted({hit.chunk.source_id for hit in by_meaning})) == expected, where
            if "chunk_index" not in where:
                assert "".join(sorted(hit.chunk.source_id for hit in by_terms)) == expected, where
        assert [chunk.index for chunk in store.find({"chunk_index": {"$gte": 3}, "source_id": "a"})] == [3, 4]
        assert store.find({"level": {"$gt": 0}}, None) == []

    def test_the_largest_filters(self, store: ChunkStore) -> None:
        """Every engine takes what is just not refused, and alternatives on one key count as one condition."""
        save(store, "a", make_chunks("a", TEXTS, 0, year=2019, tags=["x", "y"]))
        save(store, "b", make_chunks("b", TEXTS, 0, year=2020))
        absent = [{f"key{i}": i} for i in range(MOST_CONDITIONS - 1)]
        expected: list[tuple[Where, str]] = [
            ({"year": [2020, *range(-MOST_VALUES + 5, -1)]}, "b"),
            ({"$or": [{"year": 2020 + i} for i in range(500)]}, "b"),
            ({"$or": [*({"year": 3000 + i} for i in range(100)), {"$or": [{"year": 1}, {"year": 2019}]}]}, "a"),
            ({"$and": [{"year": {"$ne": 2019}}, *({"$not": {"year": i}} for i in range(100))]}, "b"),
            ({"$or": [*absent, {"tags": "x"}], "source_id": ["a", "b"]}, "a"),
            ({"$not": {"$or": absent}, "year": {"$gt": 2019}}, "b"),
            (_nested(MOST_DEPTH - 1), ""),
        ]
        for where, sources in expected:
            assert "".join(sorted({chunk.source_id for chunk in store.find(where)})) == sources, str(where)[:99]

    @pytest.mark.parametrize("where", _REFUSED)
    def test_a_filter_that_is_none_is_refused(self, store: ChunkStore, where: Any) -> None:
        """Whatever is wrong is named, and nothing is searched."""
        with pytest.raises(InvalidParameterError, match=r"^where"):
            store.find(where)

"""Tests of filters: values, ranges, exceptions and their combinations."""

# ruff: noqa: S101

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from kinsplit.errors import InvalidParameterError
from kinsplit.identity import chunk_id
from kinsplit.stores.filters import MOST_CONDITIONS, MOST_DEPTH, MOST_VALUES
from kinsplit.stores.maintenance.doctor import DENSE, SPARSE, TEXTS, make_chunks, save
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Query, Where
from kinsplit_testing.base import Contract

#: Metadata by source id; "e" has none.
_SOURCES: dict[str, dict[str, Any]] = {
    "a": {"year": 2019, "subject": "cs", "tags": ["x", "y"], "grade": 1.5},
    "b": {"year": 2020, "subject": "cs", "tags": ["y"], "grade": -3},
    "c": {"year": 2021.5, "subject": "math", "tags": [], "scores": [1, 10]},
    "d": {"year": "2022", "subject": "art", "scores": [5, [7], "6", True], "a.b": 2, "it's $key": 4},
    "e": {},
}  # fmt: skip

#: Metadata of every kind, for `_EXPECTED_KINDS`; "k" has none.
_KINDS: dict[str, dict[str, Any]] = {
    "a": {"flag": True, "grade": 0.1 + 0.2, "when": "2024-01-02", "author": {"name": "Ada", "born": 1815}},
    "b": {"flag": False, "grade": 2, "when": "2024-01-02T03:04:05+02:00", "author": {"name": ["Bob", "Ben"]}},
    "c": {"flag": 1, "grade": 2.0, "when": "2024-01-02T03:04:05.5Z", "author.name": "Ada"},
    "d": {"flag": "true", "grade": -1e300, "when": ["2020-05-31", "soon"], "authors": [{"name": "Ada"}, {"born": 7}]},
    "e": {"flag": [True, 0], "grade": [0.5, "2", [2]], "when": "2024-02-30", "authors": [{"name": "Eve", "born": 2}]},
    "f": {"flag": None, "grade": [], "when": 2024, "author": {"name": None}, "authors": []},
    "g": {"flag": [None], "grade": 2**60, "when": "2024-01-03 00:00:00", "author": "Ada"},
    "h": {"flag": {}, "grade": "2", "when": "20240102", "author": {"name": {"first": "Ada"}}},
    "k": {},
}

_DAY = datetime(2024, 1, 2, tzinfo=UTC)

_EXPECTED_KINDS: list[tuple[Where, str]] = [
    ({"flag": True}, "ae"),
    ({"flag": False}, "b"),
    ({"flag": {"$ne": True}}, "bcdfghk"),
    ({"flag": [True, "true"]}, "ade"),
    ({"flag": np.bool_(True)}, "ae"),
    # Numbers are compared by value and never equal booleans.
    ({"flag": 1}, "c"),
    ({"flag": 1.0}, "c"),
    ({"flag": 0}, "e"),
    ({"flag": {"$gte": 0}}, "ce"),
    ({"grade": 2}, "bc"),
    ({"grade": 2.0}, "bc"),
    ({"grade": 0.1 + 0.2}, "a"),
    ({"grade": 0.31}, ""),
    ({"grade": np.float32(0.5)}, "e"),
    ({"grade": {"$in": [0.5, 2, "2"]}}, "bceh"),
    ({"grade": {"$nin": [0.5, 2]}}, "adfghk"),
    ({"grade": -1e300}, "d"),
    ({"grade": {"$lt": 0}}, "d"),
    ({"grade": {"$gt": 2}}, "g"),
    ({"grade": {"$gt": -5, "$lt": 5}}, "abce"),
    # None matches a missing key, None and an empty list.
    ({"flag": None}, "fk"),
    ({"flag": {"$ne": None}}, "abcdegh"),
    ({"grade": [None, 2]}, "bcfk"),
    ({"author": None}, "cdek"),
    ({"$not": {"grade": None}, "flag": {"$in": [None]}}, ""),
    # Dates and times are stored as strings; without a zone they are in UTC.
    ({"when": date(2024, 1, 2)}, "a"),
    ({"when": {"$gte": date(2024, 1, 2)}}, "abcg"),
    ({"when": {"$gt": date(2024, 1, 2)}}, "bcg"),
    ({"when": {"$gte": "2024-01-02T03:04:05", "$lt": "2024-01-03T00:00:00Z"}}, "c"),
    ({"when": {"$lte": "2024-01-02T01:04:05Z"}}, "abd"),
    ({"when": {"$lt": _DAY + timedelta(hours=2)}}, "abd"),
    ({"when": {"$lt": np.datetime64("2021-01-01")}}, "d"),
    ({"when": {"$gt": 0}}, "f"),
    # A dot steps into a mapping, unless the stored key contains the dot; "[]" steps into a list.
    ({"author.name": "Ada"}, "ac"),
    ({"author.name": ["Ben", "Zoe"]}, "b"),
    ({"author.born": {"$lt": 1900}}, "a"),
    ({"author.name.first": "Ada"}, "h"),
    ({"author": {"name": "Ada"}}, "ac"),
    ({"author": {"name": {"first": "Ada"}}}, "h"),
    ({"author": {"name": "Ada", "born": {"$gte": 1800}}}, "a"),
    ({"authors[]": {"name": {"$exists": True}}}, "de"),
    ({"author.name": None}, "defgk"),
    ({"author.name": {"$ne": None}}, "abch"),
    ({"authors[].name": "Ada"}, "d"),
    ({"authors[].born": {"$gt": 3}}, "d"),
    ({"authors[].name": None}, "abcfghk"),
    ({"$not": {"authors[].name": "Eve"}}, "abcdfghk"),
]

#: Filters with the sources whose chunks match.
_EXPECTED: list[tuple[Where, str]] = [
    ({"year": {"$gte": 2020}}, "bc"),
    ({"year": {"$gt": 2020}}, "c"),
    ({"year": {"$lt": 2020}}, "a"),
    ({"year": {"$lte": 2020, "$gt": 2019}}, "b"),
    ({"year": {"$lte": 2021.5}}, "abc"),
    ({"grade": {"$lt": 0}}, "b"),
    ({"year": {"$gte": 2020}, "subject": "cs"}, "b"),
    # One member must be within all bounds; members other than numbers, and nested lists, never are.
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
    # Exceptions also match chunks without the key.
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
    # The operators of the frameworks' and of Chroma's stores.
    ({"subject": {"$exists": True}}, "abcd"),
    ({"tags": {"$exists": False}}, "cde"),
    ({"tags": {"$contains": "x"}}, "a"),
    ({"subject": {"$not": {"$eq": "cs"}}}, "cde"),
    ({"year": {"$not": {"$gt": 2019, "$lt": 2021}}}, "acde"),
    ({"year": {"$between": [2019, 2020]}}, "ab"),
]


def _nested(depth: int) -> dict[str, Any]:
    """Return a filter of mappings nested to a depth."""
    where: dict[str, Any] = {"subject": "cs"}
    for _ in range(depth - 1):
        where = {"$not": where}
    return where


_REFUSED: list[Any] = [
    {"year": {}},
    {"year": {"$near": 1}},
    {"year": {"gte": 1}},
    {"year": {"$gte": 1, "of": 2}},
    {"year": {"$exists": 1}},
    {"year": {"$between": [2019]}},
    {"year": {"$contains": [2019]}},
    {"year": {"$not": {}}},
    {"year": {"$like": "2%"}},
    {"year": {"gte": 1}},
    {"year": {"$gte": "2020"}},
    {"year": {"$gte": True}},
    {"year": {"$gte": float("nan")}},
    {"year": {"$lt": 2**60}},
    {"year": {"$in": 2020}},
    {"year": {"$ne": [2020]}},
    {"year": {"$gte": "2020-02-30"}},
    {"year": {"$gte": 2020, "$lt": "2021-01-01"}},
    {"year": {"$gte": None}},
    {"year": {"$gte": float("inf")}},
    {"year": float("nan")},
    {"year": [[2020]]},
    {"year": [{"a": 1}]},
    {"year": object()},
    {"year": 2**64},
    {"$or": []},
    {"$or": {"year": 1}},
    {"$and": [1]},
    {"$not": [{"year": 1}]},
    {"$nor": [{"year": 1}]},
    _nested(MOST_DEPTH),
    [{"year": 1}],
    {"a\\b": 1},
    {'a"b': {"$gt": 1}},
]


class Filtering(Contract):
    """Tests of filters: values, ranges, exceptions and their combinations."""

    def test_ranges_exceptions_and_what_joins_them(self, store: ChunkStore) -> None:
        """A filter matches the same chunks in every method."""
        _check_filters(store, _SOURCES, _EXPECTED)
        assert [chunk.index for chunk in store.find({"chunk_index": {"$gte": 3}, "source_id": "a"})] == [3, 4]
        assert store.find({"level": {"$gt": 0}}, None) == []

    def test_values_of_every_kind(self, store: ChunkStore) -> None:
        """Filters match booleans, floats, None, dates, and values in mappings and in lists of mappings."""
        _check_filters(store, _KINDS, _EXPECTED_KINDS)

    def test_filters_that_no_request_may_have(self, store: ChunkStore) -> None:
        """Every engine accepts filters above the limits of requests; only the depth is limited."""
        save(store, "a", make_chunks("a", TEXTS, 0, year=2019, tags=["x", "y"]))
        save(store, "b", make_chunks("b", TEXTS, 0, year=2020))
        absent = [{f"key{i}": i} for i in range(2 * MOST_CONDITIONS)]
        expected: list[tuple[Where, str]] = [
            ({"year": [2020, *range(-MOST_VALUES, -1)]}, "b"),
            ({"source_id": ["b", *map(str, range(MOST_VALUES))]}, "b"),
            ({"$id": [chunk_id("b", "f1", 0, 0), *(chunk_id(str(i), "f1", 0, 0) for i in range(MOST_VALUES))]}, "b"),
            ({f"key{i}": None for i in range(2 * MOST_CONDITIONS)} | {"tags": "x"}, "a"),
            ({"$or": [{"year": 2020 + i} for i in range(500)]}, "b"),
            ({"$or": [*({"year": 3000 + i} for i in range(100)), {"$or": [{"year": 1}, {"year": 2019}]}]}, "a"),
            ({"$and": [{"year": {"$ne": 2019}}, *({"$not": {"year": i}} for i in range(100))]}, "b"),
            ({"$or": [*absent, {"tags": "x"}], "source_id": ["a", "b"]}, "a"),
            ({"$not": {"$or": absent}, "year": {"$gt": 2019}}, "b"),
            (_nested(MOST_DEPTH - 1), ""),
        ]
        for where, sources in expected:
            assert "".join(sorted({chunk.source_id for chunk in store.find(where)})) == sources, str(where)[:99]

    def test_a_filter_that_is_none_is_refused(self, store: ChunkStore) -> None:
        """The error names the fault, and nothing is searched."""
        for where in _REFUSED:
            with pytest.raises(InvalidParameterError, match=r"^where"):
                store.find(where)


def _check_filters(store: ChunkStore, sources: dict[str, dict[str, Any]], expected: list[tuple[Where, str]]) -> None:
    for source_id, metadata in sources.items():
        save(store, source_id, make_chunks(source_id, TEXTS, 0, **metadata))
    dense, terms = DENSE.embed_query("class"), SPARSE.embed_query("recursion")
    for where, found in expected:
        assert "".join(sorted({chunk.source_id for chunk in store.find(where)})) == found, where
        queries = [Query("dense", dense, 99, 0, where), Query("bm25", terms, 99, 0, where)]
        by_meaning, by_terms = store.search(queries)
        assert "".join(sorted({hit.chunk.source_id for hit in by_meaning})) == found, where
        if "chunk_index" not in where:
            assert "".join(sorted(hit.chunk.source_id for hit in by_terms)) == found, where

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kinsplit import Document, Index
from kinsplit.server import limits
from kinsplit.server.collections import FacetCounts
from tests.server.conftest import STORE, Connect, error_of


async def test_values_come_with_the_number_of_their_documents(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/filters")).json()
    assert answer == {
        "strategy": "sentence",
        "documents": 3,
        "keys": [
            {
                "key": "course",
                "distinct": 2,
                "values": [{"value": "cs", "documents": 1}, {"value": "math", "documents": 1}],
            },
            {
                "key": "year",
                "distinct": 2,
                "values": [{"value": 2020, "documents": 1}, {"value": 2024, "documents": 1}],
            },
        ],
    }
    assert (await client.get("/filters?strategy=WORD")).json()["keys"] == answer["keys"]
    assert error_of(await client.get("/filters?strategy=none"), 422)["field"] == "strategy"


async def test_every_value_finds_its_documents(client: httpx.AsyncClient) -> None:
    for row in (await client.get("/filters")).json()["keys"]:
        for each in row["values"]:
            asked = {"q": "loop", "top_k": 50, "where": f"{row['key']}={each['value']}"}
            found = (await client.get("/search", params=asked)).json()["passages"]
            assert len({passage["source_id"] for passage in found}) == each["documents"]


def counted(*metadata: dict[str, Any]) -> dict[str, tuple[int, list[tuple[str | float, int]]]]:
    with Index("memory:filters", collection="some", embedder="hash") as index:
        for number, each in enumerate(metadata):
            assert not index.add([Document(f"{number}.txt", "One. Two.", each)]).failed
        facets = FacetCounts(index.store).get()
        for number in range(len(metadata)):
            index.delete(f"{number}.txt")
    return {key.key: (key.distinct, [(each.value, each.documents) for each in key.values]) for key in facets}


def test_only_what_a_filter_takes_is_listed() -> None:
    found = counted(
        {"tags": ["a", "b", "a"], "done": True, "share": 0.5, "place": {"x": 1}, "none": None, "a=b": "c", "$x": "y"},
        {
            "tags": ["b"],
            "absolute_path": "/home/somebody",
            "_own": "x",
            "long": "x" * limits.CONDITION,
            "n": 3,
            "": "e",
        },
        {"n": "3", 'q"': "x", "a b": "spaced", " c": "led", "done": 1.0},
    )
    assert [type(value) for value, _ in found["done"][1]] == [int, bool]
    assert found == {
        "tags": (2, [("b", 2), ("a", 1)]),
        "n": (2, [(3, 1), ("3", 1)]),
        "a b": (1, [("spaced", 1)]),
        "done": (2, [(1, 1), (True, 1)]),
        "share": (1, [(0.5, 1)]),
    }


def test_of_many_values_the_most_frequent_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "VALUES", 2)
    monkeypatch.setattr(limits, "FACETS", 1)
    found = counted({"k": "a"}, {"k": "b", "rare": "x"}, {"k": "c"}, {"k": "b"})
    assert found == {"k": (3, [("b", 2), ("a", 1)])}


def test_they_are_counted_once_a_minute() -> None:
    now = 0.0
    with Index(STORE, collection="by-word", embedder="hash", must_exist=True) as index:
        reads = []
        find = index.store.find
        index.store.find = lambda *given, **named: reads.append(given) or find(*given, **named)  # type: ignore[method-assign]
        values = FacetCounts(index.store, now=lambda: now)
        assert values.get() == values.get()
        now = 59.0
        assert len(values.get()) == 2
        assert len(reads) == 1
        now = 61.0
        assert len(values.get()) == 2
        assert len(reads) == 2


async def test_they_need_a_key_where_there_are_keys(connect: Connect) -> None:
    client = await connect(api_keys="key")
    assert error_of(await client.get("/filters"), 401)

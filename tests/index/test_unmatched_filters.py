"""Filters that find nothing, since no chunk has a value that they ask for."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from kinsplit import Document, Index
from kinsplit.stores.filter_check import FilterWarning

DOCUMENTS = [
    Document(
        "a.md", "Owls hunt at night.", {"course": "Birds 101", "tags": ["night", "hunt"], "author": {"name": "Ada"}}
    ),
    Document("b.md", "Bread is baked.", {"course": "Baking", "year": 2020}),
    *(Document(f"{n}.md", "Bees fly.", {"hive": f"Hive {n:02}"}) for n in range(20)),
]


@pytest.fixture(scope="module")
def index():
    with Index("memory:", embedder="hash") as opened:
        opened.add(DOCUMENTS)
        yield opened


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"course": "birds 101"}, ["course = 'birds 101'. Did you mean 'Birds 101'?"]),
        ({"course": "Birds"}, ["course = 'Birds'. Did you mean 'Birds 101'?"]),
        (
            {"course": ["Bird 101", "baking"]},
            ["course = 'Bird 101' or 'baking'. Did you mean 'Birds 101' or 'Baking'?"],
        ),
        ({"course": "Fish"}, ["course = 'Fish'. The values there: 'Baking', 'Birds 101'."]),
        ({"hive": "hive 07"}, ["hive = 'hive 07'. Did you mean 'Hive 07' or 'Hive 17' or 'Hive 09'?"]),
        ({"hive": "zzz"}, ["hive = 'zzz'."]),
        ({"tags": "nigth"}, ["tags = 'nigth'. Did you mean 'night'?"]),
        ({"author.name": "ada"}, ["author.name = 'ada'. Did you mean 'Ada'?"]),
        ({"year": 2021}, ["year = 2021. Did you mean 2020?"]),
        ({"year": "2020"}, ["year = '2020'. Did you mean 2020?"]),
        ({"year": ["2021", 2021]}, ["year = 2021. Did you mean 2020?"]),
        ({"planet": "Mars"}, ["planet = 'Mars'."]),
        ({"$or": [{"course": "baking"}, {"planet": "Mars"}]}, None),
        ({"course": "Birds 101", "year": 2020}, []),
        ({"course": {"$nin": ["Birds 101", "Baking"]}, "year": {"$gte": 1}}, []),
        ({"course": {"$ne": "bread"}, "source_id": "none"}, []),
    ],
)
def test_values_that_no_chunk_has_are_named_with_the_nearest_ones(
    index: Index, where: dict[str, Any], expected: list[str] | None
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert index.search("owls", where=where) == []

    found = [str(each.message) for each in caught if each.category is FilterWarning]
    if expected is None:
        assert len(found) == 2
    else:
        near = [message.partition(" or 'Hive 17'")[0] for message in found]
        assert near == [f"where: no chunk has {each}".partition(" or 'Hive 17'")[0] for each in expected]


def test_what_finds_something_warns_of_nothing(index: Index) -> None:
    assert index.search("owls", where={"course": ["Birds 101", "birds"]})

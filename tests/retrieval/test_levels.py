"""Searches over all levels at once: one answer within a budget, in three calls, without repeated text."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit import Index
from kinsplit.errors import InvalidParameterError
from kinsplit.options import KinWeights, SearchOptions
from kinsplit.parsers import create
from kinsplit.retrieval import search
from kinsplit.spans import overlap
from kinsplit.tokenizers import resolve
from tests.retrieval.helpers import CountingStore, course, question

NESTED = create("hierarchical", parent_size=(400, 150), child_size=50)
STRADDLING = create("multigranular", chunk_sizes=(5, 12, 30), chunk_overlap=2)
TEXT = "what is recursion about"


def test_all_levels_take_the_calls_of_one() -> None:
    store = CountingStore(course(6), NESTED)
    options = SearchOptions(level="all", budget=100, weights=KinWeights(pool=10))
    found = search(
        store,  # type: ignore[arg-type]
        TEXT,
        question(TEXT),
        NESTED.fingerprint,
        options,
        None,
        resolve("bundled"),
        levels=range(NESTED.depth),
    )
    assert store.calls == ["rank", "rank", "get"]
    assert len({hit.chunk.level for passage in found for hit in passage.hits}) > 1


@pytest.mark.parametrize("strategy", [NESTED, STRADDLING])
@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"diversity": 0.5}])
async def test_no_text_comes_twice(strategy: Any, options: Any) -> None:
    documents = course()
    texts = {document.id: document.text for document in documents}
    async with Index("memory:", strategy=strategy, embedder="hash") as index:
        index.add(documents)
        for budget in (20, 60, 200):
            found = index.search(TEXT, level="all", budget=budget, **options)
            assert sum(resolve("bundled").count([passage.text for passage in found])) <= budget
            for number, passage in enumerate(found):
                assert passage.text == texts[passage.source_id][passage.start : passage.end]
                others = [other for other in found[:number] if other.source_id == passage.source_id]
                assert not any(overlap(passage.spans, other.spans) for other in others)
        assert found == await index.asearch(TEXT, level="all", budget=budget, **options)


def test_the_larger_the_budget_the_higher_the_levels() -> None:
    with Index("memory:", strategy=NESTED, embedder="hash") as index:
        index.add(course())
        levels = [
            {hit.chunk.level for passage in index.search(TEXT, level="all", budget=budget) for hit in passage.hits}
            for budget in (12, 300)
        ]
    assert 0 in levels[0]
    assert max(levels[0]) < max(levels[1])


def test_levels_compete_for_a_budget_by_scores_of_one_kind() -> None:
    with pytest.raises(InvalidParameterError, match="level: needs a budget to be 'all'"):
        SearchOptions(level="all")
    with pytest.raises(InvalidParameterError, match="level: can't be 'all' with the ranking 'hybrid'"):
        SearchOptions(level="all", budget=100, ranking="hybrid")
    with pytest.raises(InvalidParameterError, match="level: can't be 'all' with window or parents"):
        SearchOptions(level="all", budget=100, parents=True)
    with pytest.raises(InvalidParameterError, match="level"):
        SearchOptions(level="some")

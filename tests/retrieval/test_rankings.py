"""Every ranking: its order, its calls, and the same passages wherever it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit import Index
from kinsplit.errors import InvalidParameterError
from kinsplit.options import KinWeights, SearchOptions
from kinsplit.retrieval import SearchQuestion
from kinsplit.retrieval.rankings import find_candidates, names, pick
from tests.retrieval.helpers import CountingStore, course, question

TEXT = "what is recursion about"


def order(store: CountingStore, ranking: str, limit: int = 10) -> list[tuple[str, float]]:
    found = find_candidates(store, question(TEXT), KinWeights(), limit, pick(ranking))  # type: ignore[arg-type]
    return [(candidate.chunk.id, candidate.score) for candidate in found]


@pytest.mark.parametrize("ranking", ["dense", "terms"])
def test_a_plain_ranking_is_the_stores_own(ranking: str) -> None:
    store = CountingStore(course())
    asked = question(TEXT)
    query = asked.by_meaning(0, 10) if ranking == "dense" else asked.by_terms(0, 10)

    assert order(store, ranking) == [(entry.id, score) for entry, score in store.store.rank([query])[0]]
    assert store.calls == ["rank", "get"]


def test_a_hybrid_ranking_adds_reciprocal_ranks() -> None:
    store = CountingStore(course())
    expected: dict[str, float] = {}
    for query in (question(TEXT).by_meaning(0, 10), question(TEXT).by_terms(0, 10)):
        for rank, (entry, _) in enumerate(store.store.rank([query])[0]):
            expected[entry.id] = expected.get(entry.id, 0) + 1 / (61 + rank)

    assert order(store, "hybrid") == sorted(expected.items(), key=lambda pair: -pair[1])[:10]
    assert store.calls == ["rank", "get"]


@pytest.mark.parametrize("ranking", names())
async def test_engines_and_event_loops_rank_alike(ranking: str, tmp_path: Path) -> None:
    async with Index("memory:", embedder="hash") as index, Index(f"edge:{tmp_path}", embedder="hash") as edge:
        index.add(course())
        edge.add(course())
        found, stored = index.search(TEXT, ranking=ranking), edge.search(TEXT, ranking=ranking)

        assert found == await index.asearch(TEXT, ranking=ranking)
        assert [(p.source_id, p.spans) for p in found] == [(p.source_id, p.spans) for p in stored]


def test_terms_alone_ask_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with Index("memory:", embedder="hash") as index:
        index.add(course())
        monkeypatch.setattr(type(index.embedder), "embed_query", None)
        assert index.search(TEXT, ranking="terms", top_k=1)[0].source_id == "lecture_0.md"


def test_options_that_a_ranking_does_not_have_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"ranking: must be 'kin', 'hybrid', 'dense' or 'terms'"):
        SearchOptions(ranking="bm25")
    with pytest.raises(InvalidParameterError, match="weights: are not used by the ranking 'dense'"):
        SearchOptions(ranking="dense", weights=KinWeights(bm25=1))
    assert SearchOptions(weights=KinWeights(bm25=1)).ranking == "kin"
    by_terms = SearchQuestion(None, question(TEXT).terms)
    with pytest.raises(InvalidParameterError, match="dense: must be given to search by meaning"):
        find_candidates(CountingStore([]), by_terms, KinWeights(), 5)  # type: ignore[arg-type]

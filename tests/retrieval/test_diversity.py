"""Maximal marginal relevance: the order of its definition, in three calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit import Document, Index
from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.options import SearchOptions
from kinsplit.retrieval import Candidate
from kinsplit.retrieval.rankings import names
from kinsplit.retrieval.search import diversify
from kinsplit.spans import Span
from tests.retrieval.helpers import STRATEGY, CountingStore, course
from tests.retrieval.test_pipeline import Longest, ask


def candidate(number: int, score: float) -> Candidate:
    place = Span(number, number + 1)
    chunk = Chunk(
        id=str(number), source_id="d", index=number, total=9, level=0, spans=(place,), text="x", content_hash=""
    )
    return Candidate(chunk, score)


def defined(scores: list[float], vectors: np.ndarray[Any, Any], diversity: float) -> list[int]:
    """Return the order by the definition, one comparison after the other."""
    low, high = min(scores), max(scores)
    relevance = [(score - low) / (high - low) if high > low else 1.0 for score in scores]
    chosen: list[int] = []
    while len(chosen) < len(scores):
        value = {
            i: (1 - diversity) * relevance[i] - diversity * max([0.0, *(vectors[chosen] @ vectors[i])])
            for i in range(len(scores))
            if i not in chosen
        }
        chosen.append(max(value, key=lambda i: (round(value[i], 9), -i)))
    return chosen


@given(st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 10**6))
def test_the_order_is_that_of_the_definition(number: int, diversity: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(number, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = sorted(random.normal(size=number).tolist(), reverse=True)
    candidates = [candidate(i, score) for i, score in enumerate(scores)]

    found = diversify(candidates, {str(i): 2 * vector for i, vector in enumerate(vectors)}, diversity)

    assert [int(one.chunk.id) for one in found] == defined(scores, vectors, diversity)
    values = [one.scores["mmr"] for one in found]
    assert values == sorted(values, reverse=True)


def test_candidates_that_a_reranker_left_out_stay_last() -> None:
    given_ = [candidate(0, 0.2), candidate(1, 0.1), candidate(2, 30.0)]
    assert [one.chunk.id for one in diversify(given_, {}, 0.5)] == ["0", "1", "2"]
    assert diversify([], {}, 0.5) == []


@pytest.mark.parametrize("ranking", names())
def test_vectors_come_with_the_texts(ranking: str) -> None:
    store = CountingStore(course())
    assert ask(store, "what is recursion", diversity=0.5, ranking=ranking)
    assert store.calls == ["rank", "get_with_vectors"]


async def test_what_is_said_twice_comes_once() -> None:
    async with Index("memory:", strategy=STRATEGY, embedder="hash") as index:
        for name in "abc":
            index.add(Document(name, "Recursion calls itself."))
        index.add(Document("d", "Recursion needs a base."))
        asked = "recursion calls itself"
        plain, diverse = ([p.source_id for p in index.search(asked, top_k=2, diversity=d)] for d in (0, 0.6))
        assert (plain, diverse) == (["a", "b"], ["a", "d"])
        options: dict[str, Any] = {"diversity": 0.6, "budget": 12}
        assert await index.asearch("recursion", **options) == index.search("recursion", **options)


def test_a_reranker_reads_the_candidates_alone() -> None:
    reranker = Longest()
    (first, second) = ask(CountingStore(course()), "recursion", reranker, diversity=0.5, top_k=2)
    assert len(reranker.read) == 1
    assert list(first.best.scores)[-2:] == ["rerank", "mmr"]
    assert first.score >= second.score


def test_the_weight_is_a_share() -> None:
    with pytest.raises(InvalidParameterError, match="diversity: must be at most 1"):
        SearchOptions(diversity=1.5)

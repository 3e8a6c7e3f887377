"""Two rankings become one."""

from __future__ import annotations

import pytest

from kinsplit.chunk import Chunk, Document
from kinsplit.parsers import create
from kinsplit.retrieval import fuse
from kinsplit.stores import Hit

CHUNKS: list[Chunk] = create("word", chunk_size=1).chunk(Document("d", "zero one two three four"))


def hits(*scores: tuple[int, float]) -> list[Hit]:
    return [Hit(CHUNKS[i], score) for i, score in scores]


def test_the_fused_score_is_the_weighted_mean_of_cosine_and_term_share() -> None:
    found = fuse(hits((0, 0.8), (1, 0.6)), hits((1, 10.0), (0, 5.0)), limit=5)

    assert [c.chunk.index for c in found] == [1, 0]
    assert found[0].score == pytest.approx((0.6 + 0.5 * 1.0) / 1.5)
    assert found[1].score == pytest.approx((0.8 + 0.5 * 0.5) / 1.5)
    assert found[0].scores == {"dense": 0.6, "bm25": pytest.approx(10.0), "fused": found[0].score}


def test_a_chunk_missing_from_a_full_ranking_has_at_most_its_lowest_score() -> None:
    found = fuse(hits((0, 0.9), (1, 0.5)), hits((2, 4.0), (3, 2.0)), limit=2)

    assert {c.chunk.index: round(c.score, 6) for c in found} == {
        0: round((0.9 + 0.5 * 0.5) / 1.5, 6),
        2: round((0.5 + 0.5 * 1.0) / 1.5, 6),
    }


def test_a_chunk_missing_from_a_ranking_that_ended_early_has_nothing_of_it() -> None:
    found = fuse(hits((0, 0.9)), hits((1, 4.0)), limit=5)

    assert {c.chunk.index: c.score for c in found} == {0: pytest.approx(0.6), 1: pytest.approx(0.5 / 1.5)}
    assert "bm25" not in found[0].scores
    assert "dense" not in found[1].scores


def test_nothing_found_is_nothing_and_a_negative_cosine_counts_as_none() -> None:
    assert fuse([], [], limit=3) == []
    (found,) = fuse(hits((0, -0.2)), [], limit=3)
    assert found.score == 0.0


def test_equal_scores_come_in_document_order() -> None:
    found = fuse(hits((3, 0.5), (1, 0.5), (2, 0.5)), [], limit=5)

    assert [c.chunk.index for c in found] == [1, 2, 3]

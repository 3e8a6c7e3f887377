"""Gains of cuts, on vectors of known geometry."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kinsplit.parsers.similarity import THRESHOLDS, coherence, gains, similarities, variance


def unit(rows: list[list[float]]) -> np.ndarray:
    vectors = np.array(rows, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


TWO_TOPICS = unit([[1, 0.1, 0], [1, 0, 0.1], [1, 0, 0], [0, 1, 0.1], [0.1, 1, 0], [0, 1, 0]])


def random_vectors(n: int, d: int = 5) -> np.ndarray:
    return unit(np.random.default_rng(n).normal(size=(n, d)).tolist())


def test_adjacent_sentences_are_compared_by_their_cosine() -> None:
    vectors = random_vectors(7)
    expected = [float(a @ b) for a, b in pairwise(vectors)]
    np.testing.assert_allclose(similarities(vectors), expected, atol=1e-6)


@pytest.mark.parametrize("window", [2, 3, 9])
def test_windows_are_compared_by_the_cosine_of_their_means(window: int) -> None:
    vectors = random_vectors(7)
    for gap, similar in enumerate(similarities(vectors, window), 1):
        a, b = vectors[max(0, gap - window) : gap].mean(axis=0), vectors[gap : gap + window].mean(axis=0)
        assert similar == pytest.approx(float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b)), abs=1e-6)


@pytest.mark.parametrize(("n", "longest"), [(1, 3), (2, 5), (6, 1), (9, 4), (9, 9)])
def test_coherence_is_the_squared_length_of_the_sum_by_the_number(n: int, longest: int) -> None:
    vectors = random_vectors(n)
    found = coherence(vectors, longest)
    assert found.shape == (n, longest)
    for j in range(n):
        for m in range(1, longest + 1):
            total = vectors[j + 1 - m : j + 1].sum(axis=0) if m <= j + 1 else np.zeros(5)
            assert found[j, longest - m] == pytest.approx(float(total @ total) / m, abs=1e-5)


def test_variance_is_unbiased_and_defined_for_all_numbers_of_sentences() -> None:
    assert variance(random_vectors(1)) == variance(np.zeros((0, 3), dtype=np.float32)) == 0
    assert variance(unit([[1, 2]] * 5)) == pytest.approx(0, abs=1e-6)
    vectors = random_vectors(40)
    assert variance(vectors) == pytest.approx(float(np.var(vectors, axis=0, ddof=1).sum()), rel=1e-5)


@pytest.mark.parametrize("kind", sorted(set(THRESHOLDS) - {"adaptive"}))
def test_every_kind_finds_the_change_of_topic_first(kind: str) -> None:
    judged = gains(similarities(TWO_TOPICS), kind, THRESHOLDS[kind].default)
    assert int(np.argmax(judged)) == 2
    assert (judged > 0).any()


@pytest.mark.parametrize("kind", sorted(set(THRESHOLDS) - {"adaptive"}))
@pytest.mark.parametrize("number", [2, 3, 9])
def test_equal_vectors_ask_for_no_cut(kind: str, number: int) -> None:
    vectors = unit([[0.6, 0.8]] * number)
    assert (gains(similarities(vectors), kind, THRESHOLDS[kind].default) <= 0).all()


def test_a_relative_threshold_is_the_documents_own() -> None:
    similar = np.array([0.9, 0.8, 0.2, 0.9, 0.7])
    distances = 1 - similar
    for kind, threshold, bound in (
        ("percentile", 80, np.percentile(distances, 80)),
        ("deviation", 1, distances.mean() + distances.std()),
        ("interquartile", 1.5, distances.mean() + 1.5 * np.subtract(*np.percentile(distances, [75, 25]))),
        ("similarity", 0.75, 0.25),
    ):
        np.testing.assert_allclose(gains(similar, kind, threshold), distances - bound)

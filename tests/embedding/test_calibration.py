"""Similarities relative to unrelated texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kinsplit import embedding
from kinsplit.embedding import calibration
from kinsplit.embedding.calibration import Calibration, baseline_of, calibrate
from kinsplit.embedding.hashing import HashEmbedder


class High(HashEmbedder):
    """A model whose cosines all lie between 0.8 and 1, like those of e5; it counts its calls."""

    repeatable = True

    def __init__(self, fingerprint: str = "high") -> None:
        super().__init__(64)
        self.calls, self.own = 0, fingerprint

    @property
    def fingerprint(self) -> str:
        return self.own

    def embed(self, texts: Sequence[str], progress: object = None) -> np.ndarray:
        self.calls += 1
        vectors = np.sqrt(0.2) * super().embed(texts)
        return np.hstack([vectors, np.full((len(texts), 1), np.sqrt(0.8))]).astype(np.float32)


def unit(*angles: float) -> np.ndarray:
    radians = np.radians(angles)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1)


def test_unrelated_texts_are_0_identical_ones_1_and_opposite_ones_minus_1() -> None:
    found = Calibration(np.array([[0.5, 0.0], [0.0, 0.1]]))
    first, angle = unit(0), np.degrees(np.arccos(0.5))
    assert found.unrelated(first).tolist() == [0.5]
    for cosine_of, expected in ((0, 1.0), (180, -1.0)):
        np.testing.assert_allclose(found.similarities(first, first @ unit(cosine_of).T * first), expected)
    same = Calibration(np.array([[0.5 * np.cos(np.radians(angle / 2)) ** -1, 0.0]]))
    both = unit(angle / 2, -angle / 2)
    np.testing.assert_allclose(same.similarities(both[:1], both[1:]), 0, atol=1e-12)
    assert same.cosine(0, both) == pytest.approx(0.5)
    assert (same.cosine(1, both), same.cosine(-1, both)) == pytest.approx((1, -1))


def test_a_threshold_as_a_cosine_decides_like_the_similarity() -> None:
    random = np.random.default_rng(3)
    vectors = random.normal(size=(2, 40, 8)) + 0.5
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    found = Calibration(random.normal(size=(3, 8)) / 4)
    for first, second in vectors.swapaxes(0, 1):
        both = np.stack([first, second])
        (similar,) = found.similarities(both[:1], both[1:]).ravel()
        assert found.cosine(float(similar), both) == pytest.approx(float(first @ second))


def test_equal_vectors_and_no_vectors_have_defined_results() -> None:
    found = Calibration(unit(0))
    assert np.isfinite(found.similarities(unit(0), unit(0, 90, 180))).all()
    assert found.similarities(np.zeros((0, 2)), unit(0)).shape == (0, 1)
    assert found.cosine(0.5, np.zeros((0, 2))) == 0.5


def test_models_with_high_and_low_cosines_decide_alike() -> None:
    low, high = HashEmbedder(64), High()
    texts = ["cats purr and sleep", "cats sleep and purr", "stocks fell on rates", "rates rose"]
    similar = [calibrate(each).similarities(each.embed(texts), each.embed(texts)).clip(0) for each in (low, high)]
    np.testing.assert_allclose(similar[0], similar[1], atol=1e-5)


def test_a_model_is_calibrated_once_on_a_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path))
    first, again, other = High(), High(), High("other")
    np.testing.assert_array_equal(calibrate(first).centres, calibrate(again).centres)
    calibrate(first)
    calibrate(other)
    assert [each.calls for each in (first, again, other)] == [1, 0, 1]


def test_a_model_knows_the_languages_in_which_unrelated_texts_are_apart() -> None:
    found = Calibration(np.array([[0.3, 0.0, 0.0], [0.0, 0.8, 0.0]]))
    first, second = (found.baseline(np.eye(3)[i]) for i in (0, 1))
    # 0.21 above the mean of 0.09 of the language that it knows best, of 0.91 that are left.
    assert first == (0.3, 0.0)
    assert second == (0.8, 0.0)
    assert found.baseline(np.eye(3)[2]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("Where do the birds sleep in winter?", True),
        ("def area(radius): what does it return?", True),
        ("Wo schlafen die Vögel im Winter?", False),
        ("Где зимуют птицы?", False),
        ("鸟在冬天睡在哪里？", False),
    ],
)
def test_the_bundled_model_knows_english(question: str, known: bool) -> None:
    model = embedding.create("bundled")
    found = baseline_of(model, model.embed_query(question))
    assert found is not None
    assert (found.familiarity > 0.7) is known
    assert (found.familiarity < 0.3) is not known


def test_a_model_whose_cosines_are_all_high_may_know_a_language() -> None:
    model = High()
    found = baseline_of(model, model.embed(["cats purr and sleep"])[0])
    assert found is not None
    assert found.unrelated > 0.8
    assert found.familiarity > 0.5


def test_unrelated_texts_are_many_and_different() -> None:
    groups = calibration._unrelated()
    texts = [text for group in groups for text in group]
    assert len(groups) == 8
    assert min(map(len, groups)) >= 6
    assert len(set(texts)) == len(texts) == 60
    assert "def area(radius):\n    return" in "".join(texts)


def test_the_bundled_model_tells_related_from_unrelated_texts_in_every_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import related  # A script, not an installed package.

    known = related.pairs()
    cosines, similarities = related.similarities(embedding.create("bundled"), known)
    assert len(known.related) == 80
    for threshold in (0.2, 0.3, 0.4, 0.5):
        assert ((similarities >= threshold) == known.related).mean() >= 0.95
        assert ((cosines >= threshold) == known.related).mean() <= 0.9

"""The search for weights of kin scoring, without embedding or searching again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.evaluation import Experiment
from kinsplit.evaluation.experiment import rankers
from kinsplit.evaluation.tuning.trial import CHOICES, WeightBench, choose
from kinsplit.options import KinWeights
from kinsplit.parsers import create
from tests.evaluation.tuning.test_tuning import forest

STRATEGY = create("sentence", chunk_size=16, chunk_overlap=0)


@pytest.mark.parametrize("weights", [KinWeights(), KinWeights(siblings=0, document=1, bm25=0.4)])
def test_kept_rankings_give_the_recall_of_a_search(tmp_path: Path, weights: KinWeights) -> None:
    bench = WeightBench.of(forest(), STRATEGY, "recall@60t", embedder="hash", cache=tmp_path)

    ranker = rankers.kin(weights)
    whole = Experiment(
        forest(),
        {"s": STRATEGY},
        embedder="hash",
        ranker=ranker,
        measures=["recall@60t"],
        headline="recall@60t",
        cache=False,
    ).run()

    assert bench.recall(weights) == pytest.approx(whole.strategies[0].measures["recall@60t"].mean)
    assert len(bench.values(weights)) == len(forest().questions)


def test_one_weight_after_the_other_is_chosen() -> None:
    best = KinWeights(siblings=0.3, document=1.0)
    asked: list[KinWeights] = []

    def recall(weights: KinWeights) -> float:
        asked.append(weights)
        return 1 - sum(abs(getattr(weights, name) - getattr(best, name)) for name in CHOICES) / 10

    assert choose(recall) == best
    assert len(asked) < 60


def test_weights_that_gain_next_to_nothing_are_not_chosen() -> None:
    assert choose(lambda weights: 0.5 + weights.document / 10_000) == KinWeights()

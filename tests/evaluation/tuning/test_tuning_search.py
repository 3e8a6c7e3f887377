"""The search tries only allowed strategies, none twice, and ends at its limits."""

from __future__ import annotations

import pytest

from kinsplit import parsers
from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.evaluation.tuning.search import Sampler, SearchResult, TuningLimits, search
from kinsplit.evaluation.tuning.space import SPACES, Choice, Space, needs
from kinsplit.evaluation.tuning.trial import Caps, EmbeddingCost, Trial
from kinsplit.parsers import Strategy, default_strategy

RESOURCES = {"embedder": "hash", "model": "hash"}
SMALL = {
    "word": Space((Choice("chunk_size", (10, 20, 30, 40)), Choice("chunk_overlap", (0.0, 0.5), share_of="chunk_size"))),
    "sentence": Space((Choice("chunk_size", (10, 20)),), {"unit": "word", "chunk_overlap": 0}),
}


class Bench:
    """A bench with the best recall for chunks of size 30; overlap doubles the cost."""

    def __init__(self) -> None:
        self.measured: list[Strategy] = []

    def cost(self, strategy: Strategy) -> EmbeddingCost:
        sizes = strategy.parameters
        if sizes["chunk_size"] == 10 and strategy.name == "sentence":
            raise LimitTooSmallError(10, "word", "x")
        ratio = 2.0 if sizes["chunk_overlap"] else 1.0
        return EmbeddingCost(1000 // sizes["chunk_size"], round(100 * ratio), ratio)

    def recall(self, strategy: Strategy) -> float:
        self.measured.append(strategy)
        return 1 - abs(strategy.parameters["chunk_size"] - 30) / 1000


def run(bench: Bench, caps: Caps | None = None, limits: TuningLimits | None = None, seed: int = 0) -> SearchResult:
    return search(
        bench, Sampler(SMALL, RESOURCES, seed), default_strategy(), caps or Caps(), limits or TuningLimits(None, None)
    )


def test_every_strategy_has_a_space() -> None:
    assert list(SPACES) == parsers.names()


@pytest.mark.parametrize("name", SPACES)
def test_every_combination_of_a_space_makes_a_strategy(name: str) -> None:
    space = SPACES[name]
    made = space.all(name, RESOURCES)
    assert len(made) == space.size > 1
    assert len({strategy.fingerprint for strategy in made}) == space.size
    assert {strategy.name for strategy in made} == {name}
    for key in needs(name):
        assert {strategy.parameters[key] for strategy in made} == {"hash"}


def test_nothing_is_tried_twice_and_everything_in_the_end() -> None:
    bench = Bench()
    found = run(bench)
    assert found.ending == "all tried"
    assert found.baseline.strategy == default_strategy()
    tried = [trial.strategy.fingerprint for trial in found.trials]
    every = {s.fingerprint for name, space in SMALL.items() for s in space.all(name, RESOURCES)}
    assert len(tried) == len(set(tried))
    assert set(tried) == every | {default_strategy().fingerprint}


def test_of_equal_ones_the_cheapest_is_the_best() -> None:
    best = run(Bench()).best.strategy
    assert (best.name, best.parameters["chunk_size"], best.parameters["chunk_overlap"]) == ("word", 30, 0)


def test_what_costs_too_much_is_found_out_before_it_is_measured() -> None:
    bench = Bench()
    found = run(bench, Caps(ratio=1.5, chunks=60))
    refused = {trial.refused.split(",")[0] for trial in found.trials if trial.refused}
    assert {one for one in refused if "embeds" in one} == {"embeds 2.00 tokens per token"}
    assert {one for one in refused if "makes" in one} == {"makes 100 chunks"}
    assert any("must hold every character" in trial.refused for trial in found.trials if trial.cost is None)
    assert {s.parameters["chunk_overlap"] for s in bench.measured} == {0}
    assert all((trial.recall is None) == bool(trial.refused) for trial in found.trials)


def test_the_baseline_is_measured_whatever_it_costs() -> None:
    found = run(Bench(), Caps(ratio=0.5))
    assert found.baseline.recall is not None
    assert found.best is found.baseline


def test_trials_and_minutes_end_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    assert run(bench, limits=TuningLimits(3, None)).ending == "trials"
    assert len(bench.measured) == 1 + 3
    moments = iter(range(0, 10_000, 10))  # Each reading of the clock is ten seconds later.
    monkeypatch.setattr("time.monotonic", lambda: next(moments))
    timed = run(bench, limits=TuningLimits(None, 2.0))
    assert timed.ending == "time"
    assert 1 < len(timed.trials) < 8


def test_ctrl_c_ends_the_search_with_what_was_found() -> None:
    class Interrupted(Bench):
        def recall(self, strategy: Strategy) -> float:
            if len(self.measured) == 2:
                raise KeyboardInterrupt
            return super().recall(strategy)

    found = run(Interrupted())
    assert found.ending == "stopped"
    assert sum(trial.recall is not None for trial in found.trials) == 2


def test_a_seed_always_tries_the_same_and_another_one_something_else() -> None:
    def order(seed: int) -> list[str]:
        return [trial.strategy.fingerprint for trial in run(Bench(), seed=seed).trials]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(4)}) > 1


def test_the_search_learns_which_strategies_find_more() -> None:
    class OnlyStructure(Bench):
        def cost(self, strategy: Strategy) -> EmbeddingCost:
            return EmbeddingCost(1, 1, 1.0)

        def recall(self, strategy: Strategy) -> float:
            return float(strategy.name == "structure")

    spaces = {name: SPACES[name] for name in ("character", "word", "token", "sentence", "structure")}
    told: list[Trial] = []
    sampler = Sampler(spaces, RESOURCES)
    search(OnlyStructure(), sampler, default_strategy(), Caps(), TuningLimits(60, None), told.append)
    assert len(told) == 61
    late = [trial.strategy.name for trial in told[31:]]
    assert late.count("structure") / len(late) > 1.5 * SPACES["structure"].size / sum(s.size for s in spaces.values())


@pytest.mark.parametrize(("field", "make"), [("ratio", lambda: Caps(ratio=0)), ("chunks", lambda: Caps(chunks=-1))])
def test_caps_and_limits_must_be_positive(field: str, make: object) -> None:
    with pytest.raises(InvalidParameterError, match=f"{field}: must be positive"):
        make()  # type: ignore[operator]
    for limits in ({"trials": 0}, {"minutes": -1.0}):
        with pytest.raises(InvalidParameterError, match=f"{next(iter(limits))}: must be positive"):
            TuningLimits(**limits)  # type: ignore[arg-type]

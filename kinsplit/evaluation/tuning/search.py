"""The search: trials until their number, the time or the search space is exhausted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.evaluation.tuning.sampler import Sampler
from kinsplit.evaluation.tuning.trial import Caps, Cost, Trial
from kinsplit.parsers import Strategy

#: Why a search ended.
Ending = Literal["trials", "time", "all tried", "stopped"]


class Bench(Protocol):
    """Where strategies are tried."""

    def cost(self, strategy: Strategy) -> Cost:
        """Return what it would cost to embed the documents, before that is done."""

    def recall(self, strategy: Strategy) -> float:
        """Return what a strategy finds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a search ends.

    Attributes:
        trials: Most strategies that are measured beside the baseline.
        minutes: After so many no further trial begins; the last one goes on to its end.
    """

    trials: int | None = 60
    minutes: float | None = 10.0

    def __post_init__(self) -> None:
        for field, value in (("trials", self.trials), ("minutes", self.minutes)):
            if value is not None and not value > 0:
                raise InvalidParameterError(field, "must be positive", value, "Leave it out for the default.")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        trials: In the order in which they were made; the first one is the baseline.
        ending: Why there are no more.
    """

    trials: tuple[Trial, ...]
    ending: Ending

    @property
    def baseline(self) -> Trial:
        """The strategy that others are compared with."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The measured trial that found most; of equal ones the cheapest, the baseline before others."""
        measured = [trial for trial in self.trials if trial.recall is not None]
        return max(measured, key=lambda t: (t.recall, -(t.cost.tokens if t.cost else 0)))


def search(
    bench: Bench,
    sampler: Sampler,
    baseline: Strategy,
    caps: Caps,
    limits: Limits,
    on_trial: Callable[[Trial], None] | None = None,
) -> Found:
    """Try strategies.

    A strategy that costs too much is found out once the documents are split, before anything is embedded, and doesn't
    count as a trial. Ctrl-C ends the search, not the run, once the baseline was measured.

    Args:
        bench: Where they are tried.
        sampler: Proposes them.
        baseline: Tried first, whatever it costs.
        caps: What the others may cost.
        limits: When the search ends.
        on_trial: Told of each trial when it is over.
    """
    begun = time.monotonic()
    trials = [_tried(bench, baseline, Caps(ratio=None))]
    measured = 0

    def ended() -> Ending | None:
        if limits.trials is not None and measured >= limits.trials:
            return "trials"
        return "time" if limits.minutes is not None and time.monotonic() - begun >= 60 * limits.minutes else None

    sampler.learn(baseline, trials[0].recall)
    if on_trial:
        on_trial(trials[0])
    try:
        while (ending := ended()) is None:
            strategy = sampler.propose()
            if strategy is None:
                return Found(tuple(trials), "all tried")
            trial = _tried(bench, strategy, caps)
            sampler.learn(strategy, trial.recall)
            trials.append(trial)
            measured += trial.recall is not None
            if on_trial:
                on_trial(trial)
    except KeyboardInterrupt:
        ending = "stopped"
    return Found(tuple(trials), ending)


def _tried(bench: Bench, strategy: Strategy, caps: Caps) -> Trial:
    begun = time.monotonic()
    try:
        cost = bench.cost(strategy)
    except LimitTooSmallError as error:
        return Trial(strategy, None, None, str(error), time.monotonic() - begun)
    refused = caps.refuse(cost)
    recall = None if refused else bench.recall(strategy)
    return Trial(strategy, cost, recall, refused, time.monotonic() - begun)

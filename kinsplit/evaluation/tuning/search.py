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

#: Reason for the end of a search.
Ending = Literal["trials", "time", "all tried", "stopped"]


class Bench(Protocol):
    """A measuring instrument for the cost and recall of strategies."""

    def cost(self, strategy: Strategy) -> Cost:
        """Return the cost of embedding the documents, without embedding them."""

    def recall(self, strategy: Strategy) -> float:
        """Return the mean recall of a strategy."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a search.

    Attributes:
        trials: Maximum number of strategies to measure besides the baseline; None for no limit.
        minutes: Minutes after which no new trial begins; the current one is finished. None for no limit.
    """

    trials: int | None = 60
    minutes: float | None = 10.0

    def __post_init__(self) -> None:
        for field, value in (("trials", self.trials), ("minutes", self.minutes)):
            if value is not None and not value > 0:
                raise InvalidParameterError(field, "must be positive", value, "Leave it out for the default.")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        trials: Trials in order; the first is the baseline.
        ending: Reason for the end of the search.
    """

    trials: tuple[Trial, ...]
    ending: Ending

    @property
    def baseline(self) -> Trial:
        """The trial of the baseline."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The measured trial with the highest recall; ties go to the cheapest, then to the baseline."""
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

    A strategy that costs too much is refused once the documents are split, before anything is embedded, and doesn't
    count as a trial. Once the baseline is measured, Ctrl-C ends the search, not the program.

    Args:
        bench: Bench that measures the strategies.
        sampler: Sampler that proposes strategies.
        baseline: Strategy to try first, whatever it costs.
        caps: Upper limits of the cost of all others.
        limits: Limits of the search.
        on_trial: Callback for each finished trial.
    """
    begun = time.monotonic()
    trials = [_try(bench, baseline, Caps(ratio=None))]
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
            trial = _try(bench, strategy, caps)
            sampler.learn(strategy, trial.recall)
            trials.append(trial)
            measured += trial.recall is not None
            if on_trial:
                on_trial(trial)
    except KeyboardInterrupt:
        ending = "stopped"
    return Found(tuple(trials), ending)


def _try(bench: Bench, strategy: Strategy, caps: Caps) -> Trial:
    begun = time.monotonic()
    try:
        cost = bench.cost(strategy)
    except LimitTooSmallError as error:
        return Trial(strategy, None, None, str(error), time.monotonic() - begun)
    refused = caps.refuse(cost)
    recall = None if refused else bench.recall(strategy)
    return Trial(strategy, cost, recall, refused, time.monotonic() - begun)

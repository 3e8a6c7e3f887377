"""The search: trials until their number, the time or the search space is exhausted."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinsplit.errors import LimitTooSmallError, require
from kinsplit.evaluation.tuning.space import Choice, Space
from kinsplit.evaluation.tuning.trial import Caps, HalfBench, Trial
from kinsplit.parsers import Strategy
from kinsplit.support.extras import needs

with needs("evaluation"):
    import optuna

# Attempts of the estimator to propose a new combination before one is drawn at random.
_AGAIN = 20
# Random combinations before the estimator is used.
_DRAWN = 16


class Sampler:
    """A sampler that proposes strategies, none twice, and learns from their results.

    The estimator (Bergstra et al., "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011) models the parameters
    of each strategy separately and treats consecutive values of an ordered parameter as neighbours. Equal seeds and
    results give equal proposals.

    Raises:
        MissingExtraError: Optuna is not installed.
    """

    def __init__(self, spaces: Mapping[str, Space], resources: Mapping[str, Any], seed: int = 0) -> None:
        self._spaces, self._resources = spaces, resources
        every = [strategy for name, space in spaces.items() for strategy in space.all(name, resources)]
        self._open = {strategy.fingerprint: strategy for strategy in every}
        self._random = np.random.default_rng(seed)
        self._study = _study(seed)
        self._known: dict[str, float | None] = {}
        self._asked: tuple[optuna.Trial, str] | None = None

    def propose(self) -> Strategy | None:
        """Return a new strategy; None if all have been proposed."""
        if not self._open:
            return None
        for trial, strategy in self._suggestions():
            if strategy.fingerprint in self._open:
                self._asked = trial, strategy.fingerprint
                return self._open.pop(strategy.fingerprint)
            self._tell(trial, self._known.get(strategy.fingerprint))
        self._asked = None
        return self._open.pop(list(self._open)[self._random.integers(len(self._open))])

    def learn(self, strategy: Strategy, value: float | None) -> None:
        """Record the result of a strategy, proposed or not; None if it could not be measured."""
        self._known[strategy.fingerprint] = value
        self._open.pop(strategy.fingerprint, None)
        if self._asked is not None and self._asked[1] == strategy.fingerprint:
            self._tell(self._asked[0], value)
            self._asked = None

    def _suggestions(self) -> Iterator[tuple[optuna.Trial, Strategy]]:
        for _ in range(_AGAIN):
            trial = self._study.ask()
            name = trial.suggest_categorical("strategy", list(self._spaces))
            space = self._spaces[name]
            values = {choice.parameter: _suggested(trial, name, choice) for choice in space.choices}
            yield trial, space.strategy(name, values, self._resources)

    def _tell(self, trial: optuna.Trial, value: float | None) -> None:
        if value is None:
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, value)


def _suggested(trial: optuna.Trial, name: str, choice: Choice) -> Any:
    places = range(len(choice.values))
    at = f"{name}.{choice.parameter}"
    if choice.ordered:
        return choice.values[trial.suggest_int(at, 0, places[-1])]
    return choice.values[trial.suggest_categorical(at, list(places))]


def _study(seed: int) -> optuna.Study:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # Optuna reports each study on stderr.
    try:
        with warnings.catch_warnings(action="ignore", category=optuna.exceptions.ExperimentalWarning):
            sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, n_startup_trials=_DRAWN)
        return optuna.create_study(direction="maximize", sampler=sampler)
    finally:
        optuna.logging.set_verbosity(before)


#: Reason for the end of a search.
Ending = Literal["trials", "time", "all tried", "stopped"]


@dataclass(frozen=True, slots=True)
class TuningLimits:
    """Limits of a search.

    Attributes:
        trials: Maximum number of strategies to measure besides the baseline; None for no limit.
        minutes: Minutes after which no new trial begins; the current one is finished. None for no limit.
    """

    trials: int | None = 60
    minutes: float | None = 10.0

    def __post_init__(self) -> None:
        for field, value in (("trials", self.trials), ("minutes", self.minutes)):
            require(value is None or value > 0, field, "must be positive", value, "Leave it out for the default.")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    trials: tuple[Trial, ...]  # Trials in order; the first is the baseline.
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
    bench: HalfBench,
    sampler: Sampler,
    baseline: Strategy,
    caps: Caps,
    limits: TuningLimits,
    on_trial: Callable[[Trial], None] | None = None,
) -> SearchResult:
    """Try strategies, the baseline first, whatever it costs.

    A strategy that costs too much is refused once the documents are split, before anything is embedded, and doesn't
    count as a trial. Once the baseline is measured, Ctrl-C ends the search, not the program. `on_trial` is called with
    each finished trial.
    """
    begun = time.monotonic()
    trials: list[Trial] = []

    def ended() -> Ending | None:
        if limits.trials is not None and sum(t.recall is not None for t in trials[1:]) >= limits.trials:
            return "trials"
        return "time" if limits.minutes is not None and time.monotonic() - begun >= 60 * limits.minutes else None

    def learn(trial: Trial) -> None:
        sampler.learn(trial.strategy, trial.recall)
        trials.append(trial)
        if on_trial:
            on_trial(trial)

    learn(_try(bench, baseline, Caps(ratio=None)))
    try:
        while (ending := ended()) is None:
            strategy = sampler.propose()
            if strategy is None:
                return SearchResult(tuple(trials), "all tried")
            learn(_try(bench, strategy, caps))
    except KeyboardInterrupt:
        ending = "stopped"
    return SearchResult(tuple(trials), ending)


def _try(bench: HalfBench, strategy: Strategy, caps: Caps) -> Trial:
    begun = time.monotonic()
    try:
        cost = bench.cost(strategy)
    except LimitTooSmallError as error:
        return Trial(strategy, None, None, str(error), time.monotonic() - begun)
    refused = caps.refuse(cost)
    recall = None if refused else bench.recall(strategy)
    return Trial(strategy, cost, recall, refused, time.monotonic() - begun)

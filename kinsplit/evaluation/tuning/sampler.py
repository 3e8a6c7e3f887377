"""The sampler: Optuna's tree-structured Parzen estimator over the search spaces of all strategies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinsplit.evaluation.tuning.space import Choice, Space
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

    Args:
        spaces: Search spaces by name of the strategy.
        resources: Embedder and language model for strategies that take them.
        seed: Seed of all random choices.

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

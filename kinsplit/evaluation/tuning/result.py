"""The result of tuning, with a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import kinsplit
from kinsplit.evaluation.labels import Comparison, Estimate
from kinsplit.evaluation.splitters import spec_of
from kinsplit.evaluation.tuning.search import SearchResult
from kinsplit.evaluation.tuning.trial import Trial
from kinsplit.indexing.configuration import Configuration, IndexSettings
from kinsplit.indexing.embedding_context import check_embedding_context
from kinsplit.parsers import Strategy
from kinsplit.retrieval import KinWeights

#: First line of each configuration that tuning writes.
SIGNATURE = "Written by kinsplit tune"
# P-value below which a difference is significant.
_SURE = 0.05


@dataclass(frozen=True)
class Tuned:
    """The result of tuning.

    Attributes:
        dataset: Name of the dataset.
        measure: Name of the measure by which strategies were chosen.
        embedder: Spec of the embedding model.
        embedding_context: Kind of context that was embedded with a chunk's text.
        language: Language of BM25.
        seed: Seed of the halves and the search.
        searched: Number of questions of the search.
        held_out: Number of held-out questions.
        found: Trials on the searched half.
        estimates: Means of the baseline and of the best strategy over the held-out half, by spec.
        comparison: Comparison of the best strategy with the baseline on the held-out half; None if the baseline is
            the best.
        weights: The best weights of kin scoring on the searched half, with the choice of strategy.
        weighing: Comparison of these weights with the defaults on the held-out half; None if they are the defaults.
        indexed: Whether the questions were asked of a collection, whose strategy is the only one.
    """

    dataset: str
    measure: str
    embedder: str
    embedding_context: str
    language: str
    seed: int
    searched: int
    held_out: int
    found: SearchResult
    estimates: Mapping[str, Estimate]
    comparison: Comparison | None
    weights: KinWeights = field(default_factory=KinWeights)
    weighing: Comparison | None = None
    indexed: bool = False

    @property
    def beats(self) -> bool:
        """Whether the best strategy is significantly better than the baseline on the held-out half."""
        return _is_sure(self.comparison)

    @property
    def chosen_weights(self) -> KinWeights:
        """The best weights if they are significantly better than the defaults on the held-out half, or the defaults."""
        return self.weights if _is_sure(self.weighing) else KinWeights()

    @property
    def choice(self) -> Strategy:
        """The best strategy if it beats the baseline, otherwise the baseline."""
        return (self.found.best if self.beats else self.found.baseline).strategy

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        result = self.comparison
        if self.indexed:
            return "The collection's strategy stays: only weights can be tuned where it is indexed"
        if result is None:
            others = sum(trial.recall is not None for trial in self.found.trials) - 1
            return f"Nothing found beats the library default: none of {others:,} others is better on the searched half"
        gap = result.difference
        size = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], p = {result.p_value:.3f}"
        if self.beats:
            return f"Its choice beats the library default on the held-out half by {size}: {result.strategy}"
        return (
            "Nothing found beats the library default: the best one on the searched half differs from it on the "
            f"held-out half by {size}: {result.strategy}"
        )

    @property
    def weights_verdict(self) -> str:
        """The verdict on the weights of kin scoring in one sentence."""
        if self.weighing is None:
            return "No weights of kin scoring beat the defaults on the searched half"
        gap = self.weighing.difference
        size = f"{gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], p = {self.weighing.p_value:.3f}"
        found = ", ".join(f"{key} {value:g}" for key, value in self.weights.model_dump(exclude_defaults=True).items())
        if _is_sure(self.weighing):
            return f"Weights of kin scoring beat the defaults on the held-out half by {size}: {found}"
        return f"The default weights of kin scoring stay: the best ones differ on the held-out half by {size}: {found}"

    def configuration(self) -> Configuration:
        """Return the choice as a configuration for `kinsplit index --config`."""
        parameters = {key: value for key, value in self.choice.described.items() if value is not None}
        return Configuration(
            index=IndexSettings(
                strategy=self.choice.name,
                parameters=parameters,
                embedder=self.embedder,
                embedding_context=check_embedding_context(self.embedding_context),
                language=self.language,
                weights=None if (chosen := self.chosen_weights) == KinWeights() else chosen,
            )
        )

    def remarks(self) -> str:
        """Return the comment at the top of the configuration, which states its origin."""
        return "\n".join(
            [
                f"{SIGNATURE} {kinsplit.__version__} for {self.dataset!r}; use it with: kinsplit index --config FILE",
                f"{self.measure}, seed {self.seed}: {self.searched} questions to choose by, {self.held_out} held out,",
                f"{len(self.found.trials)} strategies tried.",
                self.verdict,
                self.weights_verdict,
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "dataset": self.dataset,
            "measure": self.measure,
            "embedder": self.embedder,
            "embedding_context": self.embedding_context,
            "language": self.language,
            "seed": self.seed,
            "questions": {"searched": self.searched, "held_out": self.held_out},
            "trials": [_described(trial) for trial in self.found.trials],
            "ending": self.found.ending,
            "baseline": spec_of(self.found.baseline.strategy),
            "best": spec_of(self.found.best.strategy),
            "held_out": {spec: estimate.model_dump(mode="json") for spec, estimate in self.estimates.items()},
            "comparison": self.comparison and self.comparison.model_dump(mode="json"),
            "beats_default": self.beats,
            "verdict": self.verdict,
            "weights_verdict": self.weights_verdict,
            "choice": {
                "strategy": self.choice.name,
                "parameters": self.choice.described,
                "weights": self.chosen_weights.model_dump(mode="json", exclude_defaults=True),
            },
        }


def _is_sure(result: Comparison | None) -> bool:
    """Return whether a comparison shows a significant gain."""
    return result is not None and result.difference.low > 0 and result.p_value < _SURE


def _described(trial: Trial) -> dict[str, Any]:
    return {
        "strategy": spec_of(trial.strategy),
        "recall": trial.recall,
        "cost": trial.cost and asdict(trial.cost),
        "refused": trial.refused or None,
        "seconds": round(trial.seconds, 3),
    }

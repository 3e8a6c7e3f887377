"""Where a strategy is tried: all else is equal, and what it costs is known before anything is embedded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kinsplit.evaluation.experiment import Experiment
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.statistics import Made
from kinsplit.evaluation.statistics.embedded import TokensEmbedded
from kinsplit.evaluation.tuning.space import needs
from kinsplit.evaluation.tuning.trial import Cost
from kinsplit.parsers import Strategy
from kinsplit.tokenizers import BUNDLED, resolve


@dataclass(frozen=True)
class Bench:
    """Tries strategies on one half of the questions.

    Attributes:
        dataset: The documents, and the half.
        measure: By which a strategy is judged, such as "recall@1000t".
        embedder: Spec of the embedding model.
        context: What is embedded of a chunk beside its text.
        terms: Language of the term ranking.
        cache: Whether vectors and outcomes are kept in kinsplit's cache folder; or another folder for them.
    """

    dataset: Dataset
    measure: str
    embedder: str = "bundled"
    context: str = "headings"
    terms: str = "english"
    cache: bool | Path = True

    def cost(self, strategy: Strategy) -> Cost:
        """Split the documents and return what it would cost to embed them.

        Raises:
            LimitTooSmallError: The strategy can't split them.
        """
        chunking = self._experiment(strategy).chunking(strategy.name)
        made = Made(chunking, 0, contexts=self.context == "headings", split_seconds=None, embed_seconds=None)
        tokens = int(TokensEmbedded().value(made))
        if "embedder" in needs(strategy.name):
            tokens += self._total  # Its boundaries are drawn by vectors of all the text.
        return Cost(len(chunking.chunks), tokens, tokens / max(1, self._total))

    def values(self, strategy: Strategy) -> list[float]:
        """Return what the measure says of each question; each has labels, so it says something of each."""
        experiment = self._experiment(strategy)
        ((_, evidence),) = experiment.evidence()
        (judge,) = experiment.judges
        found = (judge.score(outcome, evidence.made.chunking) for outcome in evidence.outcomes)
        return [value for value in found if value is not None]

    def recall(self, strategy: Strategy) -> float:
        """Return the mean over the questions."""
        return float(np.mean(self.values(strategy)))

    @cached_property
    def _total(self) -> int:
        """Tokens of the documents."""
        return int(resolve(BUNDLED).count([document.text for document in self.dataset.documents]).sum())

    def _experiment(self, strategy: Strategy) -> Experiment:
        return Experiment(
            self.dataset,
            {strategy.name: strategy},
            embedder=self.embedder,
            measures=[self.measure],
            headline=self.measure,
            context=self.context,
            terms=self.terms,
            cache=self.cache,
        )

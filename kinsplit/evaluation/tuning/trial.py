"""Trials: a strategy, its cost and its recall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from kinsplit.errors import require
from kinsplit.evaluation.experiment.experiment import Experiment
from kinsplit.evaluation.labels import Dataset
from kinsplit.evaluation.statistics import ChunkingProfile, TokensEmbedded
from kinsplit.evaluation.tuning.space import needs
from kinsplit.evaluation.tuning.weights import WeightBench
from kinsplit.index import Index
from kinsplit.parsers import Strategy
from kinsplit.tokenizers import BUNDLED, resolve


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """The cost of embedding the documents as a strategy splits them.

    Attributes:
        chunks: Number of leaves.
        tokens: Number of embedded tokens, including contexts and what the strategy embeds to find boundaries.
        ratio: Number of embedded tokens per token of the documents.
    """

    chunks: int
    tokens: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Caps:
    """Upper limits of a strategy's cost.

    Attributes:
        ratio: Maximum number of embedded tokens per token of the documents; None for no limit.
        chunks: Maximum number of chunks; None for no limit.
    """

    ratio: float | None = 2.5
    chunks: int | None = None

    def __post_init__(self) -> None:
        for field, value in (("ratio", self.ratio), ("chunks", self.chunks)):
            require(value is None or value > 0, field, "must be positive", value, "Leave it out for no limit.")

    def refuse(self, cost: EmbeddingCost) -> str:
        """Return the reason why a strategy is too expensive; "" if it isn't."""
        if self.ratio is not None and cost.ratio > self.ratio:
            return f"embeds {cost.ratio:.2f} tokens per token, more than {self.ratio:g}"
        if self.chunks is not None and cost.chunks > self.chunks:
            return f"makes {cost.chunks:,} chunks, more than {self.chunks:,}"
        return ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A strategy that was tried.

    Attributes:
        strategy: The strategy.
        cost: Its cost; None if it couldn't split the documents.
        recall: Mean recall on the searched half; None if it wasn't measured.
        refused: Reason for not measuring it; "" if it was measured.
        seconds: Wall time, including splitting and embedding unless cached.
    """

    strategy: Strategy
    cost: EmbeddingCost | None
    recall: float | None
    refused: str
    seconds: float


@dataclass(frozen=True)
class HalfBench:
    """A bench that measures strategies on one half of the questions.

    Attributes:
        measure: Name of the measure: "recall@1000t".
        language: Language of BM25.
        index: Collection that holds the documents, made with the only strategy to measure; None to split them.
    """

    dataset: Dataset
    measure: str
    embedder: object = "bundled"
    embedding_context: str = "headings"
    language: str = "english"
    cache: bool | Path = True
    index: Index | None = None

    def cost(self, strategy: Strategy) -> EmbeddingCost:
        """Split the documents and return the cost of embedding them.

        Raises:
            LimitTooSmallError: The strategy can't split them.
        """
        chunking = self._experiment(strategy).chunking(strategy.name)
        contexts = self.embedding_context == "headings"
        profile = ChunkingProfile(chunking, 0, contexts=contexts, split_seconds=None, embed_seconds=None)
        tokens = int(TokensEmbedded().value(profile))
        if "embedder" in needs(strategy.name):
            tokens += self._total  # It embeds all text to find boundaries.
        return EmbeddingCost(len(chunking.chunks), tokens, tokens / max(1, self._total))

    def values(self, strategy: Strategy) -> list[float]:
        """Return the value of each question; all of them have labels, so the measure applies."""
        experiment = self._experiment(strategy)
        ((_, evidence),) = experiment.evidence()
        (measure,) = experiment.setup.measures
        found = (measure.score(outcome, evidence.profile.chunking) for outcome in evidence.outcomes)
        return [value for value in found if value is not None]

    def recall(self, strategy: Strategy) -> float:
        """Return the mean over the questions."""
        return float(np.mean(self.values(strategy)))

    def weighing(self, strategy: Strategy) -> WeightBench:
        """Return a bench that measures weights of kin scoring with a strategy."""
        return WeightBench.of(
            self.dataset,
            self.index or strategy,
            self.measure,
            embedder=self.embedder,
            embedding_context=self.embedding_context,
            language=self.language,
            cache=self.cache,
        )

    @cached_property
    def _total(self) -> int:
        """Number of tokens of the documents."""
        return int(resolve(BUNDLED).count([document.text for document in self.dataset.documents]).sum())

    def _experiment(self, strategy: Strategy) -> Experiment:
        return Experiment(
            self.dataset,
            {strategy.name: self.index or strategy},
            embedder=self.embedder,
            measures=[self.measure],
            headline=self.measure,
            embedding_context=self.embedding_context,
            language=self.language,
            cache=self.cache,
        )

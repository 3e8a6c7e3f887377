"""Trials: a strategy, its cost and its recall; and weights of kin scoring, over rankings that are fetched once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinsplit.errors import require
from kinsplit.evaluation.experiment.experiment import Experiment
from kinsplit.evaluation.experiment.rankers import RankedChunk, Ranker
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.evaluation.statistics import ChunkingProfile, tokens_embedded
from kinsplit.evaluation.tuning.space import needs
from kinsplit.index import Index
from kinsplit.options import KinWeights
from kinsplit.parsers import Strategy
from kinsplit.retrieval import SearchQuestion as Asked
from kinsplit.retrieval.rankings import find_evidence, rank_together
from kinsplit.retrieval.scoring import KinRankings, score_with_kin
from kinsplit.stores import ChunkStore
from kinsplit.tokenizers import BUNDLED, resolve

#: Values to try for each weight. Numbers of chunks, parents and documents stay, since they need other rankings.
CHOICES: Mapping[str, tuple[float, ...]] = {
    "bm25": (0.1, 0.15, 0.2, 0.3, 0.4),
    "siblings": (0.0, 0.3, 0.45, 0.6, 0.8, 1.0),
    "parent": (0.0, 0.05, 0.1, 0.2, 0.3),
    "document": (0.0, 0.2, 0.4, 0.6, 1.0),
    "best_chunk": (0.0, 0.25, 0.5, 1.0),
}
#: Smallest gain in recall for which a weight is changed.
_LEAST = 0.001
#: Rounds over all weights.
_ROUNDS = 2
#: Number of ranked chunks that a measure reads at most.
_DEPTH = 100


@dataclass(frozen=True)
class WeightBench:
    """A bench that measures weights without splitting, embedding or searching again."""

    cases: tuple[tuple[Question, KinRankings], ...]
    chunking: Chunking
    measure: Measure  # Measure of a ranking, such as recall within a budget.

    @classmethod
    def of(cls, dataset: Dataset, strategy: Strategy | Index, measure: str, **options: Any) -> WeightBench:
        """Index the documents, unless a collection holds them, and fetch the rankings of all labelled questions.

        The measure is named, as "recall@1000t"; the options are those of `Experiment`.
        """
        found: dict[int, tuple[Asked, KinRankings]] = {}

        def rank(store: ChunkStore, asked: Asked, limit: int) -> list[RankedChunk]:
            # A longer ranking of the same question, which the experiment may ask for, has nothing to add.
            if id(asked) not in found:
                (evidence,) = rank_together(store, [find_evidence(store, asked, KinWeights(), _DEPTH)])
                found[id(asked)] = asked, evidence
            chunks = store.get([scored.entry.id for scored in score_with_kin(found[id(asked)][1], KinWeights(), limit)])
            return [RankedChunk(chunk, 0.0) for chunk in chunks]

        experiment = Experiment(
            dataset,
            {"weighed": strategy},
            ranker=Ranker("evidence", "Kin scoring, with all evidence kept", rank),
            measures=[measure],
            headline=measure,
            **options,
        )
        ((_, outcome),) = experiment.evidence()
        evidence = dict(zip(dict.fromkeys(q.text for q in dataset.questions), found.values(), strict=True))
        cases = tuple((question, evidence[question.text][1]) for question in dataset.questions if question.labels)
        return cls(cases, outcome.profile.chunking, experiment.setup.measures[0])

    def values(self, weights: KinWeights) -> list[float]:
        """Return the value of each question."""
        chunks = {chunk.id: chunk for chunk in self.chunking.chunks}
        found = []
        for question, evidence in self.cases:
            ranking = [chunks[scored.entry.id] for scored in score_with_kin(evidence, weights, _DEPTH)]
            found.append(self.measure.score(Outcome(question, ranking, (), (), 0.0), self.chunking))
        return [value for value in found if value is not None]

    def recall(self, weights: KinWeights) -> float:
        """Return the mean over the questions."""
        return float(np.mean(self.values(weights)))


def choose(recall: Callable[[KinWeights], float]) -> KinWeights:
    """Return the weights with the highest mean recall, changing one weight at a time, from the defaults on."""
    chosen = KinWeights()
    best = recall(chosen)
    for _ in range(_ROUNDS):
        before = chosen
        for name, values in CHOICES.items():
            for value in values:
                other = chosen.model_copy(update={name: value})
                if other != chosen and (found := recall(other)) > best + _LEAST:
                    chosen, best = other, found
        if chosen == before:
            break
    return chosen


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
    """A bench that measures strategies on one half of the questions."""

    dataset: Dataset
    measure: str  # Name of the measure: "recall@1000t".
    options: Mapping[str, Any]  # Options of `Experiment`, which `Tuned` reports.
    # Collection that holds the documents, made with the only strategy to measure; None to split them.
    index: Index | None = None

    def cost(self, strategy: Strategy) -> EmbeddingCost:
        """Split the documents and return the cost of embedding them.

        Raises:
            LimitTooSmallError: The strategy can't split them.
        """
        chunking = self._experiment(strategy).chunking(strategy.name)
        contexts = self.options["embedding_context"] == "headings"
        tokens = tokens_embedded(ChunkingProfile(chunking, 0, contexts, None, None))
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
        own = {name: value for name, value in self.options.items() if name != "ranker"}
        return WeightBench.of(self.dataset, self.index or strategy, self.measure, **own)

    @cached_property
    def _total(self) -> int:
        """Number of tokens of the documents."""
        return int(resolve(BUNDLED).count([document.text for document in self.dataset.documents]).sum())

    def _experiment(self, strategy: Strategy) -> Experiment:
        splitters = {strategy.name: self.index or strategy}
        return Experiment(self.dataset, splitters, measures=[self.measure], headline=self.measure, **self.options)

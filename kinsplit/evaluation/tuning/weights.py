"""Search for the weights of kin scoring, over rankings that are fetched once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinsplit.evaluation.experiment.experiment import Experiment
from kinsplit.evaluation.experiment.rankers import RankedChunk, Ranker
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.index import Index
from kinsplit.parsers import Strategy
from kinsplit.retrieval import KinWeights
from kinsplit.retrieval import SearchQuestion as Asked
from kinsplit.retrieval.rankings import find_evidence, rank_together
from kinsplit.retrieval.scoring import KinRankings, score_with_kin
from kinsplit.stores import ChunkStore

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
    """A bench that measures weights without splitting, embedding or searching again.

    Attributes:
        measure: Measure of a ranking, such as recall within a budget.
    """

    cases: tuple[tuple[Question, KinRankings], ...]
    chunking: Chunking
    measure: Measure

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        strategy: Strategy | Index,
        measure: str,
        *,
        embedder: object = "bundled",
        embedding_context: str = "headings",
        language: str = "english",
        cache: bool | Path = True,
    ) -> WeightBench:
        """Index the documents and fetch the rankings of all labelled questions.

        Args:
            dataset: Documents and labelled questions.
            strategy: Strategy that splits them, or the collection that holds them.
            measure: Name of the measure: "recall@1000t".
            embedder: Embedding model or its spec.
            embedding_context: Kind of context that is embedded with a chunk's text.
            language: Language of BM25.
            cache: Whether to cache vectors in kinsplit's cache folder; or another folder for them.
        """
        found: dict[int, tuple[Asked, KinRankings]] = {}

        def rank(store: ChunkStore, asked: Asked, limit: int) -> list[RankedChunk]:
            # A longer ranking of the same question, which the experiment may ask for, has nothing to add.
            if id(asked) not in found:
                (evidence,) = rank_together(store, [find_evidence(asked, KinWeights(), _DEPTH)])
                found[id(asked)] = asked, evidence
            chunks = store.get([scored.entry.id for scored in score_with_kin(found[id(asked)][1], KinWeights(), limit)])
            return [RankedChunk(chunk, 0.0) for chunk in chunks]

        experiment = Experiment(
            dataset,
            {"weighed": strategy},
            embedder=embedder,
            ranker=Ranker("evidence", "Kin scoring, with all evidence kept", rank),
            measures=[measure],
            headline=measure,
            embedding_context=embedding_context,
            language=language,
            cache=cache,
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


def choose(recall: Callable[[KinWeights], float], start: KinWeights | None = None) -> KinWeights:
    """Return the weights with the highest recall, changing one weight at a time.

    Args:
        recall: Mean recall of weights.
        start: Weights to begin with; None for the defaults.
    """
    chosen = start or KinWeights()
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

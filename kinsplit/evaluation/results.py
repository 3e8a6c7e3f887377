"""Results of an evaluation, and their file.

The file has the shape of `rag_eval`'s, which kinsplit replaces: `summary` by strategy and `results` by question, with
its names for its three measures. Whatever it does not know stands beside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from kinsplit.compat import rag_eval
from kinsplit.errors import InvalidParameterError


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(_Frozen):
    """A mean over questions with its 95 % bootstrap interval.

    Attributes:
        mean: The mean.
        low: Lower end of the interval.
        high: Upper end.
        count: Questions that had a value.
    """

    mean: float
    low: float
    high: float
    count: int


class StrategyResult(_Frozen):
    """What was found out about one strategy.

    Attributes:
        label: Its name in the tables.
        spec: What makes it again.
        measures: By name, the mean over questions.
        statistics: By name, what is said of the chunks without any question.
        lengths: Characters of each chunk, in document order.
        chunks_per_document: By source id.
    """

    label: str
    spec: str
    measures: Mapping[str, Estimate]
    statistics: Mapping[str, float]
    lengths: Sequence[int]
    chunks_per_document: Mapping[str, int]


class Text(_Frozen):
    """A stretch of a document.

    Attributes:
        source_id: Id of the document.
        spans: Where it lies, in document order; none for a document as such.
        text: The text; of several spans, joined by a separator.
    """

    source_id: str
    spans: Sequence[tuple[int, int]]
    text: str


class Hit(Text):
    """A chunk that was retrieved, with the ranker's score."""

    score: float


class QuestionResult(_Frozen):
    """What one strategy retrieved for one question.

    Attributes:
        question_id: The question.
        strategy: Label of the strategy.
        measures: By name; without those that say nothing of this question.
        hits: The best chunks.
    """

    question_id: str
    strategy: str
    measures: Mapping[str, float]
    hits: Sequence[Hit]


class AskedQuestion(_Frozen):
    """A question with the text that answers it.

    Attributes:
        id: Its id.
        text: The question.
        labels: For each label, the places that hold it; empty where nothing is labelled.
    """

    id: str
    text: str
    labels: Sequence[Sequence[Text]]


class Comparison(_Frozen):
    """A strategy beside the baseline, by the questions that both were judged on.

    Attributes:
        measure: By which they are compared.
        strategy: Label.
        baseline: Label.
        difference: Mean of strategy minus baseline with its paired bootstrap interval.
        p_value: Of the paired randomisation test, two-sided, corrected for the number of comparisons (Holm).
        wins: Questions on which the strategy is better.
        ties: On which both are equal.
        losses: On which the baseline is better.
    """

    measure: str
    strategy: str
    baseline: str
    difference: Estimate
    p_value: float
    wins: int
    ties: int
    losses: int


class MeasureNote(_Frozen):
    """What a reader has to know of a measure.

    Attributes:
        name: As it is shown.
        description: What it says, in one line.
        higher_is_better: Whether more is better.
    """

    name: str
    description: str
    # Older versions wrote `rises`.
    higher_is_better: bool = Field(validation_alias=AliasChoices("higher_is_better", "rises"))


class StatisticNote(_Frozen):
    """What a reader has to know of a statistic.

    Attributes:
        name: As it is shown.
        unit: What it is counted in; "share" of 1.
        description: What it says, in one line.
    """

    name: str
    unit: str
    description: str


class Setting(_Frozen):
    """What all strategies share.

    Attributes:
        dataset: Its name.
        documents: How many.
        questions: How many.
        embedder: The embedding model.
        ranker: How chunks are ranked.
        language: Language of the term ranking.
        tokenizer: What counts tokens.
        top_k: Chunks that each question gets, where a measure has no number of its own.
        headline: The measure that the report begins with and comparisons are made by.
        versions: Of the packages that made the numbers, by name.
    """

    dataset: str
    documents: int
    questions: int
    embedder: str
    ranker: str
    tokenizer: str
    top_k: int
    headline: str
    # Older versions wrote `terms`.
    language: str = Field("english", validation_alias=AliasChoices("language", "terms"))
    versions: Mapping[str, str] = {}


class Results(_Frozen):
    """What an evaluation found out.

    Attributes:
        setting: What all strategies share.
        strategies: One for each strategy, in the order in which they were named.
        questions: The questions.
        results: One for each strategy and question.
        comparisons: Each strategy but the baseline, beside the baseline.
        warnings: What a reader has to know before believing the numbers.
        notes: What is to be known of each measure.
        statistic_notes: What is to be known of each statistic.
    """

    setting: Setting
    strategies: Sequence[StrategyResult]
    questions: Sequence[AskedQuestion]
    results: Sequence[QuestionResult]
    comparisons: Sequence[Comparison]
    warnings: Sequence[str] = ()
    notes: Sequence[MeasureNote] = ()
    statistic_notes: Sequence[StatisticNote] = ()

    def write(self, path: Path) -> None:
        """Write the results to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n"
        # A lone surrogate, which UTF-8 can't hold, becomes JSON's own escape of it.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def to_json(self) -> dict[str, Any]:
        """Return what is written: `summary` and `results` as `rag_eval` has them, and `kinsplit` with all of it.

        The figures that `rag_eval` has are there as far as their measures were asked for.
        """
        texts = {question.id: question.text for question in self.questions}
        return {
            "summary": {strategy.label: self._summary(strategy) for strategy in self.strategies},
            "results": [
                {
                    "query": texts[result.question_id],
                    "strategy": result.strategy,
                    **rag_eval.renamed(result.measures),
                    "retrieved_chunks": [hit.text for hit in result.hits],
                }
                for result in self.results
            ],
            "kinsplit": self.model_dump(mode="json"),
        }

    def _summary(self, strategy: StrategyResult) -> dict[str, float | int | None]:
        means = {name: estimate.mean for name, estimate in strategy.measures.items()}
        return {
            **rag_eval.renamed(means, "avg_"),
            "count": sum(result.strategy == strategy.label for result in self.results),
            **means,
        }

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the results of an evaluation.

        Raises:
            InvalidParameterError: The file holds something else.
        """
        rule = "must be a file that `kinsplit evaluate` wrote"
        try:
            written = json.loads(path.read_text(encoding="utf-8"))["kinsplit"]
            return cls.model_validate(written)
        except (ValueError, KeyError, TypeError, RecursionError) as error:  # pydantic's is a ValueError
            raise InvalidParameterError("results", rule, str(path), "Evaluate again.") from error

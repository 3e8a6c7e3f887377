"""Tuning of the rule's thresholds, so that enough questions have a relevant chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.errors import require
from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.qrels.alignment import Alignment, SpanRule

#: Default values to try, from loose to strict. A label may fill only a hundredth of a large chunk.
SPAN_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0)
CHUNK_COVERAGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


class ThresholdTrial(NamedTuple):
    """The effect of a pair of thresholds."""

    rule: SpanRule
    judged: tuple[float, ...]
    relevant: tuple[float, ...]


@dataclass(frozen=True)
class Tuning:
    """The effects of all pairs of thresholds.

    Attributes:
        best: Strictest rule by which enough questions have a relevant chunk in every chunking: the highest span
            coverage, then the highest chunk coverage, since holding the answer matters more than holding nothing else.
            None if there is no such rule.
    """

    trials: tuple[ThresholdTrial, ...]
    best: SpanRule | None


def tune_thresholds(
    questions: Iterable[Question],
    alignments: Sequence[Alignment],
    least: float = 0.95,
    span_coverages: Sequence[float] = SPAN_COVERAGES,
    chunk_coverages: Sequence[float] = CHUNK_COVERAGES,
) -> Tuning:
    """Try thresholds on some chunkings.

    The rule of a comparison must fit all its chunkings: if only small chunks can satisfy it, few questions are left to
    judge large ones.

    Args:
        questions: Questions; those without labels are ignored.
        alignments: Alignments of the chunkings to compare.
        least: Minimum share of the labelled questions that have a relevant chunk in each chunking.
        span_coverages: Span coverages to try, in any order.
        chunk_coverages: Chunk coverages to try, in any order.

    Raises:
        InvalidParameterError: No question has labels, there is no chunking, or the share is out of range.
    """
    labelled = [question for question in questions if question.labels]
    needed = "must have labelled questions and at least one chunking"
    require(labelled and alignments, "questions", needed, len(labelled), "Give both.")
    require(0 < least <= 1, "least", "must be above 0 and at most 1", least, "The default is 0.95.")
    held = [_Held.of(labelled, alignment) for alignment in alignments]
    trials = []
    for of_span, of_chunk in product(sorted(set(span_coverages)), sorted(set(chunk_coverages))):
        pair = SpanRule(span_coverage=of_span, chunk_coverage=of_chunk)
        judged, relevant = zip(*(own.passed(pair) for own in held), strict=True)
        trials.append(
            ThresholdTrial(pair, tuple(n / len(labelled) for n in judged), tuple(n / len(labelled) for n in relevant))
        )
    enough = [trial.rule for trial in trials if min(trial.judged) >= least]
    return Tuning(tuple(trials), enough[-1] if enough else None)


@dataclass(frozen=True, eq=False)
class _Held:
    """All pairs of a label and a chunk that holds some of it, as arrays of shape (pairs,)."""

    questions: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]
    of_span: npt.NDArray[np.float64]
    of_chunk: npt.NDArray[np.float64]

    @classmethod
    def of(cls, questions: Sequence[Question], alignment: Alignment) -> _Held:
        numbers: dict[tuple[int, str], int] = {}
        rows = [
            (number, numbers.setdefault((number, held.chunk.id), len(numbers)), held.of_span, held.of_chunk)
            for number, question in enumerate(questions)
            for _, held in alignment.held(question)
        ]
        asked, pairs, of_span, of_chunk = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(
            np.array(asked, np.int64), np.array(pairs, np.int64), np.array(of_span, float), np.array(of_chunk, float)
        )

    def passed(self, rule: SpanRule) -> tuple[int, int]:
        """Return the number of questions with a relevant chunk, and the number of their relevant chunks."""
        kept = (self.of_span >= rule.span_coverage) & (self.of_chunk >= rule.chunk_coverage)
        return len(np.unique(self.questions[kept])), len(np.unique(self.pairs[kept]))

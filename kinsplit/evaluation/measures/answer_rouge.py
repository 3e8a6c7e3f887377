"""ROUGE of an answer against its reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.answers import AnswerMeasure, has_reference, reference_text
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.support.extras import needs


@dataclass(frozen=True)
class AnswerRouge(AnswerMeasure):
    """ROUGE of the answer, 0 to 1, by rouge-score: the F-measure of its overlap with the reference, stemmed.

    The reference is the same as for `AnswerBleu`. Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
    """

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        _scorer(self.kind)  # Raises before a model writes anything.

    def applies(self, question: Question) -> bool:
        """Return whether the question has a reference."""
        return has_reference(question)

    def judged(self, question: Question, answer: str, passages: Sequence[str], chunking: Chunking) -> float | None:
        """See `AnswerMeasure.judged`."""
        del passages
        scores = _scorer(self.kind).score(reference_text(question, chunking.dataset), answer)
        return float(scores[self.kind].fmeasure)


class AnswerRouge1(AnswerRouge):
    """ROUGE-1: single words."""

    kind = "rouge1"
    description = "ROUGE-1 of the answer from the first k chunks: words shared with the reference (rouge-score)"


class AnswerRouge2(AnswerRouge):
    """ROUGE-2: pairs of words."""

    kind = "rouge2"
    description = "ROUGE-2 of the answer from the first k chunks: word pairs shared with the reference (rouge-score)"


class AnswerRougeL(AnswerRouge):
    """ROUGE-L: the longest common subsequence of words."""

    kind = "rougeL"
    description = "ROUGE-L of the answer from the first k chunks: longest word sequence shared with the reference"


@cache
def _scorer(kind: str) -> Any:
    with needs("evaluation"):
        from rouge_score.rouge_scorer import RougeScorer
    return RougeScorer([kind], use_stemmer=True)

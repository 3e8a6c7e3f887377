"""Measures that compare an answer with a reference answer: BLEU and ROUGE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from kinsplit.evaluation.labels import Question
from kinsplit.evaluation.measures.answers import AnswerMeasure, has_reference, reference_text
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.support.extras import needs


class AnswerBleu(AnswerMeasure):
    """BLEU of the answer, 0 to 1, by sacrebleu: the precision of its sequences of one to four words.

    The reference is the reference answer or, without one, the labelled texts; None for a question that has neither.
    The model writes the answer and doesn't judge it. Papineni et al., "BLEU: a Method for Automatic
    Evaluation of Machine Translation", ACL 2002; smoothed for single answers as sacrebleu does by default.
    """

    description = "BLEU of the answer from the first k chunks against the reference (sacrebleu), 0 to 1"

    def __post_init__(self) -> None:
        _sentence_bleu()  # Raises before a model writes anything.

    def applies(self, question: Question) -> bool:
        """Return whether the question has a reference."""
        return has_reference(question)

    def judged(self, question: Question, answer: str, passages: Sequence[str], chunking: Chunking) -> float | None:
        """See `AnswerMeasure.judged`."""
        del passages
        return float(_sentence_bleu()(answer, [reference_text(question, chunking.dataset)]).score) / 100


def _sentence_bleu() -> Callable[..., Any]:
    with needs("evaluation"):
        from sacrebleu import sentence_bleu
    return sentence_bleu


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

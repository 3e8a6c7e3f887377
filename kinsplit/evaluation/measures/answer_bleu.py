"""BLEU of an answer against its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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

"""Rank measures of information retrieval, computed by ir-measures on span qrels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from kinsplit.errors import MissingExtraError
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.qrels.rule import SpanRule

#: Patterns of names, and what they say.
RANK_MEASURES = {
    "P@k": "Share of the first k chunks that are relevant",
    "R@k": "Share of the relevant chunks within the first k",
    "MRR[@k]": "One divided by the rank of the first relevant chunk",
    "MAP[@k]": "Mean precision at the ranks of the relevant chunks",
    "nDCG[@k]": "Gain discounted by rank, of the best that is possible",
    "Success@k": "Whether a relevant chunk is within the first k",
}
# Where ir-measures has another name: without "mean", since it is of one question.
_THEIRS = {"MRR": "RR", "MAP": "AP"}


@dataclass(frozen=True)
class RankMeasure:
    """A measure of ir-measures on the chunks that a rule finds relevant.

    The ranking decides the order, also where scores are equal. It says nothing of a question without a relevant chunk:
    how a chunking ranks it can't be told, and the rule may be what is wrong (see `kinsplit.evaluation.qrels.unjudged`).

    Attributes:
        name: Such as "nDCG@10".
        description: What it says.
        k: Chunks that it looks at; None for all.
        rule: Which chunks are relevant.
        theirs: The measure of ir-measures.
    """

    name: str
    description: str
    k: int | None
    rule: SpanRule
    theirs: Any

    higher_is_better = True

    @classmethod
    def make(cls, name: str, description: str, k: int | None, rule: SpanRule) -> Self:
        """Make a measure.

        Args:
            name: Such as "nDCG@10" or "MRR".
            description: What it says.
            k: The number in it.
            rule: Which chunks are relevant.

        Raises:
            MissingExtraError: ir-measures is not installed.
        """
        try:
            import ir_measures
        except ImportError as error:
            raise MissingExtraError("ir-measures", "evaluation") from error
        base, at, number = name.partition("@")
        theirs = ir_measures.parse_measure(f"{_THEIRS.get(base, base)}{at}{number}")
        return cls(name, description, k, rule, theirs)

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without a relevant chunk."""
        import ir_measures

        relevant = chunking.alignment.relevant(outcome.question, self.rule)
        if not relevant:
            return None
        ranking = outcome.ranking[: self.k]
        # Scores of ours that fall, since trec_eval orders equal ones by id.
        run = {chunk.id: float(len(ranking) - rank) for rank, chunk in enumerate(ranking)}
        (found,) = ir_measures.iter_calc([self.theirs], {"q": relevant}, {"q": run})
        return float(found.value)

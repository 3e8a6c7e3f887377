"""Rank measures of information retrieval, computed by ir-measures on span qrels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kinsplit.evaluation.labels import Label
from kinsplit.evaluation.measures.protocol import Asked, Chunking, Family, Outcome, family
from kinsplit.evaluation.measures.spans import best_coverage, read_chunks
from kinsplit.options import SpanRule
from kinsplit.support.extras import needs

#: Descriptions by pattern of the name.
RANK_MEASURES = {
    "P@k": "Share of the first k chunks that are relevant",
    "R@k": "Share of the relevant chunks within the first k",
    "MRR[@k]": "One divided by the rank of the first relevant chunk",
    "MAP[@k]": "Mean precision at the ranks of the relevant chunks",
    "nDCG[@k]": "Gain discounted by rank, divided by the best possible",
    "Success@k": "Whether a relevant chunk is within the first k",
}
# Names in ir-measures, which omit "mean", since its values are for one question.
_THEIRS = {"MRR": "RR", "MAP": "AP"}


@dataclass(frozen=True)
class RankMeasure:
    """A measure of ir-measures, with relevance by a rule.

    Chunks with equal scores keep the order of the ranking. The measure doesn't apply to a question without a relevant
    chunk, for which the rule may be too strict (see `kinsplit.evaluation.qrels.unjudged`).
    """

    name: str  # Name, such as "nDCG@10".
    description: str
    k: int | None  # Number of chunks; None for all.
    rule: SpanRule
    theirs: Any

    higher_is_better = True

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without a relevant chunk."""
        import ir_measures

        relevant = chunking.alignment.relevant(outcome.question, self.rule)
        if not relevant:
            return None
        ranking = outcome.ranking[: self.k]
        # Strictly descending scores, since trec_eval orders equal scores by id.
        run = {chunk.id: float(len(ranking) - rank) for rank, chunk in enumerate(ranking)}
        (found,) = ir_measures.iter_calc([self.theirs], {"q": relevant}, {"q": run})
        return float(found.value)


def and_group_success(outcome: Outcome, _: Chunking, asked: Asked) -> float | None:
    """Return the share of a question's groups whose labels are all covered by the first k chunks together.

    Labels of a group (`AND` in SC-Qrels) answer only together; they need not be in one chunk. A label is covered if the
    chunks hold the rule's share of its span. None for a question without groups.
    """
    groups: dict[str, list[Label]] = {}
    for label in outcome.question.labels:
        if label.group:
            groups.setdefault(label.group, []).append(label)
    if not groups:
        return None
    read, least = read_chunks(outcome.ranking[: asked.k]), asked.rule.span_coverage
    return sum(all(best_coverage(label, read) >= least for label in own) for own in groups.values()) / len(groups)


def _family(pattern: str, description: str) -> Family:
    def make(asked: Asked) -> RankMeasure:
        with needs("evaluation"):
            import ir_measures
        base, at, number = asked.name.partition("@")
        theirs = ir_measures.parse_measure(f"{_THEIRS.get(base, base)}{at}{number}")
        return RankMeasure(asked.name, description, asked.number, asked.rule, theirs)

    return Family(pattern, description, make)


#: The measures for the registry.
FAMILIES = (
    *(_family(*described) for described in RANK_MEASURES.items()),
    family("AGS@k", "Share of the groups of labels that the first k chunks cover completely", and_group_success),
)

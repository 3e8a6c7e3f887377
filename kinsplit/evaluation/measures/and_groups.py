"""AND-group success: groups of labels that are retrieved completely."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.labels import Label
from kinsplit.evaluation.measures.passages import best_coverage
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from kinsplit.evaluation.measures.read_text import read_chunks


@dataclass(frozen=True)
class AndGroupSuccess:
    """The share of a question's groups whose labels are all covered by the first k chunks together.

    Labels of a group (`AND` in SC-Qrels) answer only together; they need not be in one chunk.

    Attributes:
        k: Number of chunks.
        span_coverage: Minimum share of a label's span for it to count as covered.
    """

    k: int
    span_coverage: float

    description = "Share of the groups of labels that the first k chunks cover completely"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "AGS@5"."""
        return f"AGS@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """See `Measure.score`; None for a question without groups."""
        del chunking
        groups: dict[str, list[Label]] = {}
        for label in outcome.question.labels:
            if label.group:
                groups.setdefault(label.group, []).append(label)
        if not groups:
            return None
        read = read_chunks(outcome.ranking[: self.k])
        covered = (all(best_coverage(label, read) >= self.span_coverage for label in own) for own in groups.values())
        return sum(covered) / len(groups)

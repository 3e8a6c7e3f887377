"""Variety: the share of the first k chunks that come from different documents."""

from dataclasses import dataclass

from kinsplit.evaluation.measures.protocol import Chunking, Family, Outcome


@dataclass(frozen=True)
class Variety:
    """Number of different documents among the first k chunks, divided by the number of these chunks."""

    k: int

    description = "Share of the first k chunks that come from different documents"
    higher_is_better = True

    @property
    def name(self) -> str:
        """The name, such as "variety@5"."""
        return f"variety@{self.k}"

    def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
        """Return the share; None where nothing was found, to which the measure doesn't apply."""
        del chunking
        first = outcome.ranking[: self.k]
        return len({chunk.source_id for chunk in first}) / len(first) if first else None


FAMILY = Family("variety@k", Variety.description, lambda asked: Variety(asked.k))

from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made


class SplitSeconds:
    """Wall time of splitting all documents, with the models that the strategy asks."""

    name, unit = "split_seconds", "seconds"
    description = "Wall time of splitting, in the run that did it"

    def value(self, made: Made) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return made.split_seconds

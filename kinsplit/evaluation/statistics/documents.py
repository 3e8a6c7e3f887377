from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made


class Documents:
    """The documents that have a chunk."""

    name, unit, description = "documents", "documents", "Documents that have a chunk"

    def value(self, made: Made) -> float:
        """Count the documents."""
        return len(made.chunking.by_source)

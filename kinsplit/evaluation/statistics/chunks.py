from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made


class Chunks:
    """The chunks that are searched."""

    name, unit, description = "chunks", "chunks", "Chunks that are searched"

    def value(self, made: Made) -> float:
        """Count the chunks."""
        return len(made.chunking.chunks)

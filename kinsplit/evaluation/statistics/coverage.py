from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made


class Coverage:
    """The share of the documents' characters that can be found, white space left out."""

    name, unit = "coverage", "share"
    description = "Share of the characters, white space left out, that are in a chunk"

    def value(self, made: Made) -> float | None:
        """Return the share; None for documents without text."""
        return made.depths.covered / made.depths.all if made.depths.all else None

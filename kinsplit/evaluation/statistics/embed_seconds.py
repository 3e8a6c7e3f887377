from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import Made


class EmbedSeconds:
    """Wall time of embedding the chunks."""

    name, unit = "embed_seconds", "seconds"
    description = "Wall time of embedding, in the run that did it"

    def value(self, made: Made) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return made.embed_seconds

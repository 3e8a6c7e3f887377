from __future__ import annotations

from kinsplit.evaluation.statistics.protocol import ChunkingProfile


class Coverage:
    """The share of the documents' characters that can be found, white space left out."""

    name, unit = "coverage", "share"
    description = "Share of the characters, white space left out, that are in a chunk"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None for documents without text."""
        return profile.depths.covered / profile.depths.all if profile.depths.all else None


class Duplication:
    """How often a character that is in a chunk is in chunks: 1 where nothing is repeated."""

    name, unit = "duplication", "times"
    description = "How many chunks a character is in, of those that are in any; white space left out"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the quotient; None where nothing is covered."""
        return profile.depths.retrievable / profile.depths.covered if profile.depths.covered else None

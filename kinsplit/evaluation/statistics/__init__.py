"""Statistics of chunks, which need no questions, and their registry."""

from __future__ import annotations

from kinsplit.evaluation.statistics.cost import BytesStored, EmbedSeconds, SplitSeconds, TokensEmbedded
from kinsplit.evaluation.statistics.cuts import MidSentence, MidWord
from kinsplit.evaluation.statistics.protocol import ChunkingProfile, Statistic
from kinsplit.evaluation.statistics.sizes import SIZES, Chunks, Coverage, Documents, Duplication

__all__ = ["STATISTICS", "TIMES", "ChunkingProfile", "Statistic", "describe"]

STATISTICS: tuple[Statistic, ...] = (
    Chunks(),
    Documents(),
    *SIZES,
    MidWord(),
    MidSentence(),
    Coverage(),
    Duplication(),
    TokensEmbedded(),
    BytesStored(),
    SplitSeconds(),
    EmbedSeconds(),
)

#: Names of the statistics that differ from run to run.
TIMES = frozenset({SplitSeconds.name, EmbedSeconds.name})


def describe(profile: ChunkingProfile) -> dict[str, float]:
    """Return the statistics of a chunking by name, omitting those without a value."""
    found = ((statistic.name, statistic.value(profile)) for statistic in STATISTICS)
    return {name: value for name, value in found if value is not None}

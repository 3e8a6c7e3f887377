"""What is said of chunks without any question: one statistic per file, one registry."""

from kinsplit.evaluation.statistics.protocol import ChunkingProfile, Statistic
from kinsplit.evaluation.statistics.registry import STATISTICS, TIMES, describe

__all__ = ["STATISTICS", "TIMES", "ChunkingProfile", "Statistic", "describe"]

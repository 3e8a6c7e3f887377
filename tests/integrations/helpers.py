"""Shared helpers of the integration tests: small parameters for every strategy, and strategies with fixed cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut, Levels
from kinsplit.spans import Span

TEXT = (
    "# Classes\n\nA class is a plan. An object is made from it. No. No. No.\n\n"
    "## Methods\n\nA method is a function of a class. It sees `self`. No. No.\r\n\r\n"
    "今天天气很好。我们去公园吧！ Hi 👩‍👩‍👧‍👦 cafe\u0301. No. No. No. No.\n"
)

_SMALL: dict[str, dict[str, Any]] = {
    "character": {"chunk_size": 40, "chunk_overlap": 8},
    "llm": {"chunk_size": 12, "model": "hash"},
    "cluster": {"chunk_size": 24, "passage_size": 6, "passage_overlap": 1, "threshold": 0.3, "embedder": "hash"},
    "hierarchical": {"parent_size": (120, 60), "child_size": 30},
    "multigranular": {"chunk_sizes": (4, 8, 16)},
    "semantic": {"chunk_size": 12, "embedder": "hash", "min_sentences": 1},
    "structure": {"chunk_size": 12, "min_chunk_size": 3},
    "token": {"chunk_size": 12, "stride": 8},
}


def small(name: str) -> dict[str, Any]:
    """Return parameters that split `TEXT` into many chunks; a guess for a strategy that isn't listed here."""
    return _SMALL.get(name, {"chunk_size": 12})


class Chosen(Strategy):
    """Cuts every text into the same spans."""

    name = "chosen"
    spans: tuple[Span, ...] = ()

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        return [[[Cut((span,)) for span in self.spans]] for _ in texts]


class Gathered(Strategy):
    """Puts the first and the last sentence of a text into one chunk, and the rest into another."""

    name = "gathered"

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        return [[self._gather(text)] for text in texts]

    def _gather(self, text: str) -> list[Cut]:
        first, last = text.index(".") + 1, text.rindex(" ") + 1
        return [Cut((Span(0, first), Span(last, len(text)))), Cut((Span(first + 1, last - 1),))]

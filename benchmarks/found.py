"""Recall at a token budget: the share of the labelled text that the first N retrieved tokens hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import tokenizers
from labelled import answer, union
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Span
from kinsplit.evaluation.labels import Question

BUDGETS = (250, 500, 1000, 2000)


class Meter:
    """Measures rankings; it remembers where the tokens of a text end.

    Args:
        tokenizer: Counts the tokens.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._ends: dict[str, list[int]] = {}

    def found(self, question: Question, ranking: Iterable[Chunk]) -> list[float]:
        """Return the share of a question's labelled text within each budget; a chunk is cut where the budget ends."""
        shares, read, used = [], list[Span](), 0
        source_id, spans = answer(question)
        budgets = list(BUDGETS)
        for chunk in ranking:
            ends = self._token_ends(chunk.text)
            own = chunk.source_id == source_id
            while budgets and used + len(ends) >= budgets[0]:
                kept = budgets.pop(0) - used
                cut = Span(chunk.start, chunk.start + (ends[kept - 1] if kept else 0))
                shares.append(share(spans, [*read, cut] if own else read))
            if not budgets:
                return shares
            used += len(ends)
            if own:
                read.append(Span(chunk.start, chunk.end))
        return [*shares, *[share(spans, read)] * len(budgets)]

    def _token_ends(self, text: str) -> list[int]:
        if text not in self._ends:
            offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
            self._ends[text] = [end for _, end in offsets] or [len(text)]
        return self._ends[text]


def share(wanted: Sequence[Span], read: Sequence[Span]) -> float:
    """Return the share of some spans' characters that others cover."""
    covered = sum(max(0, min(a.end, b.end) - max(a.start, b.start)) for a in wanted for b in union(read))
    return covered / sum(span.end - span.start for span in wanted)


def interval(values: NDArray[np.float64], resamples: int = 10_000) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean over questions (percentiles, seeded)."""
    random = np.random.default_rng(0)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(resamples)]
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)

"""Sentences that are cut in two."""

from __future__ import annotations

import numpy as np

from kinsplit.evaluation.statistics.cuts import edges, texts
from kinsplit.evaluation.statistics.protocol import Made
from kinsplit.parsers.sentences import sentences


class MidSentence:
    """The share of chunks that begin or end inside a sentence, as kinsplit finds sentences.

    White space around a sentence belongs to none, so that where a chunk puts the space between two makes no difference.
    """

    name, unit = "mid_sentence", "share"
    description = "Share of chunks that begin or end inside a sentence"

    def value(self, made: Made) -> float | None:
        """Return the share; None without chunks."""
        cut = 0
        for text, chunks in texts(made.chunking):
            found = sentences(text)
            places = [np.fromiter(edges(chunk), dtype=np.int64) for chunk in chunks]
            for own in places:
                # Of the last sentence that begins before a place, whether it also ends behind it.
                before = np.searchsorted(found.starts, own, side="left") - 1
                cut += bool(((before >= 0) & (found.ends[np.maximum(before, 0)] > own)).any()) if len(found.ends) else 0
        return cut / len(made.chunking.chunks) if made.chunking.chunks else None

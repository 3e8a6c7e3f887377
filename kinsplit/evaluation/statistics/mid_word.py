"""Words that are cut in two."""

from __future__ import annotations

import re

from kinsplit.evaluation.statistics.cuts import edges, texts
from kinsplit.evaluation.statistics.protocol import Made
from kinsplit.parsers.segment import words

# What an apostrophe or a mark joins is one word for a reader.
_WORD = re.compile(r"\w")


class MidWord:
    """The share of chunks that begin or end between two characters of one word.

    Words are those of kinsplit's word strategy, so that in scripts without spaces no cut between two graphemes counts;
    and between signs, as at a hyphen or a full stop, nothing is cut in two.
    """

    name, unit = "mid_word", "share"
    description = "Share of chunks that begin or end inside a word"

    def value(self, made: Made) -> float | None:
        """Return the share; None without chunks."""
        cut = 0
        for text, chunks in texts(made.chunking):
            found = words(text)
            starts = frozenset(found.starts.tolist())
            cut += sum(any(_inside(text, place, starts) for place in edges(chunk)) for chunk in chunks)
        return cut / len(made.chunking.chunks) if made.chunking.chunks else None


def _inside(text: str, place: int, starts: frozenset[int]) -> bool:
    if not 0 < place < len(text) or place in starts:
        return False
    return bool(_WORD.match(text, place - 1) and _WORD.match(text, place))

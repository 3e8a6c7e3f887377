"""Cuts inside words and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from kinsplit.chunk import Chunk
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.evaluation.statistics.protocol import ChunkingProfile
from kinsplit.parsers.units.segment import words
from kinsplit.parsers.units.sentences import sentences


def edges(chunk: Chunk) -> Iterator[int]:
    """Yield the start and end of each span of a chunk."""
    for span in chunk.spans:
        yield span.start
        yield span.end


def texts(chunking: Chunking) -> Iterator[tuple[str, tuple[Chunk, ...]]]:
    """Yield the text of each document with its chunks; documents without chunks are skipped."""
    for source_id, chunks in chunking.by_source.items():
        yield chunking.dataset.sources[source_id].text, chunks


class MidSentence:
    """The share of chunks that begin or end inside a sentence.

    White space between sentences belongs to none of them, so it doesn't matter which chunk contains it.
    """

    name, unit = "mid_sentence", "share"
    description = "Share of chunks that begin or end inside a sentence"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None without chunks."""
        cut = 0
        for text, chunks in texts(profile.chunking):
            found = sentences(text)
            places = [np.fromiter(edges(chunk), dtype=np.int64) for chunk in chunks]
            for own in places:
                # Whether the last sentence that begins before an edge also ends after it.
                before = np.searchsorted(found.starts, own, side="left") - 1
                cut += bool(((before >= 0) & (found.ends[np.maximum(before, 0)] > own)).any()) if len(found.ends) else 0
        return cut / len(profile.chunking.chunks) if profile.chunking.chunks else None


# Letters, digits and underscores.
_WORD = re.compile(r"\w")


class MidWord:
    """The share of chunks that begin or end between two characters of one word.

    Words are those of the word strategy, so cuts between two graphemes don't count in scripts without spaces. Cuts
    next to punctuation, such as a hyphen or a full stop, don't count either.
    """

    name, unit = "mid_word", "share"
    description = "Share of chunks that begin or end inside a word"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None without chunks."""
        cut = 0
        for text, chunks in texts(profile.chunking):
            found = words(text)
            starts = frozenset(found.starts.tolist())
            cut += sum(any(_inside(text, edge, starts) for edge in edges(chunk)) for chunk in chunks)
        return cut / len(profile.chunking.chunks) if profile.chunking.chunks else None


def _inside(text: str, edge: int, starts: frozenset[int]) -> bool:
    if not 0 < edge < len(text) or edge in starts:
        return False
    return bool(_WORD.match(text, edge - 1) and _WORD.match(text, edge))

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
    """Yield where the spans of a chunk begin and end."""
    for span in chunk.spans:
        yield span.start
        yield span.end


def texts(chunking: Chunking) -> Iterator[tuple[str, tuple[Chunk, ...]]]:
    """Yield the text of each document that has chunks, with these."""
    for source_id, chunks in chunking.by_source.items():
        yield chunking.dataset.sources[source_id].text, chunks


class MidSentence:
    """The share of chunks that begin or end inside a sentence, as kinsplit finds sentences.

    White space around a sentence belongs to none, so that where a chunk puts the space between two makes no difference.
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
                # Of the last sentence that begins before a place, whether it also ends behind it.
                before = np.searchsorted(found.starts, own, side="left") - 1
                cut += bool(((before >= 0) & (found.ends[np.maximum(before, 0)] > own)).any()) if len(found.ends) else 0
        return cut / len(profile.chunking.chunks) if profile.chunking.chunks else None


# What an apostrophe or a mark joins is one word for a reader.
_WORD = re.compile(r"\w")


class MidWord:
    """The share of chunks that begin or end between two characters of one word.

    Words are those of kinsplit's word strategy, so that in scripts without spaces no cut between two graphemes counts;
    and between signs, as at a hyphen or a full stop, nothing is cut in two.
    """

    name, unit = "mid_word", "share"
    description = "Share of chunks that begin or end inside a word"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None without chunks."""
        cut = 0
        for text, chunks in texts(profile.chunking):
            found = words(text)
            starts = frozenset(found.starts.tolist())
            cut += sum(any(_inside(text, place, starts) for place in edges(chunk)) for chunk in chunks)
        return cut / len(profile.chunking.chunks) if profile.chunking.chunks else None


def _inside(text: str, place: int, starts: frozenset[int]) -> bool:
    if not 0 < place < len(text) or place in starts:
        return False
    return bool(_WORD.match(text, place - 1) and _WORD.match(text, place))

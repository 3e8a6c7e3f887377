"""Statistics of chunks, which need no questions, and their registry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, embedded_text
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.parsers.units.sentences import code_points, is_space, sentences, words


class Depths(NamedTuple):
    """Numbers of characters, not counting white space."""

    all: int
    covered: int
    retrievable: int

    @classmethod
    def of(cls, chunking: Chunking) -> Self:
        """Count the characters of a chunking."""
        everything = covered = retrievable = 0
        for document in chunking.dataset.documents:
            solid = ~is_space(code_points(document.text))
            times = np.zeros(len(solid) + 1, dtype=np.int64)
            for chunk in chunking.by_source.get(document.id, ()):
                for start, end in chunk.spans:
                    times[start] += 1
                    times[end] -= 1
            depth = np.cumsum(times)[:-1][solid]
            everything += len(depth)
            covered += int((depth > 0).sum())
            retrievable += int(depth.sum())
        return cls(everything, covered, retrievable)


#: Lengths of the chunks.
Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class ChunkingProfile:
    """A chunking and its costs.

    Attributes:
        chunking: The chunks.
        dimension: Dimension of the vectors.
        contexts: Whether a chunk's context is embedded with its text.
        split_seconds: Wall time of splitting; None if vectors came from a cache.
        embed_seconds: Wall time of embedding the chunks; None if vectors came from a cache.
    """

    chunking: Chunking
    dimension: int
    contexts: bool
    split_seconds: float | None
    embed_seconds: float | None

    @cached_property
    def characters(self) -> Lengths:
        """The number of characters of each chunk."""
        return np.array([len(chunk.text) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def words(self) -> Lengths:
        """The number of words of each chunk."""
        return np.array([len(words(chunk.text).starts) for chunk in self.chunking.chunks], dtype=np.int64)

    @cached_property
    def tokens(self) -> Lengths:
        """The number of tokens of each chunk."""
        return np.array(list(self.chunking.token_counts.values()), dtype=np.int64)

    @cached_property
    def depths(self) -> Depths:
        """The coverage of the documents' characters."""
        return Depths.of(self.chunking)


class Statistic(Protocol):
    """A figure about chunks that needs no questions.

    Attributes:
        name: Name of the statistic.
        unit: Unit of the value.
        description: Meaning in one line.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def unit(self) -> str: ...  # noqa: D102

    @property
    def description(self) -> str: ...  # noqa: D102

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the value, or None if there is none."""
        ...


_FLOAT32 = 4


class BytesStored:
    """The bytes of texts, contexts and vectors.

    Each chunk counts with its text and context in UTF-8, and with 4 bytes per dimension of its vector. Engines also
    store metadata, terms and an index, whose size depends on the engine and on the number of chunks.
    """

    name, unit = "bytes_stored", "bytes"
    description = "Bytes of the chunks' texts, contexts and float32 vectors, without an engine's index"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of bytes."""
        chunks = profile.chunking.chunks
        texts = sum(len(f"{c.text}{c.context}".encode("utf-8", "surrogatepass")) for c in chunks)
        return texts + len(chunks) * profile.dimension * _FLOAT32


class EmbedSeconds:
    """Wall time of embedding the chunks."""

    name, unit = "embed_seconds", "seconds"
    description = "Wall time of embedding, in the run that did it"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return profile.embed_seconds


class TokensEmbedded:
    """The tokens that the embedding model reads, including the chunks' contexts."""

    name, unit = "tokens_embedded", "tokens"
    description = "Tokens that are embedded, contexts included"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of tokens by the evaluation's tokenizer; equal texts count each time."""
        texts = [embedded_text(c) if profile.contexts else c.text for c in profile.chunking.chunks]
        return int(profile.chunking.tokenizer.count(texts).sum()) if texts else 0


class SplitSeconds:
    """Wall time of splitting all documents, including the models that the strategy uses."""

    name, unit = "split_seconds", "seconds"
    description = "Wall time of splitting, in the run that did it"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the time; None where vectors came from a cache."""
        return profile.split_seconds


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


@dataclass(frozen=True)
class Size:
    """A figure of the chunks' lengths, without their contexts."""

    name: str
    unit: str
    description: str
    lengths: Callable[[ChunkingProfile], Lengths]
    figure: Callable[[Lengths], Any]

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the figure; None without chunks."""
        lengths = self.lengths(profile)
        return float(self.figure(lengths)) if len(lengths) else None


SIZES = tuple(
    Size(f"{key}_{unit}", unit, f"{title} {unit} of a chunk", attrgetter(unit), figure)
    for unit in ("characters", "words", "tokens")
    for key, title, figure in (("average", "Average", np.mean), ("min", "Fewest", np.min), ("max", "Most", np.max))
)


class Chunks:
    """The chunks that are searched."""

    name, unit, description = "chunks", "chunks", "Chunks that are searched"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of chunks."""
        return len(profile.chunking.chunks)


class ChunkedDocuments:
    """The documents that have a chunk."""

    name, unit, description = "documents", "documents", "Documents that have a chunk"

    def value(self, profile: ChunkingProfile) -> float:
        """Return the number of documents."""
        return len(profile.chunking.by_source)


class Coverage:
    """The share of the documents' characters that are in a chunk, not counting white space."""

    name, unit = "coverage", "share"
    description = "Share of the characters that are in a chunk, not counting white space"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the share; None for documents without text."""
        return profile.depths.covered / profile.depths.all if profile.depths.all else None


class Duplication:
    """The mean number of chunks that hold a covered character: 1 without repetition."""

    name, unit = "duplication", "times"
    description = "Mean number of chunks that hold a covered character, not counting white space"

    def value(self, profile: ChunkingProfile) -> float | None:
        """Return the mean; None if nothing is covered."""
        return profile.depths.retrievable / profile.depths.covered if profile.depths.covered else None


__all__ = ["STATISTICS", "TIMES", "ChunkingProfile", "Statistic", "describe"]

STATISTICS: tuple[Statistic, ...] = (
    Chunks(),
    ChunkedDocuments(),
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

"""Statistics of chunks, which need no questions: sizes, coverage, and places where they cut what is whole.

Such a place is inside a sentence, an item, a row, a statement, a line or a fence. Places are counted on the spans of
anybody's chunks, by the units that kinsplit finds in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Document, embedded_text
from kinsplit.evaluation.labels import AVOIDABLE, CUTS, Estimate, StatisticNote, StrategyResult
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.parsers.packing.refine import Limit
from kinsplit.parsers.units.builder import document_sections, text_units
from kinsplit.parsers.units.sentences import IntArray, Units, as_units, words
from kinsplit.spans import Span
from kinsplit.text.blocks import Kind, parts
from kinsplit.text.graphemes import code_points, is_space, with_line_feeds
from kinsplit.text.marks import begins_with_closing_mark, ends_with_enumerator

# What is whole, by the kind of the block that it is in.
_WHOLE: Mapping[str, tuple[Kind, ...]] = {
    "item": ("list",),
    "row": ("table", "records"),
    "statement": ("code",),
    "fence": ("fence",),
}
# Kinds of blocks with sentences, and those whose lines are whole; in all others, a line break is white space.
_PROSE: tuple[Kind, ...] = ("paragraph", "heading", "list")
_LINES: tuple[Kind, ...] = ("table", "records", "code", "fence")
_LINE = re.compile(r"\S[^\n]*")

#: What may be cut, with the description of such cuts.
PLACES = {
    "torn": "inside any of the following",
    "sentence": "inside a sentence or a heading",
    "item": "inside an item of a list",
    "row": "inside a row of a table, a log entry, a message of a chat, or another record",
    "statement": "inside a statement of source code",
    "line": "inside a line of source code, tables, records or fences",
    "fence": "inside a code fence",
}


Mask = npt.NDArray[np.bool_]


class CutCount(NamedTuple):
    """Number of cuts inside something whole."""

    all: int = 0
    avoidable: int | None = 0  # Those inside what would fit into a chunk by itself; None if no limit is known.

    def __add__(self, other: CutCount) -> CutCount:  # type: ignore[override]
        avoidable = None if self.avoidable is None or other.avoidable is None else self.avoidable + other.avoidable
        return CutCount(self.all + other.all, avoidable)


class Cuts(NamedTuple):
    """The cuts of some chunks.

    Attributes:
        places: Number of different places, without the edges of the text. White space counts as no distance.
        inside: Number of those inside something whole, by the names in `PLACES`.
        enumerators: Number of chunks that end with an enumerator of what follows, such as "2.1." or "(a)".
        marks: Number of chunks that begin with a mark that closes what stands before it, such as "[1]" or "”".
    """

    places: int = 0
    inside: Mapping[str, CutCount] = dict.fromkeys(PLACES, CutCount())
    enumerators: int = 0
    marks: int = 0

    def __add__(self, other: Cuts) -> Cuts:  # type: ignore[override]
        inside = {name: count + other.inside[name] for name, count in self.inside.items()}
        marks = self.enumerators + other.enumerators, self.marks + other.marks
        return Cuts(self.places + other.places, inside, *marks)


def count_cuts(document: Document, chunks: Sequence[Sequence[Span]], limit: Limit | None = None) -> Cuts:
    """Count the cuts of a document's chunks.

    A cut is the start or the end of a span that is not at the edge of the text. What is longer than the limit has to be
    cut: of a nested list, an item that is too long is judged by its own items.

    Args:
        document: The document.
        chunks: Spans of each chunk, leaves only.
        limit: Limit of the chunks; None if it isn't known.
    """
    text = document.text
    solid = np.concatenate([[0], np.cumsum(~is_space(code_points(text)), dtype=np.int64)])
    places = np.unique(solid[[edge for spans in chunks for span in spans for edge in span]])
    places = places[(places > 0) & (places < solid[-1])]
    judged = _Judged(text, solid, places, limit)
    masks = {name: judged.inside(units, has_parts=name == "item") for name, units in _whole(document).items()}
    masks = {"torn": tuple(map(np.logical_or.reduce, zip(*masks.values(), strict=True))), **masks}
    inside = {
        name: CutCount(int(every.sum()), None if limit is None else int(avoidable.sum()))
        for name, (every, avoidable) in masks.items()
    }
    enumerators = sum(any(ends_with_enumerator(text, *span) for span in spans) for spans in chunks)
    marks = sum(any(begins_with_closing_mark(text, *span) for span in spans) for spans in chunks)
    return Cuts(len(places), inside, enumerators, marks)


def _whole(document: Document) -> Mapping[str, Units]:
    """Return what is whole in a document, by the names in `PLACES`."""
    text, found = with_line_feeds(document.text), document_sections(document)
    blocks = [block for section in found for block in section.blocks]
    if not blocks:
        return dict.fromkeys(PLACES, as_units([]))
    starts, kinds = [block.start for block in blocks], np.array([block.kind for block in blocks])

    def of(units: Units, own: Sequence[Kind]) -> Units:
        chosen = np.isin(kinds[np.searchsorted(starts, units.starts, side="right") - 1], own)
        return Units(units.starts[chosen], units.ends[chosen])

    whole, sentences = (text_units(document, "auto", found, join_items=joined).units for joined in (True, False))
    lined = (block for block in blocks if block.kind in _LINES)
    lines = [match.span() for block in lined for match in _LINE.finditer(text, block.start, block.end)]
    inside = {name: of(whole, own) for name, own in _WHOLE.items()}
    return {"sentence": of(sentences, _PROSE), "line": as_units(lines), **inside}


@dataclass(frozen=True, slots=True)
class _Judged:
    """Places of cuts in a text.

    Attributes:
        text: The text.
        solid: int64[n + 1], number of characters before each offset that are no white space.
        places: Ascending numbers of such characters before each place.
        limit: Limit of the chunks.
    """

    text: str
    solid: IntArray
    places: IntArray
    limit: Limit | None

    def inside(self, units: Units, *, has_parts: bool) -> tuple[Mask, Mask]:
        """Return which places are inside units, which are disjoint and in document order, and which could be avoided.

        Args:
            units: The units.
            has_parts: Whether one that is too long is judged by its own items.
        """
        every, avoidable = np.zeros((2, len(self.places)), dtype=np.bool_)
        if len(units.starts) and len(self.places):
            numbers = np.searchsorted(self.solid[units.starts], self.places, side="left") - 1
            every = (numbers >= 0) & (self.solid[units.ends[numbers]] > self.places)
        if self.limit is None or not every.any():
            return every, avoidable
        torn = np.unique(numbers[every])
        found = Units(units.starts[torn], units.ends[torn])
        fits = self.limit.ruler.lengths([self.text], [found])[0] <= self.limit.size
        avoidable[every] = np.isin(numbers[every], torn[fits])
        for start, end in Units(found.starts[~fits], found.ends[~fits]).spans() if has_parts else ():
            inner = as_units(parts(self.text[start:end], "list")).shifted(start)
            if len(inner.starts) > 1:
                avoidable |= self.inside(inner, has_parts=True)[1]
        return every, avoidable


class Depths(NamedTuple):
    """Numbers of characters, not counting white space."""

    all: int  # Number of characters of the documents.
    covered: int  # Number of characters that are in a chunk.
    retrievable: int  # Sum of the characters of all chunks.


#: Lengths of the chunks.
Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class ChunkingProfile:
    """A chunking and its costs."""

    chunking: Chunking
    dimension: int
    contexts: bool  # Whether a chunk's context is embedded with its text.
    split_seconds: float | None  # Wall time of splitting; None if vectors came from a cache.
    embed_seconds: float | None  # Wall time of embedding the chunks; None if vectors came from a cache.
    limit: Limit | None = None  # Limit of the chunks; None if it isn't known.

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
        everything = covered = retrievable = 0
        for document in self.chunking.dataset.documents:
            solid = ~is_space(code_points(document.text))
            times = np.zeros(len(solid) + 1, dtype=np.int64)
            for chunk in self.chunking.by_source.get(document.id, ()):
                for start, end in chunk.spans:
                    times[start] += 1
                    times[end] -= 1
            depth = np.cumsum(times)[:-1][solid]
            everything += len(depth)
            covered += int((depth > 0).sum())
            retrievable += int(depth.sum())
        return Depths(everything, covered, retrievable)

    @cached_property
    def fill(self) -> float | None:
        """The mean length of a chunk as a share of the limit."""
        texts = [chunk.text for chunk in self.chunking.chunks]
        if self.limit is None or not texts:
            return None
        lengths = self.limit.ruler.lengths(texts, [as_units([(0, len(text))]) for text in texts])
        return float(np.mean(np.concatenate(lengths))) / self.limit.size

    @cached_property
    def cuts(self) -> Cuts:
        """The cuts of all documents."""
        texts, chunks = self.chunking.dataset.sources, self.chunking.by_source.items()
        found = (count_cuts(texts[id_], [chunk.spans for chunk in own], self.limit) for id_, own in chunks)
        return sum(found, Cuts())


class Statistic(NamedTuple):
    """A figure about chunks that needs no questions."""

    name: str
    unit: str
    description: str
    value: Callable[[ChunkingProfile], float | None]  # Function that returns the value, or None if there is none.


_FLOAT32 = 4


def _bytes_stored(profile: ChunkingProfile) -> float:
    """Count each chunk with its text and context in UTF-8, and with 4 bytes per dimension of its vector.

    Engines also store metadata, terms and an index, whose size depends on the engine and on the number of chunks.
    """
    chunks = profile.chunking.chunks
    texts = sum(len(f"{c.text}{c.context}".encode("utf-8", "surrogatepass")) for c in chunks)
    return texts + len(chunks) * profile.dimension * _FLOAT32


def tokens_embedded(profile: ChunkingProfile) -> int:
    """Return the number of tokens that the embedding model reads, by the evaluation's tokenizer, with contexts.

    Equal texts count each time.
    """
    texts = [embedded_text(c) if profile.contexts else c.text for c in profile.chunking.chunks]
    return int(profile.chunking.tokenizer.count(texts).sum()) if texts else 0


def _edges(chunk: Chunk) -> Iterator[int]:
    """Yield the start and end of each span of a chunk."""
    for span in chunk.spans:
        yield from span


def _share(count: Callable[[str, tuple[Chunk, ...]], int]) -> Callable[[ChunkingProfile], float | None]:
    """Return the statistic of the share of the chunks that are counted, document by document."""

    def value(profile: ChunkingProfile) -> float | None:
        texts, chunks = profile.chunking.dataset.sources, profile.chunking.by_source
        return _ratio(sum(count(texts[id_].text, own) for id_, own in chunks.items()), len(profile.chunking.chunks))

    return value


# Letters, digits and underscores.
_WORD = re.compile(r"\w")


def _mid_word(text: str, chunks: tuple[Chunk, ...]) -> int:
    """Count the chunks that begin or end between two characters of one word.

    Words are those of the word strategy, so cuts between two graphemes don't count in scripts without spaces. Cuts
    next to punctuation, such as a hyphen or a full stop, don't count either.
    """
    starts = frozenset(words(text).starts.tolist())
    return sum(any(_inside(text, edge, starts) for edge in _edges(chunk)) for chunk in chunks)


def _inside(text: str, edge: int, starts: frozenset[int]) -> bool:
    if not 0 < edge < len(text) or edge in starts:
        return False
    return bool(_WORD.match(text, edge - 1) and _WORD.match(text, edge))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _size(unit: str, key: str, title: str, figure: Callable[[Lengths], float]) -> Statistic:
    """Return the statistic of the chunks' lengths, without their contexts."""
    lengths_of = attrgetter(unit)

    def value(profile: ChunkingProfile) -> float | None:
        lengths = lengths_of(profile)
        return float(figure(lengths)) if len(lengths) else None

    return Statistic(f"{key}_{unit}", unit, f"{title} {unit} of a chunk", value)


def _cut(name: str, where: str) -> tuple[Statistic, Statistic]:
    """Return the statistics of the cuts inside something whole: all of them, and those that can be avoided."""
    torn = f"Places where a chunk begins or ends {where}"
    return (
        Statistic(f"{name}_cuts", CUTS, torn, lambda p: p.cuts.inside[name].all),
        Statistic(
            f"{name}_cuts{AVOIDABLE}",
            CUTS,
            f"{torn} that fits into a chunk by itself",
            lambda p: p.cuts.inside[name].avoidable,
        ),
    )


_FIGURES = (("average", "Average", np.mean), ("min", "Fewest", np.min), ("max", "Most", np.max))
_PERCENTILES = 10, 50, 90
STATISTICS = (
    Statistic("chunks", "chunks", "Chunks that are searched", lambda p: len(p.chunking.chunks)),
    Statistic("documents", "documents", "Documents that have a chunk", lambda p: len(p.chunking.by_source)),
    *(_size(unit, *figure) for unit in ("characters", "words", "tokens") for figure in _FIGURES),
    *(_size("tokens", f"p{n}", f"{n}th percentile of the", partial(np.percentile, q=n)) for n in _PERCENTILES),
    Statistic("fill", "share", "Mean length of a chunk as a share of the strategy's limit", attrgetter("fill")),
    Statistic("mid_word", "share", "Share of chunks that begin or end inside a word", _share(_mid_word)),
    Statistic("cuts", CUTS, "Different places in the documents where a chunk begins or ends", lambda p: p.cuts.places),
    *chain.from_iterable(_cut(*each) for each in PLACES.items()),
    Statistic("enumerator_ends", CUTS, "Chunks that end with the number of what follows", lambda p: p.cuts.enumerators),
    Statistic(
        "closing_mark_starts", CUTS, "Chunks that begin with a mark that closes what precedes", lambda p: p.cuts.marks
    ),
    Statistic(
        "coverage",
        "share",
        "Share of the characters that are in a chunk, not counting white space",
        lambda p: _ratio(p.depths.covered, p.depths.all),
    ),
    Statistic(
        "duplication",
        "times",
        "Mean number of chunks that hold a covered character, not counting white space",
        lambda p: _ratio(p.depths.retrievable, p.depths.covered),
    ),
    Statistic("tokens_embedded", "tokens", "Tokens that are embedded, contexts included", tokens_embedded),
    Statistic(
        "bytes_stored",
        "bytes",
        "Bytes of the chunks' texts, contexts and float32 vectors, without an engine's index",
        _bytes_stored,
    ),
    Statistic(
        "split_seconds", "seconds", "Wall time of splitting, in the run that did it", attrgetter("split_seconds")
    ),
    Statistic(
        "embed_seconds", "seconds", "Wall time of embedding, in the run that did it", attrgetter("embed_seconds")
    ),
)

#: Ratio of the longest chunk to the median above which a histogram is logarithmic.
_SKEWED = 10


def histogram_edges(lengths: Sequence[int], bins: int) -> tuple[NDArray[np.float64], bool]:
    """Return the edges of a histogram of chunk lengths, and whether they are logarithmic."""
    longest, shortest = max(lengths, default=1), max(1, min(lengths, default=1))
    if lengths and longest > _SKEWED * float(np.median(lengths)):
        return np.geomspace(shortest, longest + 1, bins + 1), True
    return np.linspace(0, longest + 1, bins + 1), False


def describe(profile: ChunkingProfile) -> dict[str, float]:
    """Return the statistics of a chunking by name, omitting those without a value."""
    found = ((statistic.name, statistic.value(profile)) for statistic in STATISTICS)
    return {name: value for name, value in found if value is not None}


def strategy_result(
    label: str, spec: str, profile: ChunkingProfile, measures: Mapping[str, Estimate] | None = None
) -> StrategyResult:
    """Return the statistics and sizes of a strategy's chunks, with its measures if there are any."""
    chunking = profile.chunking
    return StrategyResult(
        label=label,
        spec=spec,
        measures=measures or {},
        statistics=describe(profile),
        lengths=[len(chunk.text) for chunk in chunking.chunks],
        chunks_per_document={d.id: len(chunking.by_source.get(d.id, ())) for d in chunking.dataset.documents},
    )


def notes(strategies: Sequence[StrategyResult]) -> list[StatisticNote]:
    """Return the explanations of the statistics that any of the strategies has."""
    found = [s for s in STATISTICS if any(s.name in own.statistics for own in strategies)]
    return [StatisticNote.model_validate(each, from_attributes=True) for each in found]

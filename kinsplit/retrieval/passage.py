"""What a search returns: a slice, or several, of one source, with its score and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from kinsplit.chunk import SEPARATOR, Chunk
from kinsplit.errors import StoreError
from kinsplit.retrieval.candidate import Candidate
from kinsplit.spans import Span, stretches
from kinsplit.stores.payload import GAP, PLACED


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of one source that answers a query, or several slices where its chunks gather what lies apart.

    Attributes:
        source_id: Id of the document.
        spans: Where it lies in the document, in document order; nearly always one span.
        text: The document's text from `start` to `end`; of several spans the texts, joined by `SEPARATOR`.
        score: The last stage's: a reranker's, or the best hit's.
        scores: Every stage's score of the best hit (see `Candidate.scores`), and `rerank_passage` where a reranker read
            the whole passage.
        hits: The chunks that were found, best first.
        chunks: All chunks that the passage is made of, in document order; its parent alone where parents were asked
            for.
        related: Where the document is not chunked, the other files of its group that aren't either (code beside a
            lecture, say), whole.
        context: Heading path of the best hit.
        pages: First and last page, counted from 1, where the document has pages.
        times: From when to when it was said, in seconds, where the document is a transcript.
        metadata: The document's.
    """

    source_id: str
    spans: tuple[Span, ...]
    text: str
    score: float
    scores: Mapping[str, float]
    hits: tuple[Candidate, ...]
    chunks: tuple[Chunk, ...]
    related: tuple[Chunk, ...]
    context: str
    pages: tuple[int, int] | None
    metadata: Mapping[str, Any]
    times: tuple[float, float] | None = None

    @property
    def start(self) -> int:
        """First code point in the document."""
        return self.spans[0].start

    @property
    def end(self) -> int:
        """One past the last code point in the document."""
        return self.spans[-1].end

    @property
    def best(self) -> Candidate:
        """The hit that gave the passage its score."""
        return self.hits[0]

    def judged(self, stage: str, score: float) -> Passage:
        """Return the passage with a further stage's score, by which it is ranked from now on."""
        return replace(self, score=score, scores={**self.scores, stage: score})


def continues(before: Chunk, after: Chunk) -> bool:
    """Return whether a chunk is the next sibling of another one, and they agree on the text that both have."""
    own = before.source_id, before.level, before.index + 1
    return own == (after.source_id, after.level, after.index) and _agree(before, after)


def _agree(one: Chunk, other: Chunk) -> bool:
    start, end = max(one.start, other.start), min(one.end, other.end)
    if start >= end or len(one.spans) > 1 or len(other.spans) > 1:
        return True
    first, second = (chunk.text[start - chunk.start : end - chunk.start] for chunk in (one, other))
    return first == second


def are_siblings(chunks: Iterable[Chunk]) -> bool:
    """Return whether chunks, in any order, are siblings without a gap that agree on the text that they share."""
    ordered = sorted(chunks, key=_index)
    return all(continues(before, after) for before, after in pairwise(ordered))


def _index(chunk: Chunk) -> int:
    return chunk.index


def join(chunks: Iterable[Chunk], hits: Sequence[Candidate], related: Sequence[Chunk] = ()) -> Passage:
    """Join neighbouring chunks into a passage, repeating no overlap; what lies apart in the document stays apart.

    Args:
        chunks: Chunks of one level of one source without a gap in their indices.
        hits: What was found of them, or inside them; the first one is the best.
        related: See `Passage`.

    Raises:
        StoreError: A chunk's text is not as long as its place, or chunks that overlap have different texts there, so
            that the passage would not be the slice that it claims.
    """
    ordered = sorted(chunks, key=_index)
    for before, after in pairwise(ordered):
        if not _agree(before, after):
            raise StoreError(
                f"Chunks {before.index} and {after.index} of {before.source_id!r} are of different versions of its "
                f"text, which overlap from {after.start}. Index the document again."
            )
    slices = _joined(sorted(piece for chunk in ordered for piece in _pieces(chunk)))
    best = hits[0]
    return Passage(
        ordered[0].source_id,
        tuple(span for span, _ in slices),
        SEPARATOR.join(text for _, text in slices),
        best.score,
        best.scores,
        tuple(hits),
        tuple(ordered),
        tuple(related),
        best.chunk.context,
        _range(ordered, "page_start", "page_end"),
        {key: value for key, value in best.chunk.metadata.items() if key not in PLACED},
        _range(ordered, "time_start", "time_end"),
    )


def _range(chunks: Sequence[Chunk], *keys: str) -> tuple[Any, Any] | None:
    """Return the lowest and the highest value that chunks have under some keys, or None where they have none."""
    values = [value for chunk in chunks for key in keys if (value := chunk.metadata.get(key)) is not None]
    return (min(values), max(values)) if values else None


class _Piece(NamedTuple):
    """A span of a chunk, its text, and the white space before it where that is known."""

    span: Span
    text: str
    gap: str


def _pieces(chunk: Chunk) -> list[_Piece]:
    """Return the spans of a chunk with their texts."""
    found = stretches(chunk.spans, chunk.text)
    gap = chunk.metadata.get(GAP, "")
    if found is None:
        raise StoreError(
            f"Chunk {chunk.index} of {chunk.source_id!r} has a text of {len(chunk.text)} characters, which is not its "
            f"place from {chunk.start} to {chunk.end}. Index the document again."
        )
    return [
        _Piece(span, chunk.text[at : at + span.end - span.start], "" if number else gap)
        for number, (at, span) in enumerate(found)
    ]


def _joined(pieces: Sequence[_Piece]) -> list[tuple[Span, str]]:
    """Join pieces, in document order, to slices of the document."""
    spans: list[Span] = []
    texts: list[list[str]] = []
    for (start, end), text, gap in pieces:
        apart = start - spans[-1].end if spans else len(gap) + 1
        if apart > len(gap):
            spans.append(Span(start, end))
            texts.append([text])
        elif end > spans[-1].end:
            spans[-1] = Span(spans[-1].start, end)
            texts[-1].append(gap[len(gap) - apart :] + text if apart > 0 else text[-apart:])
    return [(span, "".join(parts)) for span, parts in zip(spans, texts, strict=True)]

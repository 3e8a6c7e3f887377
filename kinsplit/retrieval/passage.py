"""What a search returns: a slice, or several, of one source, with its score and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kinsplit.chunk import SEPARATOR, Chunk, Span, stretches
from kinsplit.retrieval.candidate import Candidate
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


def join(chunks: Iterable[Chunk], hits: Sequence[Candidate], related: Sequence[Chunk] = ()) -> Passage:
    """Join neighbouring chunks into a passage, repeating no overlap; what lies apart in the document stays apart.

    Args:
        chunks: Chunks of one level of one source without a gap in their indices.
        hits: What was found of them, or inside them; the first one is the best.
        related: See `Passage`.
    """
    ordered = sorted(chunks, key=lambda chunk: chunk.index)
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
    """Return the spans of a chunk with their texts; as one where the text isn't made of them."""
    found = stretches(chunk.spans, chunk.text) if len(chunk.spans) > 1 else None
    gap = chunk.metadata.get(GAP, "")
    if found is None:
        return [_Piece(Span(chunk.start, chunk.end), chunk.text, gap)]
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

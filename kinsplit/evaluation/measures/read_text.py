"""The text that a reader of a ranking has seen after some chunks or tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinsplit.chunk import Chunk
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.spans import Span, length, stretches, unite

#: Spans that were read by source id, in order and without overlap.
Read = Mapping[str, tuple[Span, ...]]


def read_chunks(chunks: Iterable[Chunk]) -> Read:
    """Return the text of some chunks."""
    return read_spans((chunk.source_id, span) for chunk in chunks for span in chunk.spans)


def read_tokens(ranking: Iterable[Chunk], budget: int, chunking: Chunking) -> Read:
    """Return the text of the first tokens of a ranking.

    Text that several chunks repeat costs its tokens each time; a chunk is cut where the budget ends.

    Args:
        ranking: Chunks, best first.
        budget: Number of tokens.
        chunking: Chunking that the chunks are from.
    """
    read: list[tuple[str, Span]] = []
    left = budget
    for chunk in ranking:
        tokens = chunking.token_counts[chunk.id]
        spans = chunk.spans if tokens <= left else _first_tokens(chunk, left, chunking)
        read += ((chunk.source_id, span) for span in spans)
        left -= tokens
        if left <= 0:
            break
    return read_spans(read)


def read_spans(read: Iterable[tuple[str, Span]]) -> Read:
    """Return spans by source id, in order and without overlap."""
    spans: dict[str, list[Span]] = {}
    for source_id, span in read:
        spans.setdefault(source_id, []).append(span)
    return {source_id: unite(found) for source_id, found in spans.items()}


def _first_tokens(chunk: Chunk, number: int, chunking: Chunking) -> Iterable[Span]:
    """Return the spans of the first tokens of a chunk that has more."""
    starts = chunking.token_starts(chunk)
    # A function as a tokenizer may count more tokens than it locates; then the whole text is read.
    end = starts[number] if number < len(starts) else len(chunk.text)
    # A token ends before the white space that follows.
    return _until(chunk, len(chunk.text[:end].rstrip()))


def _until(chunk: Chunk, end: int) -> Iterable[Span]:
    """Return the spans of the beginning of a chunk's text."""
    placed = stretches(chunk.spans, chunk.text)
    if placed is None:
        # A splitter has rewritten the text: take the same share of its spans.
        left = round(length(chunk.spans) * end / len(chunk.text))
        for start, stop in chunk.spans:
            if left > 0:
                yield Span(start, min(stop, start + left))
            left -= stop - start
    else:
        for at, (start, stop) in placed:
            if at < end:
                yield Span(start, min(stop, start + end - at))

"""The text that a reader of a ranking has seen after some chunks or tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk
from kinsplit.evaluation.measures.protocol import Chunking
from kinsplit.spans import Span, length, stretches, unite
from kinsplit.tokenizers import Tokenizer


class Slices(Protocol):
    """A text that consists of slices of a document: a chunk, a passage, or a source of an answer."""

    @property
    def source_id(self) -> str: ...  # noqa: D102

    @property
    def spans(self) -> tuple[Span, ...]: ...  # noqa: D102

    @property
    def text(self) -> str: ...  # noqa: D102


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
        spans = chunk.spans if tokens <= left else _first_tokens(chunk, left, chunking.token_starts(chunk))
        read += ((chunk.source_id, span) for span in spans)
        left -= tokens
        if left <= 0:
            break
    return read_spans(read)


def read_slices(slices: Sequence[Slices], budget: int, tokenizer: Tokenizer) -> Read:
    """Return the text of passages up to a number of tokens.

    Args:
        slices: Passages, or anything else that consists of slices, best first.
        budget: Number of tokens.
        tokenizer: Counts the tokens; another one than that of the search may count more.
    """
    read: list[tuple[str, Span]] = []
    left = budget
    counts = tokenizer.count([each.text for each in slices]).tolist() if slices else []
    for each, tokens in zip(slices, counts, strict=True):
        spans: Iterable[Span] = each.spans
        if tokens > left:
            (starts,) = tokenizer.starts([each.text])
            spans = _first_tokens(each, left, starts)
        read += ((each.source_id, span) for span in spans)
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


def _first_tokens(chunk: Slices, number: int, starts: NDArray[np.int64]) -> Iterable[Span]:
    """Return the spans of the first tokens of a chunk that has more."""
    # A function as a tokenizer may count more tokens than it locates; then the whole text is read.
    end = int(starts[number]) if number < len(starts) else len(chunk.text)
    # A token ends before the white space that follows.
    return _until(chunk, len(chunk.text[:end].rstrip()))


def _until(chunk: Slices, end: int) -> Iterable[Span]:
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

"""The places where a document is cut."""

from __future__ import annotations

from collections.abc import Iterator

from kinsplit.chunk import Chunk
from kinsplit.evaluation.measures.protocol import Chunking


def edges(chunk: Chunk) -> Iterator[int]:
    """Yield where the spans of a chunk begin and end."""
    for span in chunk.spans:
        yield span.start
        yield span.end


def texts(chunking: Chunking) -> Iterator[tuple[str, tuple[Chunk, ...]]]:
    """Yield the text of each document that has chunks, with these."""
    for source_id, chunks in chunking.by_source.items():
        yield chunking.dataset.sources[source_id].text, chunks

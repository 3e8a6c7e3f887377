"""Chunks as the rows that `kinsplit chunk` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk
    from kinsplit.tokenizers import Tokenizer

Row = dict[str, Any]


def to_rows(chunks: Sequence[Chunk], tokenizer: Tokenizer) -> Iterator[Row]:
    """Turn chunks into rows.

    Args:
        chunks: The chunks.
        tokenizer: Counts the tokens of those that the strategy didn't count.

    Yields:
        A row for each chunk, in the same order. `start` and `end` are code points of the document and `spans` what lies
        between them, nearly always all of it; `chunk_index` counts the chunks of the row's `level` from 0, and ids are
        UUIDs but for `chunk_id` (see `chunk_name`). `metadata` is what is known of the document and what the strategy
        says of the chunk, such as its `section`, but not the file's siblings, of which a folder may have thousands.
    """
    uncounted = [chunk.text for chunk in chunks if chunk.token_count is None]
    counts = iter(tokenizer.count(uncounted).tolist() if uncounted else [])
    for chunk in chunks:
        yield {
            "docid": chunk.source_id,
            "chunk_id": chunk_name(chunk.source_id, chunk.level, chunk.index),
            "id": chunk.id,
            "chunk_index": chunk.index,
            "total_chunks": chunk.total,
            "start": chunk.start,
            "end": chunk.end,
            "spans": [list(span) for span in chunk.spans],
            "text": chunk.text,
            "token_count": next(counts) if chunk.token_count is None else chunk.token_count,
            "parent_id": chunk.parent_id,
            "prev_id": chunk.prev_id,
            "next_id": chunk.next_id,
            "level": chunk.level,
            "context": chunk.context,
            "metadata": {key: value for key, value in chunk.metadata.items() if key != "sibling_files"},
        }


def chunk_name(docid: str, level: int, index: int) -> str:
    """Return the readable id of a chunk: `alice:ch03::chunk02`, and of a parent `alice:ch03::level1::chunk02`."""
    place = f"::level{level}" if level else ""
    return f"{docid}{place}::chunk{index:02}"

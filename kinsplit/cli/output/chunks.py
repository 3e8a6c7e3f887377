"""Chunks as rows of JSON, and the summary of their sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from kinsplit.chunk import Chunk, select
from kinsplit.cli.output.tables import counted, rate
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.tokenizers import Tokenizer

Row = dict[str, Any]

# Keys of `kinsplit.chunk.FIELDS` that a row shows.
_FIELDS = (
    *("id", "chunk_index", "total_chunks", "start", "end", "spans", "text", "token_count"),
    *("parent_id", "prev_id", "next_id", "level", "context"),
)


def to_rows(chunks: Sequence[Chunk], tokenizer: Tokenizer) -> Iterator[Row]:
    """Convert chunks to rows.

    Args:
        chunks: The chunks.
        tokenizer: Tokenizer for chunks whose tokens the strategy did not count.

    Yields:
        One row per chunk, in order. `start` and `end` are code point offsets in the document; `spans` lists the parts
        of it that the chunk holds, nearly always one. `chunk_index` counts from 0 within the row's `level`. Ids
        are UUIDs, except `chunk_id` (see `chunk_name`). `metadata` holds the metadata of the document and of the chunk,
        such as its `section`, without the file's siblings, since a folder may have thousands.
    """
    uncounted = [chunk.text for chunk in chunks if chunk.token_count is None]
    counts = iter(tokenizer.count(uncounted).tolist() if uncounted else [])
    for chunk in chunks:
        yield {
            "docid": chunk.source_id,
            "chunk_id": chunk_name(chunk.source_id, chunk.level, chunk.index),
            **select(chunk, _FIELDS),
            "token_count": next(counts) if chunk.token_count is None else chunk.token_count,
            "metadata": {key: value for key, value in chunk.metadata.items() if key != "sibling_files"},
        }


def chunk_name(docid: str, level: int, index: int) -> str:
    """Return the readable id of a chunk: `alice:ch03::chunk02`, and of a parent `alice:ch03::level1::chunk02`."""
    parent = f"::level{level}" if level else ""
    return f"{docid}{parent}::chunk{index:02}"


@dataclass(slots=True)
class Summary:
    """Running totals of `kinsplit chunk`."""

    files: int
    documents: int = 0
    seconds: float = 0.0
    failed: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Add the size of a row to the totals of its level."""
        characters, tokens = self.sizes.setdefault(row["level"], ([], []))
        characters.append(len(row["text"]))
        tokens.append(row["token_count"])

    @property
    def chunks(self) -> int:
        """Number of rows."""
        return sum(len(characters) for characters, _ in self.sizes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as `--json` writes it."""
        levels = [
            {"level": level, "chunks": len(characters), "characters": _spread(characters), "tokens": _spread(tokens)}
            for level, (characters, tokens) in sorted(self.sizes.items())
        ]
        return {
            "files": self.files,
            "documents": self.documents,
            "chunks": self.chunks,
            "levels": levels,
            "failed": self.failed,
            "seconds": self.seconds,
        }


def _spread(sizes: list[int]) -> dict[str, float]:
    return {"average": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}


def show(summary: Summary, output: Path, terminal: Terminal) -> None:
    """Write the number of chunks, and a table of their sizes."""
    made = counted(summary.chunks, "chunk")
    speed = f"{summary.seconds:.2f} s ({rate(summary.chunks, summary.seconds)} chunks/s)"
    terminal.line(f"Split {counted(summary.documents, 'document')} into {made} in {speed}: {output}")
    if not summary.sizes:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column()
    for _ in range(4):
        table.add_column(justify="right")
    table.add_row("", "chunks", "average", "min", "max", style="dim")
    for level in summary.to_dict()["levels"]:
        suffix = f", level {level['level']}" if len(summary.sizes) > 1 else ""
        for name in ("characters", "tokens"):
            spread = level[name]
            figures = f"{spread['average']:,.1f}", f"{spread['min']:,}", f"{spread['max']:,}"
            table.add_row(f"{name.capitalize()}{suffix}", f"{level['chunks']:,}", *figures)
    terminal.table(table)

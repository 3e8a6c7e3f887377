"""What `kinsplit chunk` made: how many chunks, and of which sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from kinsplit.cli.rows import Row
from kinsplit.cli.tables import counted, rate
from kinsplit.cli.terminal import Terminal


@dataclass(slots=True)
class Summary:
    """What a run made, as it grows."""

    files: int
    documents: int = 0
    seconds: float = 0.0
    failed: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count a row's characters and tokens, each level for itself."""
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
    """Write what was made, and a table of its sizes."""
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
        where = f", level {level['level']}" if len(summary.sizes) > 1 else ""
        for name in ("characters", "tokens"):
            spread = level[name]
            figures = f"{spread['average']:,.1f}", f"{spread['min']:,}", f"{spread['max']:,}"
            table.add_row(f"{name.capitalize()}{where}", f"{level['chunks']:,}", *figures)
    terminal.table(table)

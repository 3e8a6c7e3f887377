"""`kinsplit search --explain`: how each hit came by its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from kinsplit.cli.passages import file_of
from kinsplit.cli.tables import listing
from kinsplit.display import inline

if TYPE_CHECKING:
    from kinsplit.retrieval import Passage


def explanation(passages: Sequence[Passage]) -> Table:
    """Return a table with a row for each hit and a column for each stage that any of them went through."""
    stages = dict.fromkeys(stage for passage in passages for hit in passage.hits for stage in hit.scores)
    whole = dict.fromkeys(stage for passage in passages for stage in passage.scores if stage not in stages)
    table = listing("Result", "File", "Chunk", *(stage.replace("_", " ") for stage in (*stages, *whole)))
    for column in table.columns[3:]:
        column.justify = "right"
    for rank, passage in enumerate(passages, 1):
        for place, hit in enumerate(passage.hits):
            own = (_figure(hit.scores.get(stage)) for stage in stages)
            of_passage = ("" if place else _figure(passage.scores.get(stage)) for stage in whole)
            chunk = f"{hit.chunk.index + 1}/{hit.chunk.total}"
            table.add_row("" if place else str(rank), inline(file_of(passage)), chunk, *own, *of_passage)
    return table


def _figure(score: float | None) -> str:
    return "-" if score is None else f"{score:.3f}"

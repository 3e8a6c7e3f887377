"""Agreement of chunk boundaries with changes of topic: `python benchmarks/boundaries.py`.

Every system gets the same vectors of the same model. Pk (Beeferman, Berger & Lafferty 1999) and WindowDiff (Pevzner &
Hearst 2002) are shares of wrong decisions, computed by segeval on words: 0 is best, and cutting nowhere or everywhere
gives about 0.5.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

import numpy as np
import typer
from parsers import machine
from rich.console import Console
from rich.progress import track
from rich.table import Table
from segmented import Segmented, segmented_sets
from semantic_systems import OWN, PEER_DEFAULTS, PEERS, System, cut_places, kinsplit, solid_places

from kinsplit.embedding import Embedder, resolve, use_vector_cache
from kinsplit.parsers.units.sentences import words

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 160)

#: Systems that need no vectors.
_BLIND = (
    kinsplit("llm", model="none"),
    kinsplit("structure", chunk_size=250),
    kinsplit("sentence", chunk_size=200, unit="word"),
)

#: Pk, WindowDiff and number of chunks per part, each as the mean over a set's texts.
Figures = tuple[float, float, float]


@app.command()
def main(
    embedders: Annotated[str, typer.Option(help="Embedders, with commas between them.")] = "bundled,static",
    only: Annotated[str, typer.Option(help="Measure only systems whose name contains this.")] = "",
    cache: Annotated[Path, typer.Option(help="Where vectors are kept between runs.")] = Path(".benchmark-cache"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Measure how well chunks end where the topic changes."""
    sets = segmented_sets()
    result: dict[str, Any] = {}
    for name in embedders.split(","):
        systems = [system for system in (*OWN, *_BLIND, *PEERS) if only in system.name]
        with use_vector_cache(cache / "vectors"):
            found = [(s.name, measure(s, resolve(name), sets)) for s in track(systems, name, console=console)]
        rows = {system: figures for system, figures in found if figures}
        console.print(_table(name, rows, list(sets)))
        result[name] = rows
    for line in _verdicts(result):
        console.print(line)
    if json_file:
        json_file.write_text(json.dumps({"machine": machine(), **result}, indent=2) + "\n", encoding="utf-8")


def measure(system: System, embedder: Embedder, sets: dict[str, list[Segmented]]) -> dict[str, Figures]:
    """Return a system's figures by set; none if it is not installed."""
    try:
        split = system.make(embedder)
    except ImportError:
        return {}
    found = {}
    for name, texts in sets.items():
        scores = list(map(score, texts, split([text.text for text in texts])))
        found[name] = tuple(mean(column) for column in zip(*scores, strict=True))
    return found  # type: ignore[return-value]


def score(segmented: Segmented, chunks: Sequence[str]) -> Figures:
    """Compare the ends of chunks with those of the parts."""
    import segeval

    starts = np.array(solid_places(segmented.text, words(segmented.text).starts.tolist()))
    reference = _masses(starts, solid_places(segmented.text, segmented.boundaries))
    found = _masses(starts, cut_places(segmented.text, chunks))
    return (
        float(segeval.pk(found, reference)),
        float(segeval.window_diff(found, reference)),
        len(found) / len(reference),
    )


def _masses(starts: np.ndarray[Any, Any], places: Sequence[int]) -> list[int]:
    """Return the number of words between offsets; an offset inside a word counts as before it."""
    numbers = sorted({int(np.searchsorted(starts, place)) for place in places} - {0, len(starts)})
    return np.diff([0, *numbers, len(starts)]).tolist()  # type: ignore[no-any-return]


def _table(embedder: str, rows: dict[str, dict[str, Figures]], sets: Sequence[str]) -> Table:
    table = Table("system", title=f"Vectors: {embedder}. Pk, WindowDiff (lower is better), chunks per part")
    for name in (*sets, "mean Pk", "mean WD"):
        table.add_column(name, justify="right")
    for system, found in sorted(rows.items(), key=lambda row: mean(f[0] for f in row[1].values())):
        cells = [f"{pk:.3f} {wd:.3f} {count:4.1f}" for pk, wd, count in found.values()]
        table.add_row(system, *cells, *(f"{mean(f[i] for f in found.values()):.3f}" for i in (0, 1)))
    return table


def _verdicts(result: dict[str, dict[str, dict[str, Figures]]]) -> list[str]:
    """State for each embedder whether kinsplit's default beats all peers' defaults, by both measures on each set."""
    lines = []
    for embedder, rows in result.items():
        own = rows.get(OWN[0].name)
        for peer in PEER_DEFAULTS:
            if own and (other := rows.get(peer)):
                lost = [
                    f"{name} {what}"
                    for name in own
                    for i, what in ((0, "Pk"), (1, "WD"))
                    if own[name][i] >= other[name][i]
                ]
                verdict = "[green]yes[/]" if not lost else f"[red]NO[/]: {', '.join(lost)}"
                lines.append(f"{embedder}: {OWN[0].name} beats {peer} on every set: {verdict}")
    return lines


if __name__ == "__main__":
    app()

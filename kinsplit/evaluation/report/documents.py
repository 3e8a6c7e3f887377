"""How many chunks each document became: whether one of them dominates."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kinsplit.evaluation.report.charts import label, look
from kinsplit.evaluation.results import Results

#: Most documents whose names have room below the bars.
_NAMED = 40


def documents(results: Results) -> list[str]:
    """Return the documents of which any strategy made chunks, in their order."""
    return list(dict.fromkeys(name for strategy in results.strategies for name in strategy.chunks_per_document))


def height(results: Results) -> float:
    """Return the inches that the bars need."""
    names = 1.6 if len(documents(results)) <= _NAMED else 0.4
    return 0.5 + names + 1.05 * max(1, len(results.strategies))


def draw_documents(figure: Figure, results: Results) -> None:
    """Draw a bar for each document, one row for each strategy."""
    names = documents(results)
    rows = figure.subplots(len(results.strategies), 1, sharex=True, squeeze=False)[:, 0]
    for place, (axes, strategy) in enumerate(zip(rows, results.strategies, strict=True)):
        counts = [strategy.chunks_per_document.get(name, 0) for name in names]
        _bars(axes, counts, look(place).color)
        axes.set_title(label(strategy.label, 48), loc="left", fontsize=10)
        axes.set_title(f"at most {max(counts, default=0):,}", loc="right", fontsize=9)
        axes.locator_params(axis="y", nbins=3, integer=True)
        axes.grid(visible=False, axis="x")
    if len(names) <= _NAMED:
        folders = {name.rpartition("/")[0] for name in names}
        shared = f"{folders.pop()}/" if len(folders) == 1 else ""
        short = [label(name.removeprefix(shared), 24) for name in names]
        rows[-1].set_xticks(range(len(names)), short, rotation=90, fontsize=8)
    else:
        rows[-1].set_xlabel(f"The {len(names):,} documents, in their order")
    figure.supylabel("Chunks", fontsize=10)


def _bars(axes: Axes, counts: list[int], color: str) -> None:
    if len(counts) <= _NAMED:
        axes.bar(range(len(counts)), counts, color=color)
    else:  # One shape, where bars would be thinner than the gaps between them.
        axes.stairs(counts, [place - 0.5 for place in range(len(counts) + 1)], fill=True, color=color)
    axes.set_xlim(-0.6, max(len(counts), 1) - 0.4)
    axes.set_ylim(0, 1.05 * max(1, *counts, 1))

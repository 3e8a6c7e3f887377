"""Plots of the chunks: the distribution of their lengths, and the number of chunks of each document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from kinsplit.evaluation.report.charts import INK, label, look
from kinsplit.evaluation.results import Results

_BINS = 40
#: Ratio of longest chunk to median above which the axis is logarithmic.
_SKEWED = 10


def lengths_height(results: Results) -> float:
    """Return the height of the histograms, in inches."""
    return 0.8 + 1.05 * max(1, len(results.strategies))


def draw_lengths(figure: Figure, results: Results) -> None:
    """Draw a histogram of the chunk lengths in characters for each strategy, with the median."""
    every = [length for strategy in results.strategies for length in strategy.lengths]
    edges, logarithmic = _edges(every)
    rows = figure.subplots(len(results.strategies), 1, sharex=True, squeeze=False)[:, 0]
    for position, (axes, strategy) in enumerate(zip(rows, results.strategies, strict=True)):
        counts, _ = np.histogram(strategy.lengths, edges)
        axes.stairs(counts, edges, fill=True, color=look(position).color)
        axes.set_title(label(strategy.label, 48), loc="left", fontsize=10)
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="y", nbins=3, integer=True)
        _median(axes, strategy.lengths)
    bottom = rows[-1]
    if logarithmic:
        bottom.set_xscale("log")
    bottom.set_xlim(edges[0], edges[-1])
    bottom.xaxis.set_minor_locator(NullLocator())
    bottom.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    bottom.set_xlabel("Characters of a chunk")
    figure.supylabel("Chunks", fontsize=10)


def _edges(lengths: Sequence[int]) -> tuple[NDArray[np.float64], bool]:
    longest = max(lengths, default=1)
    shortest = max(1, min(lengths, default=1))
    if lengths and longest > _SKEWED * float(np.median(lengths)):
        return np.geomspace(shortest, longest + 1, _BINS + 1), True
    return np.linspace(0, longest + 1, _BINS + 1), False


def _median(axes: Axes, lengths: Sequence[int]) -> None:
    if not lengths:
        axes.set_title("no chunks", loc="right", fontsize=9)
        return
    median = float(np.median(lengths))
    axes.axvline(median, color=INK, linewidth=1.2, linestyle="--")
    axes.set_title(f"{len(lengths):,} chunks, median {median:,.0f}", loc="right", fontsize=9)


#: Maximum number of documents whose names fit below the bars.
_NAMED = 40


def documents(results: Results) -> list[str]:
    """Return the ids of the documents that have chunks, in the order of the results."""
    return list(dict.fromkeys(name for strategy in results.strategies for name in strategy.chunks_per_document))


def documents_height(results: Results) -> float:
    """Return the height of the bar charts, in inches."""
    names = 1.6 if len(documents(results)) <= _NAMED else 0.4
    return 0.5 + names + 1.05 * max(1, len(results.strategies))


def draw_documents(figure: Figure, results: Results) -> None:
    """Draw the number of chunks of each document, one row for each strategy."""
    names = documents(results)
    rows = figure.subplots(len(results.strategies), 1, sharex=True, squeeze=False)[:, 0]
    for position, (axes, strategy) in enumerate(zip(rows, results.strategies, strict=True)):
        counts = [strategy.chunks_per_document.get(name, 0) for name in names]
        _bars(axes, counts, look(position).color)
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
        rows[-1].set_xlabel(f"{len(names):,} documents, in their order")
    figure.supylabel("Chunks", fontsize=10)


def _bars(axes: Axes, counts: list[int], color: str) -> None:
    if len(counts) <= _NAMED:
        axes.bar(range(len(counts)), counts, color=color)
    else:  # One shape; bars would be thinner than the gaps between them.
        axes.stairs(counts, [number - 0.5 for number in range(len(counts) + 1)], fill=True, color=color)
    axes.set_xlim(-0.6, max(len(counts), 1) - 0.4)
    axes.set_ylim(0, 1.05 * max(1, *counts, 1))

"""How long the chunks are: one histogram for each strategy, all on one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from kinsplit.evaluation.report.drawing import INK, label, look
from kinsplit.evaluation.results import Results

_BINS = 40
#: From so many times the median on, a linear axis would press most chunks into one bar.
_SKEWED = 10


def height(results: Results) -> float:
    """Return the inches that the histograms need."""
    return 0.8 + 1.05 * max(1, len(results.strategies))


def draw_distributions(figure: Figure, results: Results) -> None:
    """Draw the histogram of each strategy's chunk lengths, in characters, with the median marked."""
    every = [length for strategy in results.strategies for length in strategy.lengths]
    edges, logarithmic = _edges(every)
    rows = figure.subplots(len(results.strategies), 1, sharex=True, squeeze=False)[:, 0]
    for place, (axes, strategy) in enumerate(zip(rows, results.strategies, strict=True)):
        counts, _ = np.histogram(strategy.lengths, edges)
        axes.stairs(counts, edges, fill=True, color=look(place).color)
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

"""Charts of the measures, and the common style of all plots: equal numbers give byte-identical files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import font_manager, style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from kinsplit.evaluation.labels import Estimate, StrategyResult
from kinsplit.evaluation.report.tables import Profiled, baseline_of, p_value, scale, verdict
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.statistics import histogram_edges

#: Colours of text, secondary text and grid lines. The page replaces them by its theme's colours.
INK, FAINT, GRID = "#1d2128", "#596070", "#d4d8e0"
#: Okabe and Ito's colour-blind safe palette, with the light colours darkened for contrast on white.
SERIES = ("#0072b2", "#c14a00", "#00845f", "#a8508a", "#8f6400", "#3f4a5a")
_VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--grid"} | {c: f"--series-{n}" for n, c in enumerate(SERIES)}
_FONT = "DejaVu Sans"
_STYLE = {
    "font.family": _FONT,
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "svg.hashsalt": "kinsplit",
}
_WIDTH = 6.6  # inches


class Look(NamedTuple):
    """Colour, marker and line of a strategy; eighteen combinations differ."""

    color: str
    marker: str
    line: str


def look(position: int) -> Look:
    """Return the look of the strategy at a position of the results."""
    kinds = len(SERIES)
    lines = ("-", "--", ":")
    return Look(SERIES[position % kinds], "os^Dvp"[position % kinds], lines[position // kinds % len(lines)])


@contextmanager
def drawn(height: float) -> Iterator[Figure]:
    """Open a figure that the user's settings don't affect."""
    with style.context(["default", _STYLE]):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def label(text: str, longest: int = 32) -> str:
    """Return a text for a plot: shortened, with a replacement for each character that the font lacks."""
    shown = text if len(text) <= longest else f"{text[: longest // 2]}…{text[-(longest - longest // 2 - 1) :]}"
    known = "".join(character if ord(character) in _characters() else "\ufffd" for character in shown)
    return known.replace("$", r"\$")  # A pair of dollar signs would enclose a formula.


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file with a white background."""
    _arrange(figure)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
    return file.getvalue()


def _arrange(figure: Figure) -> None:
    """Arrange a figure once; otherwise it is arranged and drawn another time whenever it is saved."""
    engine = figure.get_layout_engine()
    if figure.axes and engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)


def svg(figure: Figure, name: str) -> str:
    """Return a figure as an element of a page, in the page's colours."""
    _arrange(figure)
    file = BytesIO()
    nothing: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    element = file.getvalue().decode()
    element = element[element.index("<svg") :]
    element = re.sub(r"<metadata>.*?(?:</metadata>|\Z)|<!--.*?(?:-->|\Z)", "", element, flags=re.DOTALL)
    element = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", element)
    for color, variable in _VARIABLES.items():
        element = element.replace(color, f"var({variable})")
    # The page describes the figure in text.
    return element.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


@cache
def _characters() -> frozenset[int]:
    font = FT2Font(font_manager.findfont(_FONT))
    return frozenset(font.get_charmap()) - frozenset(range(32))


_BUDGET = re.compile(r"recall@(\d+)t", re.IGNORECASE)
#: Maximum number of coloured curves.
_CURVES = 6

Curve = Sequence[tuple[int, Estimate]]


def curves(results: Results) -> Mapping[str, Curve]:
    """Return the recall at each token budget by strategy, for strategies with at least two budgets."""
    found = {strategy.label: _curve(strategy) for strategy in results.strategies}
    return {name: curve for name, curve in found.items() if len(curve) > 1}


def emphasised(results: Results) -> list[str]:
    """Return the strategies with coloured curves: all, or if there are many, the baseline and the best."""
    found = curves(results)
    if len(found) <= _CURVES:
        return list(found)
    best = sorted(found, key=lambda name: -sum(estimate.mean for _, estimate in found[name]))
    chosen = dict.fromkeys([baseline_of(results), *best])
    first = [name for name in chosen if name in found][:_CURVES]
    return [name for name in found if name in first]


def budget_curves(results: Results) -> str:
    """Draw recall against the budget, with intervals as bands; "" for fewer than two budgets."""
    found = curves(results)
    if not found:
        return ""
    strong = emphasised(results)
    with drawn(4.2) as figure:
        axes = figure.subplots()
        for name, curve in found.items():
            if name not in strong:
                axes.plot([b for b, _ in curve], [100 * e.mean for _, e in curve], color=GRID, linewidth=1.2, zorder=1)
        for position, name in enumerate(strong):
            _draw(axes, found[name], name, position)
        _scale(axes, sorted({budget for curve in found.values() for budget, _ in curve}))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return svg(figure, "budget")


def _curve(strategy: StrategyResult) -> Curve:
    matches = ((_BUDGET.fullmatch(name), estimate) for name, estimate in strategy.measures.items())
    return sorted(((int(match[1]), estimate) for match, estimate in matches if match), key=lambda point: point[0])


def _draw(axes: Axes, curve: Curve, name: str, position: int) -> None:
    shown = look(position)
    budgets = [budget for budget, _ in curve]
    low, mean, high = ([100 * getattr(estimate, end) for _, estimate in curve] for end in ("low", "mean", "high"))
    axes.fill_between(budgets, low, high, color=shown.color, alpha=0.12, linewidth=0)
    axes.plot(budgets, mean, color=shown.color, marker=shown.marker, linestyle=shown.line, label=label(name))


def _scale(axes: Axes, budgets: Sequence[int]) -> None:
    if budgets[-1] >= 8 * budgets[0]:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(budgets))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{budget:,}" for budget in budgets], rotation=45 if len(budgets) > 8 else 0)
    axes.set_xlabel("Budget in tokens")
    axes.set_ylabel("Labelled text found (%)")


_COLORS = {"better": SERIES[0], "worse": SERIES[1], "like": FAINT}
_MARKERS = {"better": "^", "worse": "v", "like": "o"}


def comparison_chart(results: Results) -> str:
    """Draw the differences by the headline measure; "" without comparisons."""
    comparisons = results.comparisons
    if not comparisons:
        return ""
    measured = scale(results, results.setting.headline)
    with drawn(1.1 + 0.36 * len(comparisons)) as figure:
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=1.2)
        for row, comparison in enumerate(comparisons):
            found = verdict(comparison, measured)
            low, mean, high = (getattr(comparison.difference, end) * measured.factor for end in ("low", "mean", "high"))
            axes.plot([low, high], [row, row], color=_COLORS[found], linewidth=2)
            fill = "none" if found == "like" else "full"
            axes.plot([mean], [row], color=_COLORS[found], marker=_MARKERS[found], markersize=8, fillstyle=fill)
        axes.set_yticks(range(len(comparisons)), [label(comparison.strategy) for comparison in comparisons])
        axes.set_ylim(len(comparisons) - 0.4, -0.6)
        axes.margins(x=0.08)
        axes.grid(visible=False, axis="y")
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(comparisons)), [p_value(comparison.p_value) for comparison in comparisons])
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        unit = f" ({measured.difference_unit})" if measured.difference_unit else ""
        axes.set_xlabel(f"{label(measured.name)}: difference from {label(comparisons[0].baseline)}{unit}")
        return svg(figure, "comparison")


_BINS = 40


def lengths_height(results: Profiled) -> float:
    """Return the height of the histograms, in inches."""
    return 0.8 + 1.05 * max(1, len(results.strategies))


def draw_lengths(figure: Figure, results: Profiled) -> None:
    """Draw a histogram of the chunk lengths in characters for each strategy, with the median."""
    every = [length for strategy in results.strategies for length in strategy.lengths]
    edges, logarithmic = histogram_edges(every, _BINS)
    for axes, strategy, color in _rows(figure, results):
        counts, _ = np.histogram(strategy.lengths, edges)
        axes.stairs(counts, edges, fill=True, color=color)
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="y", nbins=3, integer=True)
        _median(axes, strategy.lengths)
    bottom = figure.axes[-1]
    if logarithmic:
        bottom.set_xscale("log")
    bottom.set_xlim(edges[0], edges[-1])
    bottom.xaxis.set_minor_locator(NullLocator())
    bottom.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    bottom.set_xlabel("Characters of a chunk")


def _rows(figure: Figure, results: Profiled) -> Iterator[tuple[Axes, StrategyResult, str]]:
    """Yield the axes, one below the other, and the colour of each strategy."""
    rows = figure.subplots(len(results.strategies), 1, sharex=True, squeeze=False)[:, 0]
    for position, (axes, strategy) in enumerate(zip(rows, results.strategies, strict=True)):
        axes.set_title(label(strategy.label, 48), loc="left", fontsize=10)
        yield axes, strategy, look(position).color
    figure.supylabel("Chunks", fontsize=10)


def _median(axes: Axes, lengths: Sequence[int]) -> None:
    if not lengths:
        axes.set_title("no chunks", loc="right", fontsize=9)
        return
    median = float(np.median(lengths))
    axes.axvline(median, color=INK, linewidth=1.2, linestyle="--")
    axes.set_title(f"{len(lengths):,} chunks, median {median:,.0f}", loc="right", fontsize=9)


#: Maximum number of documents whose names fit below the bars.
_NAMED = 40


def documents(results: Profiled) -> list[str]:
    """Return the ids of the documents that have chunks, in the order of the results."""
    return list(dict.fromkeys(name for strategy in results.strategies for name in strategy.chunks_per_document))


def documents_height(results: Profiled) -> float:
    """Return the height of the bar charts, in inches."""
    names = 1.6 if len(documents(results)) <= _NAMED else 0.4
    return 0.5 + names + 1.05 * max(1, len(results.strategies))


def draw_documents(figure: Figure, results: Profiled) -> None:
    """Draw the number of chunks of each document, one row for each strategy."""
    names = documents(results)
    for axes, strategy, color in _rows(figure, results):
        counts = [strategy.chunks_per_document.get(name, 0) for name in names]
        _bars(axes, counts, color)
        axes.set_title(f"at most {max(counts, default=0):,}", loc="right", fontsize=9)
        axes.locator_params(axis="y", nbins=3, integer=True)
        axes.grid(visible=False, axis="x")
    if len(names) <= _NAMED:
        folders = {name.rpartition("/")[0] for name in names}
        shared = f"{folders.pop()}/" if len(folders) == 1 else ""
        short = [label(name.removeprefix(shared), 24) for name in names]
        figure.axes[-1].set_xticks(range(len(names)), short, rotation=90, fontsize=8)
    else:
        figure.axes[-1].set_xlabel(f"{len(names):,} documents, in their order")


def _bars(axes: Axes, counts: list[int], color: str) -> None:
    if len(counts) <= _NAMED:
        axes.bar(range(len(counts)), counts, color=color)
    else:  # One shape; bars would be thinner than the gaps between them.
        axes.stairs(counts, [number - 0.5 for number in range(len(counts) + 1)], fill=True, color=color)
    axes.set_xlim(-0.6, max(len(counts), 1) - 0.4)
    axes.set_ylim(0, 1.05 * max(1, *counts, 1))


#: The plots of chunk sizes by the names of their files, each with its height and the function that draws it.
SIZES = {
    "chunk_distributions.png": (lengths_height, draw_lengths),
    "chunks_per_doc.png": (documents_height, draw_documents),
}


def write_sizes(results: Profiled, folder: Path) -> list[Path]:
    """Write the plots of chunk sizes into a folder, which is created if need be, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (height, draw) in SIZES.items():
        with drawn(height(results)) as figure:
            draw(figure, results)
            (folder / name).write_bytes(png(figure))
    return [folder / name for name in SIZES]

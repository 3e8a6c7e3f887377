"""Differences from the baseline with their intervals: what crosses the line may be chance."""

from __future__ import annotations

from kinsplit.evaluation.report.conclusion import verdict
from kinsplit.evaluation.report.drawing import FAINT, INK, SERIES, drawn, label, svg
from kinsplit.evaluation.report.scales import p_value, scale
from kinsplit.evaluation.results import Comparison, Results

_COLORS = {"better": SERIES[0], "worse": SERIES[1], "like": FAINT}
_MARKERS = {"better": "^", "worse": "v", "like": "o"}


def compared(results: Results) -> list[Comparison]:
    """Return the comparisons by the headline measure, in the order of the strategies."""
    return [comparison for comparison in results.comparisons if comparison.measure == results.setting.headline]


def comparison_chart(results: Results) -> str:
    """Draw the differences by the headline measure; "" without any."""
    comparisons = compared(results)
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
            axes.plot(
                [mean],
                [row],
                color=_COLORS[found],
                marker=_MARKERS[found],
                markersize=8,
                fillstyle="none" if found == "like" else "full",
            )
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

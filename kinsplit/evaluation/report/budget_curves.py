"""Recall against the budget: what a strategy finds when only so many tokens may be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from kinsplit.evaluation.report.drawing import GRID, drawn, label, look, svg
from kinsplit.evaluation.report.pairs import baseline_of
from kinsplit.evaluation.results import Estimate, Results, StrategyResult

_BUDGET = re.compile(r"recall@(\d+)t", re.IGNORECASE)
#: Most curves that can be told apart.
_CURVES = 6

Curve = Sequence[tuple[int, Estimate]]


def curves(results: Results) -> Mapping[str, Curve]:
    """Return for each strategy its recall at each budget of tokens; nothing where fewer than two were measured."""
    found = {strategy.label: _curve(strategy) for strategy in results.strategies}
    return {name: curve for name, curve in found.items() if len(curve) > 1}


def emphasised(results: Results) -> list[str]:
    """Return the strategies whose curves stand out: all, or of many the best ones and the baseline."""
    found = curves(results)
    if len(found) <= _CURVES:
        return list(found)
    best = sorted(found, key=lambda name: -sum(estimate.mean for _, estimate in found[name]))
    chosen = dict.fromkeys([baseline_of(results), *best])
    kept = {name for name in chosen if name in found}
    first = [name for name in chosen if name in kept][:_CURVES]
    return [name for name in found if name in first]


def budget_curves(results: Results) -> str:
    """Draw recall against the budget, with the intervals as bands; "" where fewer than two budgets were measured."""
    found = curves(results)
    if not found:
        return ""
    strong = emphasised(results)
    with drawn(4.2) as figure:
        axes = figure.subplots()
        for name, curve in found.items():
            if name not in strong:
                axes.plot([b for b, _ in curve], [100 * e.mean for _, e in curve], color=GRID, linewidth=1.2, zorder=1)
        for place, name in enumerate(strong):
            _draw(axes, found[name], name, place)
        _scale(axes, sorted({budget for curve in found.values() for budget, _ in curve}))
        _legend(figure, axes)
        return svg(figure, "budget")


def _curve(strategy: StrategyResult) -> Curve:
    matches = ((_BUDGET.fullmatch(name), estimate) for name, estimate in strategy.measures.items())
    return sorted(((int(match[1]), estimate) for match, estimate in matches if match), key=lambda point: point[0])


def _draw(axes: Axes, curve: Curve, name: str, place: int) -> None:
    shown = look(place)
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
    axes.set_xlabel("Tokens that may be read")
    axes.set_ylabel("Labelled text found (%)")


def _legend(figure: Figure, axes: Axes) -> None:
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)

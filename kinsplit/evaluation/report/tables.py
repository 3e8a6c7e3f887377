"""The tables of the report as rows of strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinsplit.evaluation.report.pairs import verdict
from kinsplit.evaluation.report.scales import Figure, Scale, figures, measure_names, p_value, scale
from kinsplit.evaluation.values import ResultValues, StrategyResult


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: Text; "" for no value.
        remark: Secondary text in small type.
        best: Whether no strategy has a better value.
        order: Sort key; None to sort by the text.
    """

    text: str
    remark: str = ""
    best: bool = False
    order: float | None = None


#: A cell without a value, which is sorted last.
_NOTHING = Cell("", order=-1e308)


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        name: Heading of the row.
        cells: Cells of the row.
    """

    name: str
    cells: Sequence[Cell]


def measures(results: ResultValues) -> tuple[list[Scale], list[Row]]:
    """Return the measures, and one row per strategy with a cell for each measure."""
    scales = [scale(results, name) for name in measure_names(results)]
    best = {measured.name: _best(results, measured) for measured in scales}
    return scales, [
        Row(
            strategy.label,
            [_cell(strategy, measured, best[measured.name]) for measured in scales],
        )
        for strategy in results.strategies
    ]


def _best(results: ResultValues, measured: Scale) -> float | None:
    """Return the best value of a measure; None if the display of all is equal."""
    found = [
        strategy.measures[measured.name].mean for strategy in results.strategies if measured.name in strategy.measures
    ]
    if len({measured.value(value) for value in found}) < 2:
        return None
    return max(found) if measured.higher_is_better else min(found)


def _cell(strategy: StrategyResult, measured: Scale, best: float | None) -> Cell:
    estimate = strategy.measures.get(measured.name)
    if estimate is None:
        return _NOTHING
    value = measured.value(estimate.mean)
    # Values with equal display are equally good.
    is_best = best is not None and value == measured.value(best)
    return Cell(value, measured.interval(estimate), is_best, estimate.mean)


def statistics(results: ResultValues) -> tuple[list[Figure], list[Row]]:
    """Return the statistics, and one row per strategy with a cell for each statistic."""
    written = figures(results)
    return written, [
        Row(
            strategy.label,
            [
                Cell(figure.value(strategy.statistics[figure.name]), order=strategy.statistics[figure.name])
                if figure.name in strategy.statistics
                else _NOTHING
                for figure in written
            ],
        )
        for strategy in results.strategies
    ]


def headline(results: ResultValues) -> tuple[list[Figure | Scale], list[Row]]:
    """Return the columns of the first table, headline measure and number of chunks, and one row per strategy."""
    scales, measured = measures(results)
    written, counted = statistics(results)
    chunks = [number for number, figure in enumerate(written) if figure.name == "chunks"]
    decisive = [number for number, each in enumerate(scales) if each.name == results.setting.headline]
    columns: list[Figure | Scale] = [*(scales[number] for number in decisive), *(written[number] for number in chunks)]
    return columns, [
        Row(own.name, [*(own.cells[number] for number in decisive), *(made.cells[number] for number in chunks)])
        for own, made in zip(measured, counted, strict=True)
    ]


_VERDICTS = {"better": "better", "worse": "worse", "like": "may be chance"}


def comparisons(results: ResultValues) -> tuple[list[str], list[Row]]:
    """Return the headings of the comparisons with the baseline, and one row for each comparison."""
    several = len({comparison.measure for comparison in results.comparisons}) > 1
    headings = [*(["Measure"] if several else []), "Difference", "p", "Verdict", "Better on", "Equal on", "Worse on"]
    rows = []
    for comparison in results.comparisons:
        measured = scale(results, comparison.measure)
        difference = comparison.difference
        change = " ".join(filter(None, (measured.difference(difference.mean), measured.difference_unit)))
        cells = [
            Cell(change, measured.interval(difference), order=difference.mean),
            Cell(p_value(comparison.p_value).removeprefix("p ").removeprefix("= "), order=comparison.p_value),
            Cell(_VERDICTS[verdict(comparison, measured)]),
            *(Cell(f"{n:,}", order=n) for n in (comparison.wins, comparison.ties, comparison.losses)),
        ]
        rows.append(Row(comparison.strategy, [Cell(comparison.measure), *cells] if several else cells))
    return headings, rows

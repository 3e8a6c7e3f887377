"""The tables of the report as rows of strings, with the number formats of measures and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kinsplit.evaluation.labels import AskedQuestion, Comparison, Estimate, QuestionResult, ResultValues, StrategyResult
from kinsplit.evaluation.significance import TIE

#: Measures whose lower values are better, for files without explanations.
_FALLING = frozenset({"seconds"})


@dataclass(frozen=True, slots=True)
class MeasureScale:
    """Number format of a measure."""

    name: str
    factor: float
    digits: int
    unit: str  # Displayed unit: "ms", "%", or "" for none.
    higher_is_better: bool
    description: str  # Meaning of the measure; "" if unknown.

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def note(self) -> str:
        """Unit and direction, for small type."""
        direction = f"{'higher' if self.higher_is_better else 'lower'} is better"
        return f"{self.unit}, {direction}" if self.unit else direction

    @property
    def difference_unit(self) -> str:
        """The unit of a difference: points for percentages."""
        return "points" if self.unit == "%" else self.unit

    def value(self, value: float) -> str:
        """Format a value without its unit."""
        return f"{value * self.factor:z,.{self.digits}f}"

    def interval(self, estimate: Estimate) -> str:
        """Format an interval."""
        return f"[{self.value(estimate.low)}, {self.value(estimate.high)}]"

    def difference(self, value: float) -> str:
        """Format a difference with its sign and without its unit."""
        written = self.value(value)
        return written if value <= 0 or float(written.replace(",", "")) == 0 else f"+{written}"

    def better(self, first: float, second: float) -> bool:
        """Return whether the first of two values is better."""
        return first > second if self.higher_is_better else first < second


def scale(results: ResultValues, measure: str) -> MeasureScale:
    """Return the number format of a measure: shares as percentages, seconds as milliseconds, others as they are."""
    note = next((note for note in results.notes if note.name == measure), None)
    higher_is_better = note.higher_is_better if note else measure not in _FALLING
    description = note.description if note else ""
    if measure == "seconds":
        return MeasureScale(measure, 1000, 2, "ms", higher_is_better, description)
    found = [strategy.measures[measure] for strategy in results.strategies if measure in strategy.measures]
    if all(estimate.low >= -1 and estimate.high <= 1 for estimate in found):
        return MeasureScale(measure, 100, 1, "%", higher_is_better, description)
    return MeasureScale(measure, 1, 2, "", higher_is_better, description)


def measure_names(results: ResultValues) -> list[str]:
    """Return the names of all measures, the headline first."""
    names = dict.fromkeys(name for strategy in results.strategies for name in strategy.measures)
    return sorted(names, key=lambda name: name != results.setting.headline)


@dataclass(frozen=True, slots=True)
class Figure:
    """Number format of a statistic."""

    name: str
    unit: str  # Displayed unit: "%", "times", or "" where it is part of the name.
    description: str  # Meaning of the statistic; "" if unknown.

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def note(self) -> str:
        """Unit, for small type."""
        return self.unit

    def value(self, value: float) -> str:
        """Format a value without its unit."""
        return f"{100 * value:.1f}" if self.unit == "%" else statistic(value)


def figures(results: ResultValues) -> list[Figure]:
    """Return the number formats of all statistics: shares as percentages, others as they are."""
    notes = {note.name: note for note in results.statistic_notes}
    found = []
    for name in dict.fromkeys(name for strategy in results.strategies for name in strategy.statistics):
        unit, description = (notes[name].unit, notes[name].description) if name in notes else ("", "")
        found.append(Figure(name, "%" if unit == "share" else "" if unit in name else unit, description))
    return found


def statistic(value: float) -> str:
    """Format a statistic: whole numbers as such, others with two decimals or, below 1, three significant digits."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3g}"


def p_value(value: float) -> str:
    """Format a p-value: `p = 0.004`, or `p < 0.001`."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


@dataclass(frozen=True, slots=True)
class Pair:
    """The results of a strategy and the baseline for one question."""

    question: AskedQuestion
    strategy: QuestionResult
    baseline: QuestionResult
    gain: float


@dataclass(frozen=True, slots=True)
class Duel:
    """The questions on which a strategy and the baseline differ."""

    strategy: str
    baseline: str
    won: Sequence[Pair]
    lost: Sequence[Pair]


def baseline_of(results: ResultValues) -> str:
    """Return the label of the baseline: that of the comparisons, or else the first strategy."""
    return results.comparisons[0].baseline if results.comparisons else results.strategies[0].label


def duel(results: ResultValues, strategy: str, measure: str) -> Duel:
    """Compare a strategy with the baseline, question by question; questions without a value are left out."""
    sign = 1 if scale(results, measure).higher_is_better else -1
    baseline = baseline_of(results)
    ours, theirs = _answers(results, strategy, measure), _answers(results, baseline, measure)
    pairs = [
        Pair(
            question,
            ours[question.id],
            theirs[question.id],
            sign * (ours[question.id].measures[measure] - theirs[question.id].measures[measure]),
        )
        for question in results.questions
        if question.id in ours and question.id in theirs
    ]
    won = sorted((pair for pair in pairs if pair.gain > TIE), key=lambda pair: -pair.gain)
    lost = sorted((pair for pair in pairs if pair.gain < -TIE), key=lambda pair: pair.gain)
    return Duel(strategy, baseline, won, lost)


def _answers(results: ResultValues, strategy: str, measure: str) -> Mapping[str, QuestionResult]:
    return {
        result.question_id: result
        for result in results.results
        if result.strategy == strategy and measure in result.measures
    }


#: P-value below which a difference is significant.
SIGNIFICANT = 0.05
_UNLABELLED = "No question is labelled, so nothing here shows which strategy finds more of the answers."


def conclusion(results: ResultValues) -> list[str]:
    """Return the conclusion by the headline measure, in sentences."""
    headline = results.setting.headline
    unlabelled = [] if any(question.labels for question in results.questions) else [_UNLABELLED]
    if not any(headline in strategy.measures for strategy in results.strategies):
        return unlabelled or [
            f"{headline} doesn't apply to any of these questions, so strategies can't be compared by it."
        ]
    return [*_compared(results, headline), *unlabelled]


def _compared(results: ResultValues, headline: str) -> list[str]:
    measured = scale(results, headline)
    compared = [comparison for comparison in results.comparisons if comparison.measure == headline]
    if not compared:
        (first, *_) = (strategy for strategy in results.strategies if headline in strategy.measures)
        estimate = first.measures[headline]
        value = f"{measured.value(estimate.mean)} {measured.unit} {measured.interval(estimate)}".replace("  ", " ")
        return [f"{first.label} has {headline} {value}, and there is nothing to compare it with."]
    better = [comparison for comparison in compared if verdict(comparison, measured) == "better"]
    worse = [comparison for comparison in compared if verdict(comparison, measured) == "worse"]
    baseline = compared[0].baseline
    if better:
        return [*_winners(better, measured), *_also("Worse than", baseline, worse)]
    nobody = f"No strategy is better than {baseline} beyond chance, by {headline}."
    return [nobody, *_also("Worse than", baseline, worse)]


def verdict(comparison: Comparison, measured: MeasureScale) -> str:
    """Return "better", "worse", or "like" if the difference may be chance."""
    mean = comparison.difference.mean
    if comparison.p_value >= SIGNIFICANT or mean == 0:
        return "like"
    return "better" if measured.better(mean, 0) else "worse"


def _winners(better: Sequence[Comparison], measured: MeasureScale) -> list[str]:
    sign = -1 if measured.higher_is_better else 1
    best, *others = sorted(better, key=lambda comparison: sign * comparison.difference.mean)
    verb = "finds more than" if measured.name.lower().startswith(("recall", "r@")) else "does better than"
    difference = best.difference
    change = " ".join(filter(None, (measured.difference(difference.mean), measured.difference_unit)))
    interval = measured.interval(difference)
    first = (
        f"{best.strategy} {verb} {best.baseline}: {measured.name} {change} {interval}, {p_value(best.p_value)}; "
        f"better on {best.wins:,} questions, equal on {best.ties:,}, worse on {best.losses:,}."
    )
    return [first, *_also("Also better than", best.baseline, others)]


def _also(how: str, baseline: str, comparisons: Sequence[Comparison]) -> list[str]:
    names = ", ".join(comparison.strategy for comparison in comparisons)
    return [f"{how} {baseline}: {names}."] if comparisons else []


class Cell(NamedTuple):
    """A cell of a table."""

    text: str  # Text; "" for no value.
    remark: str = ""
    best: bool = False
    order: float | None = None  # Sort key; None to sort by the text.


#: A cell without a value, which is sorted last.
_NOTHING = Cell("", order=-1e308)


class TableRow(NamedTuple):
    """A row of a table."""

    name: str
    cells: Sequence[Cell]


def measures(results: ResultValues) -> tuple[list[MeasureScale], list[TableRow]]:
    """Return the measures, and one row per strategy with a cell for each measure."""
    scales = [scale(results, name) for name in measure_names(results)]
    best = {measured.name: _best(results, measured) for measured in scales}
    return scales, [
        TableRow(strategy.label, [_cell(strategy, measured, best[measured.name]) for measured in scales])
        for strategy in results.strategies
    ]


def _best(results: ResultValues, measured: MeasureScale) -> float | None:
    """Return the best value of a measure; None if the display of all is equal."""
    found = [
        strategy.measures[measured.name].mean for strategy in results.strategies if measured.name in strategy.measures
    ]
    if len({measured.value(value) for value in found}) < 2:
        return None
    return max(found) if measured.higher_is_better else min(found)


def _cell(strategy: StrategyResult, measured: MeasureScale, best: float | None) -> Cell:
    estimate = strategy.measures.get(measured.name)
    if estimate is None:
        return _NOTHING
    value = measured.value(estimate.mean)
    # Values with equal display are equally good.
    is_best = best is not None and value == measured.value(best)
    return Cell(value, measured.interval(estimate), is_best, estimate.mean)


def statistics(results: ResultValues) -> tuple[list[Figure], list[TableRow]]:
    """Return the statistics, and one row per strategy with a cell for each statistic."""
    written = figures(results)
    return written, [
        TableRow(
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


def headline(results: ResultValues) -> tuple[list[Figure | MeasureScale], list[TableRow]]:
    """Return the columns of the first table, headline measure and number of chunks, and one row per strategy."""
    scales, measured = measures(results)
    written, counted = statistics(results)
    chunks = [number for number, figure in enumerate(written) if figure.name == "chunks"]
    decisive = [number for number, each in enumerate(scales) if each.name == results.setting.headline]
    columns: list[Figure | MeasureScale] = [
        *(scales[number] for number in decisive),
        *(written[number] for number in chunks),
    ]
    return columns, [
        TableRow(own.name, [*(own.cells[number] for number in decisive), *(made.cells[number] for number in chunks)])
        for own, made in zip(measured, counted, strict=True)
    ]


_VERDICTS = {"better": "better", "worse": "worse", "like": "may be chance"}


def comparisons(results: ResultValues) -> tuple[list[str], list[TableRow]]:
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
        rows.append(TableRow(comparison.strategy, [Cell(comparison.measure), *cells] if several else cells))
    return headings, rows

"""Number formats of measures and statistics."""

from __future__ import annotations

from dataclasses import dataclass

from kinsplit.evaluation.labels import Estimate, ResultValues

#: Measures whose lower values are better, for files without explanations.
_FALLING = frozenset({"seconds"})


@dataclass(frozen=True, slots=True)
class MeasureScale:
    """Number format of a measure.

    Attributes:
        unit: Displayed unit: "ms", "%", or "" for none.
        description: Meaning of the measure; "" if unknown.
    """

    name: str
    factor: float
    digits: int
    unit: str
    higher_is_better: bool
    description: str

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
    """Number format of a statistic.

    Attributes:
        unit: Displayed unit: "%", "times", or "" where it is part of the name.
        description: Meaning of the statistic; "" if unknown.
    """

    name: str
    unit: str
    description: str

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

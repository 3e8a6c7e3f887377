"""Tables of results, and examples: questions on which a strategy beats the baseline or loses to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kinsplit.errors import inline
from kinsplit.evaluation.labels import (
    AVOIDABLE,
    CUTS,
    AskedQuestion,
    Comparison,
    Estimate,
    QuestionResult,
    RetrievedChunk,
    SourceText,
    StatisticNote,
    StrategyResult,
)
from kinsplit.evaluation.significance import SIGNIFICANT, TIE
from kinsplit.spans import Span, stretches

if TYPE_CHECKING:
    from kinsplit.evaluation.results import Results


@dataclass(frozen=True, slots=True)
class Figure:
    """Number format of a statistic."""

    name: str
    unit: str  # Displayed unit: "%", "times", "ms", or "" where it is part of the name or there is none.
    description: str  # Meaning; "" if unknown.

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def note(self) -> str:
        """Text below the name in small type: the unit."""
        return self.unit

    def value(self, value: float) -> str:
        """Format a value without its unit."""
        return f"{100 * value:.1f}" if self.unit == "%" else statistic(value)


@dataclass(frozen=True, slots=True)
class MeasureScale(Figure):
    """Number format of a measure."""

    factor: float
    digits: int
    higher_is_better: bool

    @property
    def note(self) -> str:
        """Text below the name in small type: unit and direction."""
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

    def measured(self, value: float) -> str:
        """Format a value with its unit."""
        return f"{self.value(value)} {self.unit}".rstrip()

    def difference(self, value: float) -> str:
        """Format a difference with its sign and unit."""
        written = self.value(value)
        sign = "" if value <= 0 or float(written.replace(",", "")) == 0 else "+"
        return f"{sign}{written} {self.difference_unit}".rstrip()


def scale(results: Results, measure: str) -> MeasureScale:
    """Return the number format of a measure: shares as percentages, seconds as milliseconds, others as they are."""
    note = next((note for note in results.notes if note.name == measure), None)
    rises, description = (note.higher_is_better, note.description) if note else (measure != "seconds", "")
    found = [strategy.measures[measure] for strategy in results.strategies if measure in strategy.measures]
    factor, digits, unit = 1, 2, ""
    if measure == "seconds":
        factor, digits, unit = 1000, 2, "ms"
    elif all(estimate.low >= -1 and estimate.high <= 1 for estimate in found):
        factor, digits, unit = 100, 1, "%"
    return MeasureScale(measure, unit, description, factor, digits, rises)


def measure_names(results: Results) -> list[str]:
    """Return the names of all measures, the headline first."""
    names = dict.fromkeys(name for strategy in results.strategies for name in strategy.measures)
    return sorted(names, key=lambda name: name != results.setting.headline)


class Profiled(Protocol):
    """Results with the statistics of strategies."""

    @property
    def strategies(self) -> Sequence[StrategyResult]: ...  # noqa: D102

    @property
    def statistic_notes(self) -> Sequence[StatisticNote]: ...  # noqa: D102


def figures(results: Profiled) -> list[Figure]:
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


class Pair(NamedTuple):
    """The results of a strategy and the baseline for one question."""

    question: AskedQuestion
    strategy: QuestionResult
    baseline: QuestionResult
    gain: float


class Duel(NamedTuple):
    """The questions on which a strategy and the baseline differ."""

    strategy: str
    baseline: str
    won: Sequence[Pair]
    lost: Sequence[Pair]


def baseline_of(results: Results) -> str:
    """Return the label of the baseline: that of the comparisons, or else the first strategy."""
    return results.comparisons[0].baseline if results.comparisons else results.strategies[0].label


def duel(results: Results, strategy: str, measure: str) -> Duel:
    """Compare a strategy with the baseline, question by question; questions without a value are left out."""
    sign = 1 if scale(results, measure).higher_is_better else -1
    baseline = baseline_of(results)
    ours, theirs = _answers(results, strategy, measure), _answers(results, baseline, measure)
    both = [(q, ours[q.id], theirs[q.id]) for q in results.questions if q.id in ours and q.id in theirs]
    pairs = [Pair(q, own, other, sign * (own.measures[measure] - other.measures[measure])) for q, own, other in both]
    won = sorted((pair for pair in pairs if pair.gain > TIE), key=lambda pair: -pair.gain)
    lost = sorted((pair for pair in pairs if pair.gain < -TIE), key=lambda pair: pair.gain)
    return Duel(strategy, baseline, won, lost)


def _answers(results: Results, strategy: str, measure: str) -> Mapping[str, QuestionResult]:
    return {r.question_id: r for r in results.results if r.strategy == strategy and measure in r.measures}


_UNLABELLED = "No question is labelled, so nothing here shows which strategy finds more of the answers."


def conclusion(results: Results) -> list[str]:
    """Return the conclusion by the headline measure, in sentences."""
    headline = results.setting.headline
    unlabelled = [] if any(question.labels for question in results.questions) else [_UNLABELLED]
    if not any(headline in strategy.measures for strategy in results.strategies):
        return unlabelled or [
            f"{headline} doesn't apply to any of these questions, so strategies can't be compared by it."
        ]
    return [*_compared(results, headline), *unlabelled]


def _compared(results: Results, headline: str) -> list[str]:
    measured, compared = scale(results, headline), results.comparisons
    if not compared:
        (first, *_) = (strategy for strategy in results.strategies if headline in strategy.measures)
        estimate = first.measures[headline]
        value = f"{measured.measured(estimate.mean)} {measured.interval(estimate)}"
        return [f"{first.label} has {headline} {value}, and there is nothing to compare it with."]
    better, worse = ([each for each in compared if verdict(each, measured) == how] for how in ("better", "worse"))
    baseline = baseline_of(results)
    nobody = f"No strategy is better than {baseline} beyond chance, by {headline}."
    return [*(_winners(better, measured) if better else [nobody]), *_also("Worse than", baseline, worse)]


def verdict(comparison: Comparison, measured: MeasureScale) -> str:
    """Return "better", "worse", or "like" if the difference may be chance."""
    mean = comparison.difference.mean
    if comparison.p_value >= SIGNIFICANT or mean == 0:
        return "like"
    return "better" if (mean > 0) == measured.higher_is_better else "worse"


def _winners(better: Sequence[Comparison], measured: MeasureScale) -> list[str]:
    sign = -1 if measured.higher_is_better else 1
    best, *others = sorted(better, key=lambda comparison: sign * comparison.difference.mean)
    verb = "finds more than" if measured.name.lower().startswith(("recall", "r@")) else "does better than"
    change = f"{measured.difference(best.difference.mean)} {measured.interval(best.difference)}"
    first = (
        f"{best.strategy} {verb} {best.baseline}: {measured.name} {change}, {p_value(best.p_value)}; "
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


def measures(results: Results, names: Sequence[str] | None = None) -> tuple[list[MeasureScale], list[TableRow]]:
    """Return some measures, or all, and one row per strategy with a cell for each measure."""
    scales = [scale(results, name) for name in measure_names(results) if names is None or name in names]
    best = [(measured, _best(results, measured)) for measured in scales]
    return scales, [TableRow(own.label, [_cell(own, *each) for each in best]) for own in results.strategies]


def _best(results: Results, measured: MeasureScale) -> float | None:
    """Return the best value of a measure; None if the display of all is equal."""
    found = [own.measures[measured.name].mean for own in results.strategies if measured.name in own.measures]
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


def statistics(results: Profiled, names: Sequence[str] | None = None) -> tuple[list[Figure], list[TableRow]]:
    """Return some statistics, or all but those of cuts, and one row per strategy with a cell for each statistic."""
    left_out = {note.name for note in results.statistic_notes if note.unit == CUTS}
    written = [f for f in figures(results) if (f.name not in left_out if names is None else f.name in names)]

    def cell(figure: Figure, value: float | None) -> Cell:
        return _NOTHING if value is None else Cell(figure.value(value), order=value)

    rows = [TableRow(own.label, [cell(f, own.statistics.get(f.name)) for f in written]) for own in results.strategies]
    return written, rows


def cuts(results: Profiled) -> tuple[list[Figure], list[TableRow]]:
    """Return the statistics of cuts, and one row per strategy with a cell for each.

    A cell of cuts inside something whole has those that can be avoided, and the number of all as its remark.
    """
    names = {note.name for note in results.statistic_notes if note.unit == CUTS}
    written = [Figure(f.name, "", f.description) for f in figures(results) if f.name in names]
    written = [figure for figure in written if not figure.name.endswith(AVOIDABLE)]

    def cell(figure: Figure, own: Mapping[str, float]) -> Cell:
        value, avoidable = own.get(figure.name), own.get(f"{figure.name}{AVOIDABLE}")
        if value is None or avoidable is None:
            return _NOTHING if value is None else Cell(figure.value(value), order=value)
        return Cell(figure.value(avoidable), f"of {figure.value(value)}" if value else "", order=avoidable)

    return written, [TableRow(own.label, [cell(f, own.statistics) for f in written]) for own in results.strategies]


def headline(results: Results) -> tuple[list[Figure], list[TableRow]]:
    """Return the columns of the first table, headline measure and number of chunks, and one row per strategy."""
    scales, measured = measures(results, [results.setting.headline])
    written, counted = statistics(results, ["chunks"])
    rows = [TableRow(own.name, [*own.cells, *made.cells]) for own, made in zip(measured, counted, strict=True)]
    return [*scales, *written], rows


_VERDICTS = {"better": "better", "worse": "worse", "like": "may be chance"}


#: Headings of `comparisons`.
COMPARED = ("Difference", "p", "Verdict", "Better on", "Equal on", "Worse on")


def comparisons(results: Results) -> list[TableRow]:
    """Return one row for each comparison with the baseline."""
    measured, rows = scale(results, results.setting.headline), []
    for each in results.comparisons:
        mean = each.difference.mean
        cells = [
            Cell(measured.difference(mean), measured.interval(each.difference), order=mean),
            Cell(p_value(each.p_value).removeprefix("p ").removeprefix("= "), order=each.p_value),
            Cell(_VERDICTS[verdict(each, measured)]),
            *(Cell(f"{n:,}", order=n) for n in (each.wins, each.ties, each.losses)),
        ]
        rows.append(TableRow(each.strategy, cells))
    return rows


class ExamplePiece(NamedTuple):
    """A part of a retrieved text."""

    text: str
    marked: bool


def pieces(hit: RetrievedChunk, question: AskedQuestion) -> list[ExamplePiece]:
    """Split the text of a hit where labelled text begins and ends.

    No piece is marked if the text and its spans differ in length, since the offsets are then unknown.
    """
    inside = [False] * len(hit.text)
    for start, end in _labelled(hit, question):
        inside[start:end] = [True] * (end - start)
    runs = groupby(zip(hit.text, inside, strict=True), key=itemgetter(1))
    return [ExamplePiece("".join(character for character, _ in run), marked) for marked, run in runs]


def _labelled(hit: RetrievedChunk, question: AskedQuestion) -> Iterator[tuple[int, int]]:
    """Yield the labelled ranges of the hit's text, which may overlap."""
    texts = (text for label in question.labels for text in label if text.source_id == hit.source_id)
    wanted = [span for text in texts for span in text.spans]
    for at, (start, end) in stretches([Span(*span) for span in hit.spans], hit.text) or ():
        for first, last in wanted:
            low, high = max(start, first), min(end, last)
            if low < high:
                yield low - start + at, high - start + at


#: Maximum length of unmarked text in characters, and the length shown at either end of a longer one.
_LONGEST, _KEPT = 600, 240


def duels(results: Results) -> list[Duel]:
    """Return the questions on which each strategy but the baseline differs from it, best strategy first."""
    headline, baseline = results.setting.headline, baseline_of(results)
    sign = -1 if scale(results, headline).higher_is_better else 1
    judged = [s for s in results.strategies if s.label != baseline and headline in s.measures]
    judged.sort(key=lambda strategy: sign * strategy.measures[headline].mean)
    found = [duel(results, strategy.label, headline) for strategy in judged]
    return [each for each in found if each.won or each.lost]


def place(text: SourceText) -> str:
    """Format the place of a text: its document and its offsets."""
    return " ".join([inline(text.source_id), ", ".join(f"{start:,}-{end:,}" for start, end in text.spans)]).rstrip()


def shortened(text: str) -> str:
    """Replace the middle of a long text by its length."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_KEPT]} […{len(text) - 2 * _KEPT:,} characters…] {text[-_KEPT:]}"

"""Results and plans of evaluations, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.table import Table
from rich.text import Text

from kinsplit.cli.output.tables import blocks, counted, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import inline, visible
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from kinsplit.evaluation.experiment.strategy_run import StrategyPlan
    from kinsplit.evaluation.labels import QuestionResult, StatisticNote, StrategyResult
    from kinsplit.evaluation.report.tables import Cell, Duel, Figure, Pair, Profiled, TableRow
    from kinsplit.evaluation.results import Results

#: Hits of each strategy for one question, and lines of each hit.
_HITS, _LINES = 3, 5


def show_tables(terminal: Terminal, results: Results) -> None:
    """Write the tables of measures, chunk statistics and comparisons."""
    from kinsplit.evaluation.report import tables

    _show_table(terminal, "Measures, with 95 % intervals; * marks the best mean", *tables.measures(results))
    show_statistics(terminal, results)
    _show_comparisons(terminal, results)


def show_statistics(terminal: Terminal, results: Profiled, names: Sequence[str] | None = None) -> None:
    """Write the tables of chunk statistics, or of some, and of cuts."""
    from kinsplit.evaluation.report import tables

    _show_table(terminal, "Chunks", *tables.statistics(results, names))
    _show_table(terminal, "Cuts that could be avoided, of all", *tables.cuts(results))


class Profiles(NamedTuple):
    """Strategies with their statistics alone."""

    strategies: Sequence[StrategyResult]
    statistic_notes: Sequence[StatisticNote] = ()


# Columns of a histogram in the terminal, and the heights of a column.
_BINS, _BARS = 40, " ▁▂▃▄▅▆▇█"


def sizes(strategies: Sequence[StrategyResult]) -> dict[str, dict[str, Any]]:
    """Return for each strategy the number of its chunks and documents, and the chunks' lengths in characters.

    `histogram` counts the chunks between the `edges`, which all strategies share.
    """
    import numpy as np

    from kinsplit.evaluation.statistics import histogram_edges

    edges, _ = histogram_edges([length for each in strategies for length in each.lengths], _BINS)
    return {
        each.label: {
            "chunks": len(each.lengths),
            "documents": sum(count > 0 for count in each.chunks_per_document.values()),
            "average": sum(each.lengths) / len(each.lengths) if each.lengths else None,
            "min": min(each.lengths, default=None),
            "max": max(each.lengths, default=None),
            "histogram": np.histogram(each.lengths, edges)[0].tolist(),
            "edges": [round(edge, 1) for edge in edges.tolist()],
        }
        for each in strategies
    }


def show_sizes(terminal: Terminal, strategies: Sequence[StrategyResult]) -> None:
    """Write a table of the chunks' lengths, and a histogram of those of each strategy on the same axis."""
    found = sizes(strategies)
    headings = ("Strategy", "Chunks", "Documents", "Average", "Min", "Max")
    table = text_table(*headings, right=slice(1, None))
    for label, own in found.items():
        numbers = (own[name.lower()] for name in headings[1:])
        table.add_row(inline(label), *("-" if number is None else f"{number:,.0f}" for number in numbers))
    terminal.line(Text("Chunk sizes in characters", "bold"))
    terminal.table(table)
    for label, own in found.items():
        most = max(own["histogram"]) or 1
        # A column with any chunk is seen.
        bars = "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in own["histogram"])
        terminal.line("")
        terminal.line(Text(inline(label), "cyan"))
        terminal.line(f"|{bars}|")
        left, right = (f"{edge:,.0f}" for edge in (own["edges"][0], own["edges"][-1]))
        terminal.line(f" {left}{right:>{_BINS - len(left)}}")


def save_plots(terminal: Terminal, strategies: Sequence[StrategyResult], folder: Path | None) -> None:
    """Write the plots of the chunks' sizes as PNG files, if a folder is given."""
    if folder is None:
        return
    with needs("evaluation"):
        from kinsplit.evaluation.report.charts import write_sizes
    for path in write_sizes(Profiles(strategies), folder):
        if not terminal.as_json:
            terminal.line(f"Wrote {path}.")


def show_headline(terminal: Terminal, results: Results) -> None:
    """Write the conclusion, the table of the deciding measure, and the comparisons."""
    from kinsplit.evaluation.report import tables

    for sentence in tables.conclusion(results):
        terminal.line(sentence)
    _show_table(terminal, "With 95 % intervals; * marks the best mean", *tables.headline(results))
    _show_comparisons(terminal, results)


def _show_comparisons(terminal: Terminal, results: Results) -> None:
    from kinsplit.evaluation.report import tables

    if results.comparisons:
        title = f"Compared with {tables.baseline_of(results)}, question by question"
        show_table(terminal, title, tables.COMPARED, tables.comparisons(results))


def _show_table(terminal: Terminal, title: str, columns: Sequence[Figure], rows: Sequence[TableRow]) -> None:
    show_table(terminal, title, [column.heading for column in columns], rows)


def show_table(terminal: Terminal, title: str, headings: Sequence[str], rows: Sequence[TableRow]) -> None:
    """Write a table with a title, if it has any columns."""
    if not headings:
        return
    terminal.line("")
    terminal.line(Text(inline(title), "bold"))
    texts = [[Text(inline(row.name)), *map(_cell, row.cells)] for row in rows]
    for number, table in enumerate(blocks(["Strategy", *headings], texts, terminal.out.width)):
        if number:
            terminal.line("")
        terminal.table(table)


def _cell(cell: Cell) -> Text:
    star = "*" if cell.best else ""
    remark = f" {cell.remark}" if cell.remark else ""
    return Text(inline(f"{cell.text}{star}{remark}") or "-", "bold" if cell.best else "")


def show_questions(terminal: Terminal, duel: Duel, measure: str, most: int) -> None:
    """Write at most so many questions each that a strategy won and lost, the clearest first, with the chunks."""
    for how, pairs in (("better", duel.won), ("worse", duel.lost)):
        terminal.line("")
        title = f"{duel.strategy} is {how} than {duel.baseline} on {counted(len(pairs), 'question')}, by {measure}"
        terminal.line(Text(inline(title), "bold"))
        for pair in pairs[:most]:
            _question(terminal, pair, measure)


def _question(terminal: Terminal, pair: Pair, measure: str) -> None:
    terminal.line("")
    terminal.line(Text.assemble((inline(pair.question.id), "cyan"), " ", inline(pair.question.text)))
    for result in (pair.strategy, pair.baseline):
        terminal.line(f"  {result.strategy}: {measure} {result.measures[measure]:.3f}")
        for line in _hits(pair, result):
            terminal.quote(line, _LINES)


def _hits(pair: Pair, result: QuestionResult) -> Iterator[Text]:
    from kinsplit.evaluation.report.tables import pieces, place

    for rank, hit in enumerate(result.hits[:_HITS], 1):
        yield Text(inline(f"{rank}. {place(hit)}"), "dim")
        found = pieces(hit, pair.question)
        first = next((n for n, piece in enumerate(found) if piece.marked), None)
        if first is not None:
            before = found[first - 1].text[-80:] if first else ""
            styled = [(visible(piece.text), "bold yellow" if piece.marked else "") for piece in found[first:]]
            yield Text.assemble(visible(before), *styled)


def to_dict(results: Results, conclusion: Sequence[str]) -> dict[str, Any]:
    """Return results for `--json`, without texts and without the lengths of single chunks."""
    strategies = {"__all__": {"label", "spec", "measures", "statistics"}}
    shown: dict[str, Any] = {"setting": True, "strategies": strategies, "comparisons": True, "warnings": True}
    return {"conclusion": list(conclusion), **results.model_dump(mode="json", include=shown)}


def questions_to_dict(duel: Duel, measure: str, most: int) -> dict[str, Any]:
    """Return the questions won and lost for `--json`."""

    def described(pair: Pair) -> dict[str, Any]:
        sides = {duel.strategy: pair.strategy, duel.baseline: pair.baseline}
        return {
            "question": pair.question.model_dump(mode="json"),
            **{label: side.model_dump(mode="json", include={"measures", "hits"}) for label, side in sides.items()},
        }

    return {
        "measure": measure,
        "strategy": duel.strategy,
        "baseline": duel.baseline,
        "won_count": len(duel.won),
        "lost_count": len(duel.lost),
        "won": [described(pair) for pair in duel.won[:most]],
        "lost": [described(pair) for pair in duel.lost[:most]],
    }


def plan_table(plans: Sequence[StrategyPlan]) -> Table:
    """Return a table of the work to be done for each strategy."""
    headings = "Strategy", "Chunks", "Tokens to embed", "Vectors cached", "Questions answered", "Model"
    table = text_table(*headings, right=slice(1, 5))
    for plan in plans:
        calls = f"{counted(plan.cost.calls, 'call')}, {counted(plan.cost.tokens, 'token')}" if plan.cost.calls else ""
        unknown = "" if plan.chunks is not None or calls else "embeds sentences or passages to split"
        table.add_row(
            inline(plan.label),
            _number(plan.chunks),
            _number(plan.tokens),
            "?" if plan.kept is None else f"{plan.kept:,} of {plan.texts:,}",
            f"{plan.answered:,} of {plan.questions:,}",
            calls or unknown,
        )
    return table


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def plan_to_dict(plan: StrategyPlan) -> dict[str, Any]:
    """Return a plan for `--json`."""
    return {**asdict(plan), "cost": {**asdict(plan.cost), "tokens": plan.cost.tokens}}

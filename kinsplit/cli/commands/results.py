"""`kinsplit show` and `kinsplit report`: results of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinsplit.cli.output.evaluation import questions_to_dict, show_questions, show_table, show_tables, to_dict
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError, require

if TYPE_CHECKING:
    from kinsplit.evaluation.report.tables import Duel
    from kinsplit.evaluation.results import Results


def show(
    results: Path,
    strategy: str | None = None,
    measure: str | None = None,
    questions: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show N questions each that the strategy won and lost.")
    ] = 0,
    *,
    terminal: Terminal,
) -> None:
    """Show which strategy is better, with confidence intervals, and individual questions.

    Args:
        results (RESULTS): Results file of `kinsplit evaluate`.
        strategy (NAME): Show only this strategy and the baseline.
        measure (NAME): Show only this measure, and use it for --questions.
    """
    from kinsplit.evaluation.report.tables import conclusion
    from kinsplit.evaluation.results import Results, read_summary

    old = read_summary(results)
    if old is not None:
        _show_rag_eval(terminal, old, strategy, measure, questions)
        return
    found = Results.read(results)
    concluded = conclusion(found)
    duel = _duel(found, strategy, measure) if questions else None
    found = _select(found, strategy, measure)
    by = measure or found.setting.headline
    if terminal.as_json:
        selected = {} if duel is None else {"questions": questions_to_dict(duel, by, questions)}
        terminal.document({**to_dict(found, concluded), **selected})
        return
    setting = found.setting
    counts = f"{counted(setting.documents, 'document')}, {counted(setting.questions, 'question')}"
    terminal.line(f"{setting.dataset}: {counts}, {setting.ranker} ranking by {setting.embedder}")
    for sentence in concluded:
        terminal.line(sentence)
    show_tables(terminal, found)
    if duel is not None:
        show_questions(terminal, duel, by, questions)
    for warning in found.warnings:
        terminal.warning(warning)


def _duel(results: Results, strategy: str | None, measure: str | None) -> Duel:
    from kinsplit.evaluation.report.tables import baseline_of, duel, measure_names, scale

    by = measure or results.setting.headline
    _check_known("--measure", by, measure_names(results))
    baseline = baseline_of(results)
    others = [each for each in results.strategies if each.label != baseline and by in each.measures]
    if strategy is None:
        remedy = "Evaluate at least two."
        require(others, "--questions", "needs two strategies", results.setting.dataset, remedy)
        sign = 1 if scale(results, by).higher_is_better else -1
        strategy = max(others, key=lambda each: sign * each.measures[by].mean).label
    _check_known("--strategy", strategy, [each.label for each in others])
    return duel(results, strategy, by)


def _select(results: Results, strategy: str | None, measure: str | None) -> Results:
    """Return the results of one strategy and the baseline, by one measure."""
    from kinsplit.evaluation.report.tables import baseline_of, measure_names

    strategies, comparisons = results.strategies, results.comparisons
    if strategy is not None:
        _check_known("--strategy", strategy, [each.label for each in strategies])
        kept = {strategy, baseline_of(results)}
        strategies = [each for each in strategies if each.label in kept]
        comparisons = [each for each in comparisons if each.strategy in kept]
    if measure is not None:
        _check_known("--measure", measure, measure_names(results))
        strategies = [
            each.model_copy(update={"measures": {measure: each.measures[measure]} if measure in each.measures else {}})
            for each in strategies
        ]
        comparisons = [each for each in comparisons if each.measure == measure]
    return results.model_copy(update={"strategies": strategies, "comparisons": comparisons})


def _check_known(option: str, name: str, names: Sequence[str]) -> None:
    require(name in names, option, f"must be one of {', '.join(names)}", name, "Use one of them.")


def _show_rag_eval(
    terminal: Terminal,
    summary: Mapping[str, Mapping[str, float]],
    strategy: str | None,
    measure: str | None,
    questions: int,
) -> None:
    from kinsplit.evaluation.report.tables import Cell, TableRow, statistic

    if questions or measure is not None:
        rule = "needs a file written by `kinsplit evaluate`, not by rag_eval"
        option = "--questions" if questions else "--measure"
        raise InvalidParameterError(option, rule, questions or measure, "Run kinsplit evaluate.")
    if strategy is not None:
        _check_known("--strategy", strategy, list(summary))
        summary = {strategy: summary[strategy]}
    if terminal.as_json:
        terminal.document({"strategies": [{"label": label, "measures": means} for label, means in summary.items()]})
        return
    names = list(dict.fromkeys(name for means in summary.values() for name in means))
    rows = [
        TableRow(label, [Cell(statistic(means[name]) if name in means else "") for name in names])
        for label, means in summary.items()
    ]
    terminal.line("This file is from rag_eval: it has no intervals, so differences may be due to chance.")
    show_table(terminal, "Means", names, rows)


def report(results: Path, html: Path = Path("report.html"), *, terminal: Terminal) -> None:
    """Write the results as one self-contained HTML page.

    Args:
        results (RESULTS): Results file of `kinsplit evaluate`.
        html (FILE): HTML file; two plots of the chunks are written next to it.
    """
    from kinsplit.evaluation.report import write_report
    from kinsplit.evaluation.results import Results

    written = write_report(Results.read(results), html)
    terminal.outcome({"files": [str(path) for path in written]}, *(f"Wrote {path}" for path in written))

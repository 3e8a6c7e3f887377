"""Results of an evaluation, their file, and their view in a notebook.

The file extends that of `rag_eval`: `summary` by strategy and `results` by question, with its names for its three
measures, and everything else under `kinsplit`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation import labels
from kinsplit.evaluation.measures.registry import RAG_EVAL

if TYPE_CHECKING:
    from kinsplit.evaluation.report.tables import Cell, TableRow


class Results(labels.Frozen):
    """Results of an evaluation. A notebook shows the conclusion and the tables.

    Attributes:
        setting: Settings that all strategies share.
        strategies: Results of each strategy, in the given order.
        questions: The questions.
        results: Retrieval of each strategy for each question.
        comparisons: labels.Comparison of each other strategy with the baseline.
        warnings: Reasons for caution.
        notes: Explanations of the measures.
        statistic_notes: Explanations of the statistics.
    """

    setting: labels.SharedSettings
    strategies: Sequence[labels.StrategyResult]
    questions: Sequence[labels.AskedQuestion]
    results: Sequence[labels.QuestionResult]
    comparisons: Sequence[labels.Comparison]
    warnings: Sequence[str] = ()
    notes: Sequence[labels.MeasureNote] = ()
    statistic_notes: Sequence[labels.StatisticNote] = ()

    def _repr_html_(self) -> str:
        from kinsplit.evaluation.report import tables
        from kinsplit.markup.html import details, escaped, output

        columns, decisive = tables.headline(self)
        scales, measured = tables.measures(self)
        figures, counted = tables.statistics(self)
        cuts, torn = tables.cuts(self)
        more = [
            ("Compared with the baseline, question by question", tables.COMPARED, tables.comparisons(self)),
            ("All measures, with 95 % intervals", [scale.heading for scale in scales], measured),
            ("Chunks", [figure.heading for figure in figures], counted),
            ("Cuts", [cut.heading for cut in cuts], torn),
        ]
        warnings = "".join(f"<p>{escaped(warning)}</p>" for warning in self.warnings)
        return output(
            *(f"<p><b>{escaped(sentence)}</b></p>" for sentence in tables.conclusion(self)),
            _table([column.heading for column in columns], decisive),
            *(details(title, _table(names, rows)) for title, names, rows in more if names and rows),
            *([details(f"Warnings: {len(self.warnings)}", warnings)] if warnings else []),
        )

    def write(self, path: Path) -> None:
        """Write the results to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n"
        # A lone surrogate, which UTF-8 can't encode, is written as a JSON escape.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file: `summary` and `results` as in `rag_eval`, and `kinsplit` with everything.

        Figures of `rag_eval` are included if the experiment has their measures.
        """
        texts = {question.id: question.text for question in self.questions}
        return {
            "summary": {strategy.label: self._summary(strategy) for strategy in self.strategies},
            "results": [
                {
                    "query": texts[result.question_id],
                    "strategy": result.strategy,
                    **_renamed(result.measures),
                    "retrieved_chunks": [hit.text for hit in result.hits],
                }
                for result in self.results
            ],
            "kinsplit": self.model_dump(mode="json"),
        }

    def _summary(self, strategy: labels.StrategyResult) -> dict[str, float | int | None]:
        means = {name: estimate.mean for name, estimate in strategy.measures.items()}
        count = sum(result.strategy == strategy.label for result in self.results)
        return {**_renamed(means, "avg_"), "count": count, **means}

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the results of an evaluation.

        Raises:
            InvalidParameterError: The file is not a results file.
        """
        rule = "must be a file that `kinsplit evaluate` wrote"
        try:
            return cls.model_validate(json.loads(path.read_text(encoding="utf-8"))["kinsplit"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:  # pydantic's is a ValueError
            raise InvalidParameterError("results", rule, str(path), "Evaluate again.") from error


def _table(headings: Sequence[str], rows: Sequence[TableRow]) -> str:
    from kinsplit.markup.html import table

    def text(cell: Cell) -> str:
        return f"{cell.text or '–'}{' ★' if cell.best else ''} {cell.remark}".rstrip()

    return table(["Strategy", *headings], ([row.name, *map(text, row.cells)] for row in rows))


def _renamed(values: Mapping[str, float], prefix: str = "") -> dict[str, float]:
    """Return the values of the measures that `rag_eval` has, under its names with a prefix."""
    return {f"{prefix}{theirs}": values[ours] for theirs, ours in RAG_EVAL.items() if ours in values}


def read_summary(path: Path) -> Mapping[str, Mapping[str, float]] | None:
    """Read the summary of a result file that `rag_eval` wrote.

    Args:
        path: Path of the file.

    Returns:
        Means of each strategy under kinsplit's names, with the number of `questions`; None for any other file.

    Raises:
        OSError: The file can't be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    summary = content.get("summary") if isinstance(content, dict) and "kinsplit" not in content else None
    if not isinstance(summary, dict) or not all(isinstance(means, dict) for means in summary.values()):
        return None
    return {str(strategy): _means(values) for strategy, values in summary.items()}


def _means(values: Mapping[str, object]) -> Mapping[str, float]:
    names = {"count": "questions"} | {f"avg_{theirs}": ours for theirs, ours in RAG_EVAL.items()}
    return {names.get(name, name): value for name, value in values.items() if isinstance(value, int | float)}

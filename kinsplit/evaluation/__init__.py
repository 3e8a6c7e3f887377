"""Evaluation of splitting strategies on labelled questions.

The public names are imported at their first use, so that importing the package stays light. docs/evaluation-api.md has
an example of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinsplit.evaluation.datasets import load as load_dataset
    from kinsplit.evaluation.datasets import names as dataset_formats
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.evaluation.experiment.rankers import names as ranker_names
    from kinsplit.evaluation.labels import Dataset, Label, Place, Question
    from kinsplit.evaluation.measures.registry import create as create_measure
    from kinsplit.evaluation.measures.registry import names as measure_names
    from kinsplit.evaluation.qrels.alignment import SpanRule
    from kinsplit.evaluation.questions import Filters, make_questions
    from kinsplit.evaluation.report import write_report
    from kinsplit.evaluation.results import Results
    from kinsplit.evaluation.splitters import as_strategy
    from kinsplit.evaluation.splitters import from_spec as strategy_from_spec
    from kinsplit.evaluation.tuning import Caps, TuningLimits, tune

__all__ = [
    "Caps",
    "Dataset",
    "Experiment",
    "Filters",
    "Label",
    "Place",
    "Question",
    "Results",
    "SpanRule",
    "TuningLimits",
    "as_strategy",
    "create_measure",
    "dataset_formats",
    "load_dataset",
    "make_questions",
    "measure_names",
    "ranker_names",
    "strategy_from_spec",
    "tune",
    "write_report",
]

# Module below this package, and name there.
_HOME = {
    "Caps": ("tuning", "Caps"),
    "Dataset": ("labels", "Dataset"),
    "Experiment": ("experiment.experiment", "Experiment"),
    "Filters": ("questions", "Filters"),
    "Label": ("labels", "Label"),
    "TuningLimits": ("tuning", "TuningLimits"),
    "Place": ("labels", "Place"),
    "Question": ("labels", "Question"),
    "Results": ("results", "Results"),
    "SpanRule": ("qrels.alignment", "SpanRule"),
    "as_strategy": ("splitters", "as_strategy"),
    "create_measure": ("measures.registry", "create"),
    "dataset_formats": ("datasets", "names"),
    "load_dataset": ("datasets", "load"),
    "make_questions": ("questions", "make_questions"),
    "measure_names": ("measures.registry", "names"),
    "ranker_names": ("experiment.rankers", "names"),
    "strategy_from_spec": ("splitters", "from_spec"),
    "tune": ("tuning", "tune"),
    "write_report": ("report", "write_report"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kinsplit.evaluation' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)

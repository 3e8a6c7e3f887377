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
    from kinsplit.evaluation.questions import Filters, make_questions
    from kinsplit.evaluation.report import write_report
    from kinsplit.evaluation.results import Results
    from kinsplit.evaluation.splitters.specs import as_strategy
    from kinsplit.evaluation.splitters.specs import from_spec as strategy_from_spec
    from kinsplit.evaluation.tuning import Caps, TuningLimits
    from kinsplit.evaluation.tuning.tune import tune
    from kinsplit.options import SpanRule

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

# Names in each module below this package, and names that differ there.
_MODULES = {
    "datasets": ["load_dataset", "dataset_formats"],
    "experiment.experiment": ["Experiment"],
    "experiment.rankers": ["ranker_names"],
    "labels": ["Dataset", "Label", "Place", "Question"],
    "measures.registry": ["create_measure", "measure_names"],
    "qrels": ["SpanRule"],
    "questions": ["Filters", "make_questions"],
    "report": ["write_report"],
    "results": ["Results"],
    "splitters.specs": ["as_strategy", "strategy_from_spec"],
    "tuning": ["Caps", "TuningLimits", "tune"],
}
_OTHER = {
    "load_dataset": "load",
    "dataset_formats": "names",
    "ranker_names": "names",
    "measure_names": "names",
    "create_measure": "create",
    "strategy_from_spec": "from_spec",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), _OTHER.get(name, name))
    raise AttributeError(f"module 'kinsplit.evaluation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

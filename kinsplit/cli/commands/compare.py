"""`kinsplit compare`: the best chunks of several strategies for one question."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from kinsplit.cli.commands.evaluate import strategies_of
from kinsplit.cli.derive import from_options
from kinsplit.cli.output.evaluation import save_plots, show_sizes, sizes
from kinsplit.cli.output.index_report import chunk_name
from kinsplit.cli.output.passages import PREVIEW
from kinsplit.cli.output.progress import steps
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import KinsplitWarning, require, visible

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk
    from kinsplit.evaluation.labels import StrategyResult


@from_options()
def compare(
    query: str,
    docs: list[Path] | None = None,
    strategy: list[str] | None = None,
    plots: Path | None = None,
    *,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Search every strategy's chunks for one question, and show the best chunk of each, and the sizes of all chunks.

    Scores are cosines with the question, so they are comparable. A single question decides nothing; see kinsplit
    evaluate. Warnings say what a strategy did without a model that is missing.

    Args:
        query (QUERY): The question.
        docs (PATH): Documents. Default: docs.
        strategy ([LABEL=]NAME[:KEY=VALUE,...]): Strategy as in kinsplit evaluate; repeatable. Default: kinsplit's
            default and the four of rag_eval.
        plots (DIR): Folder for chunk_distributions.png and chunks_per_doc.png.
    """
    from kinsplit.evaluation.datasets.format import load_documents
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.evaluation.labels import Question
    from kinsplit.evaluation.splitters.specs import spec_of
    from kinsplit.evaluation.statistics import strategy_result

    require(query.strip(), "query", "must not be blank", query, "Ask a question.")
    made = strategies_of(strategy, options)
    dataset = replace(load_documents(docs or [Path("docs")], name="compare"), questions=(Question("1", query),))
    experiment = Experiment(dataset, made, measures=["cosine"], headline="cosine", **options)
    found: dict[str, list[dict[str, Any]]] = {}
    profiles: list[StrategyResult] = []
    # The evidence holds the warnings of its strategy.
    silence = warnings.catch_warnings(action="ignore", category=KinsplitWarning)
    with steps(terminal.screen, len(made)) as update, silence:
        evidence = list(experiment.evidence(lambda step: update(step.label, step.stage, step.done, step.total)))
    for label, own in evidence:
        for text in own.warnings:
            terminal.warning(f"{label}: {text}")
        (outcome,) = own.outcomes
        most = experiment.options.top_k
        best = zip(outcome.cosines[:most], outcome.ranking[:most], strict=True)
        found[label] = [_as_json(score, chunk) for score, chunk in best]
        profiles.append(strategy_result(label, spec_of(made[label]), own.profile))
    if terminal.as_json:
        remarks = {label: list(own.warnings) for label, own in evidence}
        terminal.document({"query": query, "strategies": found, "sizes": sizes(profiles), "warnings": remarks})
    else:
        for line in chain.from_iterable(_lines(label, hits) for label, hits in found.items()):
            terminal.line(line)
        show_sizes(terminal, profiles)
    save_plots(terminal, profiles, plots)


def _as_json(score: float, chunk: Chunk) -> dict[str, Any]:
    names = {"docid": chunk.source_id, "chunk_id": chunk.id, "chunk_name": chunk_name(chunk)}
    return {"score": score, **names, "start": chunk.start, "end": chunk.end, "text": chunk.text}


def _lines(label: str, hits: Sequence[dict[str, Any]]) -> Iterator[str | Text]:
    yield Text(label, "bold cyan")
    for hit in hits:
        text = " ".join(hit["text"].split())
        yield f"score {hit['score']:.4f}, {visible(hit['chunk_name'])}, {hit['start']} to {hit['end']}"
        yield visible(text if len(text) <= PREVIEW else f"{text[:PREVIEW].rstrip()} ...")
        yield ""
    if not hits:
        yield "Nothing found."

"""`kinsplit compare`: one question, and the best chunk of every strategy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from kinsplit.cli.commands.evaluate import strategies_of
from kinsplit.cli.options import AsJson
from kinsplit.cli.output.chunks import chunk_name
from kinsplit.cli.output.passages import PREVIEW
from kinsplit.cli.output.progress import steps
from kinsplit.cli.output.terminal import Terminal, visible
from kinsplit.errors import InvalidParameterError, KinsplitWarning

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk


def compare(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)],
    docs: Annotated[list[Path] | None, typer.Option(metavar="PATH", help="Documents. Default: docs.")] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LABEL=]NAME[:KEY=VALUE,...]",
            help="As in kinsplit evaluate; may be repeated. Default: kinsplit's own and those of rag_eval.",
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[int, typer.Option(metavar="N", min=1, help="Chunks of each strategy.")] = 1,
    ranker: Annotated[
        str, typer.Option(metavar="NAME", help="dense, kin, hybrid or bm25, for all strategies.")
    ] = "dense",
    embedder: Annotated[
        str, typer.Option(metavar="SPEC", help="Embedding model for all: bundled, static, st:NAME_OR_PATH, or hash.")
    ] = "bundled",
    as_json: AsJson = False,
) -> None:
    """Ask one question of every strategy, and show the best score, its chunk and its text.

    Scores are cosines with the question, so that they can be compared. One question decides nothing: see kinsplit
    evaluate.
    """
    from kinsplit.evaluation.datasets.documents import load_documents
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.evaluation.labels import Dataset, Question

    terminal = Terminal(as_json=as_json)
    if not query.strip():
        raise InvalidParameterError("query", "must not be blank", query, "Ask a question.")
    made = strategies_of(strategy, embedder=embedder)
    dataset = Dataset("compare", load_documents(docs or [Path("docs")]), (Question("1", query),))
    experiment = Experiment(
        dataset, made, embedder=embedder, ranker=ranker, measures=["cosine"], headline="cosine", top_k=top_k
    )
    found: dict[str, list[dict[str, Any]]] = {}
    # Those of strategies come with the evidence.
    silence = warnings.catch_warnings(action="ignore", category=KinsplitWarning)
    with steps(terminal.screen, len(made)) as moved, silence:
        told = list(experiment.evidence(lambda step: moved(step.label, step.stage, step.done, step.total)))
    for label, evidence in told:
        for text in evidence.warnings:
            terminal.warning(f"{label}: {text}")
        (outcome,) = evidence.outcomes
        best = zip(outcome.cosines[:top_k], outcome.ranking[:top_k], strict=True)
        found[label] = [_as_json(score, chunk) for score, chunk in best]
    if as_json:
        terminal.document({"query": query, "strategies": found})
        return
    for label, hits in found.items():
        terminal.line(Text(label, "bold cyan"))
        for hit in hits or [{}]:
            _show(hit, terminal)


def _as_json(score: float, chunk: Chunk) -> dict[str, Any]:
    return {
        "score": score,
        "chunk_id": chunk_name(chunk.source_id, chunk.level, chunk.index),
        "docid": chunk.source_id,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
    }


def _show(hit: dict[str, Any], terminal: Terminal) -> None:
    if not hit:
        terminal.line("Nothing was found.")
        return
    text = " ".join(hit["text"].split())
    terminal.line(f"score {hit['score']:.4f}, {visible(hit['chunk_id'])}, {hit['start']} to {hit['end']}")
    terminal.line(visible(text if len(text) <= PREVIEW else f"{text[:PREVIEW].rstrip()} ..."))
    terminal.line("")

"""`kinsplit questions`: generate labelled questions about documents."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kinsplit.cli.options import Paths
from kinsplit.cli.output.index_report import describe_cost
from kinsplit.cli.output.progress import bar
from kinsplit.cli.output.tables import counted, figures
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.evaluation.questions import Made


def questions(
    paths: Paths,
    *,
    model: str,
    output: Path = Path("queries.jsonl"),
    number: int = 50,
    seed: int = 0,
    similarity: float = 0.05,
    duplicates: float = 0.9,
    embedder: str = "bundled",
    concurrency: int = 4,
    dry_run: bool = False,
    terminal: Terminal,
) -> None:
    """Generate questions about documents with a language model, labelled with the exact spans that answer them.

    Repeat an interrupted run to continue it: the model's answers are cached.

    Args:
        model (SPEC): Language model: ollama:MODEL or openai:MODEL.
        output (FILE): File for the questions.
        number (N): Number of questions.
        seed (N): Seed for the choice of sections.
        similarity (X): Minimum similarity of a question and each of its excerpts: 0 as for unrelated texts, 1 as for
            identical ones.
        duplicates (X): Minimum similarity to an earlier question, on the same scale, at which one is dropped.
        concurrency (N): Maximum number of concurrent model calls.
        dry_run: Only show how many model calls and tokens are needed.
    """
    from kinsplit import embedding
    from kinsplit.evaluation.datasets.format import load_documents
    from kinsplit.evaluation.datasets.rows import to_row
    from kinsplit.evaluation.questions import Filters, cost_of, make_questions

    dataset = load_documents([Path(path) for path in paths], [output])
    documents = dataset.documents
    if dry_run:
        cost = cost_of(documents, model, number, seed=seed)
        about = f"{counted(number, 'question')} about {counted(len(documents), 'document')}"
        counts = {"documents": len(documents), **asdict(cost), "tokens": cost.tokens}
        terminal.outcome(counts, f"{about}: at least {describe_cost(cost)}. No call was made.")
        return
    filters = Filters(embedding.create(embedder), similarity, duplicates)
    with bar(terminal.screen, "Generating", number, noun="questions") as moving:
        made = make_questions(
            documents, model, number, filters, seed=seed, concurrency=concurrency, told=moving.advance
        )
    if made.questions:
        rows = (json.dumps(to_row(question, dataset.sources), ensure_ascii=False) for question in made.questions)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes("".join(row + "\n" for row in rows).encode("utf-8", "surrogatepass"))
    _show(made, number, output, terminal)
    raise typer.Exit(0 if made.questions else 2)


def _show(made: Made, number: int, output: Path, terminal: Terminal) -> None:
    kept = len(made.questions)
    report = {"output": str(output) if kept else None, "wanted": number, "kept": kept, "written": made.asked}
    rows = [
        ("Sections used", f"{made.sections:,}", ""),
        ("Questions generated", f"{made.asked:,}", ""),
        *((f"Dropped: {reason}", f"{count:,}", "") for reason, count in sorted(made.dropped.items())),
        ("Kept", f"{kept:,}", str(output) if kept else "nothing written"),
    ]
    terminal.outcome({**report, "sections": made.sections, "dropped": dict(made.dropped)}, figures(rows))
    if kept < number and not terminal.as_json:
        terminal.warning(
            f"{counted(kept, 'question')} of the {number:,} requested could be generated. Try another --seed."
        )

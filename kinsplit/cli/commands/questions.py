"""`kinsplit questions`: documents in, questions with the spans that answer them out."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinsplit.cli.options import AsJson, Embedder, Paths
from kinsplit.cli.output.cost import calls_of
from kinsplit.cli.output.progress import bar
from kinsplit.cli.output.tables import counted, figures
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.evaluation.questions import Made


def questions(
    paths: Paths,
    model: Annotated[
        str, typer.Option(metavar="SPEC", help="Language model: ollama:MODEL or openai:MODEL.", show_default=False)
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where the questions go.")] = Path("queries.jsonl"),
    number: Annotated[int, typer.Option(metavar="N", help="How many to make.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", help="Chooses the sections that are asked about.")] = 0,
    similarity: Annotated[
        float, typer.Option(metavar="X", help="Least cosine between a question and each of its excerpts.")
    ] = 0.1,
    duplicates: Annotated[
        float, typer.Option(metavar="X", help="Cosine to an earlier question from which on one is dropped.")
    ] = 0.9,
    embedder: Embedder = "bundled",
    concurrency: Annotated[
        int, typer.Option(metavar="N", help="Most sections that the model is asked about at the same time.")
    ] = 4,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell how often the model would be asked, and with how many tokens.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make questions about documents by a language model, with the exact spans that answer them.

    A run that was stopped goes on where it was: answers are kept.
    """
    from kinsplit import embedding
    from kinsplit.evaluation.datasets.documents import load_documents
    from kinsplit.evaluation.datasets.rows import to_row
    from kinsplit.evaluation.questions import Filters, cost_of, make_questions

    terminal = Terminal(as_json=as_json)
    documents = load_documents(paths, [output])
    if dry_run:
        cost = cost_of(documents, model, number, seed=seed)
        if as_json:
            terminal.document({"documents": len(documents), **asdict(cost), "tokens": cost.tokens})
        else:
            about = f"{counted(number, 'question')} about {counted(len(documents), 'document')}"
            terminal.line(f"{about}: at least {calls_of(cost)}. Nothing was asked.")
        return
    filters = Filters(embedding.create(embedder), similarity, duplicates)
    with bar(terminal.screen, "Asking", number, noun="questions") as moving:
        made = make_questions(
            documents, model, number, filters, seed=seed, concurrency=concurrency, told=moving.advance
        )
    sources = {document.id: document for document in documents}
    if made.questions:
        rows = (json.dumps(to_row(question, sources), ensure_ascii=False) for question in made.questions)
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_bytes("".join(row + "\n" for row in rows).encode("utf-8", "surrogatepass"))
    _tell(made, number, output, terminal)
    raise typer.Exit(0 if made.questions else 2)


def _tell(made: Made, number: int, output: Path, terminal: Terminal) -> None:
    kept = len(made.questions)
    if terminal.as_json:
        report = {"output": str(output) if kept else None, "wanted": number, "kept": kept, "written": made.asked}
        terminal.document({**report, "sections": made.sections, "dropped": dict(made.dropped)})
        return
    terminal.table(
        figures(
            [
                ("Sections asked about", f"{made.sections:,}", ""),
                ("Questions written", f"{made.asked:,}", ""),
                *((f"Dropped: {reason}", f"{count:,}", "") for reason, count in sorted(made.dropped.items())),
                ("Kept", f"{kept:,}", str(output) if kept else "nothing was written"),
            ]
        )
    )
    if kept < number:
        terminal.warning(f"{counted(kept, 'question')} of the {number:,} wanted could be made. Try another --seed.")

"""`kinsplit verify`: check the integrity of a collection or a model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.options import AsJson, Collection, Store
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal

Model = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="Embedding model, such as bundled or st:NAME, whose files to check by their SHA-256 instead of a "
        "collection.",
    ),
]


def verify(
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Check that every link resolves, every text matches its hash, and no chunk is an orphan."""
    if model is not None:
        _verify_model(model, Terminal(as_json=as_json))
        return
    from kinsplit.stores import open_store
    from kinsplit.stores.maintenance import verify as find_problems

    terminal = Terminal(as_json=as_json)
    with open_store(store, collection) as opened, spinner(terminal.err, "Verifying"):
        problems, chunks, documents = find_problems(opened), opened.count(0), len(opened.sources())
    if as_json:
        rows = [asdict(problem) for problem in problems]
        terminal.document({"documents": documents, "chunks": chunks, "problems": rows})
    else:
        for problem in problems:
            terminal.line(f"{problem}.")
        outcome = counted(len(problems), "problem") if problems else "no problems"
        terminal.line(f"{counted(documents, 'document')} in {counted(chunks, 'chunk')} and their parents: {outcome}.")
    if problems:
        raise typer.Exit(SOME_FAILED)


def _verify_model(model: str, terminal: Terminal) -> None:
    from kinsplit.embedding import verify as check

    with spinner(terminal.err, "Verifying"):
        checked = check(model)
    damaged = [one for one in checked if one.problem is not None]
    if terminal.as_json:
        rows = [{"path": str(one.path), "problem": one.problem} for one in checked]
        terminal.document({"model": model, "files": rows})
    else:
        for one in checked:
            terminal.line(f"{one.path}: {one.problem or 'intact'}.")
        outcome = (
            counted(len(damaged), "problem")
            if damaged
            else "all files intact"
            if checked
            else "no checksums to compare with"
        )
        terminal.line(f"{model}: {outcome}.")
    if damaged:
        raise typer.Exit(SOME_FAILED)

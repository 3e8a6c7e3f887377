"""`kinsplit verify`: whether a collection is whole."""

from __future__ import annotations

from dataclasses import asdict

import typer

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.options import AsJson, Collection, Store
from kinsplit.cli.progress import waiting
from kinsplit.cli.tables import counted
from kinsplit.cli.terminal import Terminal


def verify(store: Store = "edge:./kinsplit-data", collection: Collection = "default", as_json: AsJson = False) -> None:
    """Check that every link resolves, every text is the one that was hashed, and no chunk is an orphan."""
    from kinsplit.stores import open_store
    from kinsplit.stores.verify import verify as find_problems

    terminal = Terminal(as_json=as_json)
    with open_store(store, collection) as opened, waiting(terminal.err, "Verifying"):
        problems, chunks, documents = find_problems(opened), opened.count(0), len(opened.sources())
    if as_json:
        rows = [asdict(problem) for problem in problems]
        terminal.document({"documents": documents, "chunks": chunks, "problems": rows})
    else:
        for problem in problems:
            terminal.line(f"{problem}.")
        outcome = counted(len(problems), "problem") if problems else "all whole"
        terminal.line(f"{counted(documents, 'document')} in {counted(chunks, 'chunk')} and their parents: {outcome}.")
    if problems:
        raise typer.Exit(SOME_FAILED)

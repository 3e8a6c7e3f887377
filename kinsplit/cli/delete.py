"""`kinsplit delete`: documents out of a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.options import AsJson, Collection, Store
from kinsplit.cli.tables import counted
from kinsplit.cli.terminal import Terminal


def delete(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="Ids of documents, as kinsplit info shows them.")
    ],
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Delete documents with all their chunks and parents."""
    from kinsplit.stores import open_store

    terminal = Terminal(as_json=as_json)
    with open_store(store, collection) as opened:
        deleted = {source_id: opened.delete(source_id) for source_id in dict.fromkeys(sources)}
    if as_json:
        terminal.document({"deleted": deleted})
    for source_id, number in deleted.items():
        if not number:
            terminal.warning(f"{source_id}: there is no such document.")
        elif not as_json:
            terminal.line(f"{source_id}  Deleted {counted(number, 'chunk')}")
    missing = sum(not number for number in deleted.values())
    if code := exit_code(failed=missing, done=len(deleted) - missing):
        raise typer.Exit(code)

"""`kinsplit delete`: delete documents from a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.command import exit_code
from kinsplit.cli.options import AsJson, Collection, Store, parse_where
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal


def delete(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCE...]", help="Document ids; kinsplit info lists them.", show_default=False),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Delete the documents with this metadata; syntax as in kinsplit search.",
        ),
    ] = None,
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Delete documents with all their chunks and parents."""
    from kinsplit.stores import open_store

    terminal = Terminal(as_json=as_json)
    conditions = parse_where(where)
    if not (sources or conditions):
        raise typer.BadParameter("Name documents, or use --where.")
    with open_store(store, collection) as opened:
        found = opened.sources(0, conditions) if conditions else {}
        deleted = {source_id: opened.delete(source_id) for source_id in dict.fromkeys([*(sources or ()), *found])}
    if as_json:
        terminal.document({"deleted": deleted})
    for source_id, number in deleted.items():
        if not number:
            terminal.warning(f"{source_id}: no such document.")
        elif not as_json:
            terminal.line(f"{source_id}  Deleted {counted(number, 'chunk')}")
    if not (deleted or as_json):
        terminal.line("Nothing found.")
    missing = sum(not number for number in deleted.values())
    if code := exit_code(failed=missing, done=len(deleted) - missing):
        raise typer.Exit(code)

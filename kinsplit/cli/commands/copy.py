"""`kinsplit copy`: copy a collection to another store."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Collection
from kinsplit.cli.output.progress import counting
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Address of the source store.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Address of the target store.", show_default=False)],
    collection: Collection = "default",
    into: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Name of the copy. Default: the same name.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy a collection between any two stores without embedding it again.

    Existing documents of the target stay, and those that are equal are skipped. Repeat an interrupted copy to complete
    it.
    """
    from kinsplit.stores import open_store
    from kinsplit.stores.maintenance import copy as copy_chunks

    terminal = Terminal(as_json=as_json)
    if target == source and (into or collection) == collection:
        remedy = "Name another store, or another collection with --as."
        raise InvalidParameterError("TO", "must differ from FROM", target, remedy)
    with (
        open_store(source, collection) as read,
        open_store(target, into or collection, read.schema) as written,
        counting(terminal.err, "Copying", "documents") as progress,
    ):
        done = copy_chunks(read, written, progress)
    if as_json:
        terminal.document({"documents": done.documents, "chunks": done.chunks, "skipped": done.skipped})
    else:
        held = f" {counted(done.skipped, 'document')} were there already." if done.skipped else ""
        terminal.line(f"Copied {counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}.{held}")

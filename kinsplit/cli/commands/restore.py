"""`kinsplit restore`: make a collection from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinsplit.cli.options import AsJson
from kinsplit.cli.output.progress import counting
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that kinsplit backup wrote.", show_default=False)
    ],
    address: Annotated[
        str, typer.Argument(metavar="[ADDRESS]", help="Address of the store: edge:DIR, qdrant:URL or pgvector:DSN.")
    ] = "edge:./kinsplit-data",
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="Name of the collection. Default: its old name.", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the collection of that name once the new one is complete.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a collection from a backup, in any kind of store.

    Repeat an interrupted restore to complete it.
    """
    from kinsplit.backup import read_head
    from kinsplit.backup import restore as fill

    terminal = Terminal(as_json=as_json)
    name = name or read_head(file).collection
    with counting(terminal.err, "Restoring", "chunks") as progress:
        done = fill(file, address, name, replace=replace, progress=progress)
    if as_json:
        terminal.document(
            {"collection": name, "documents": done.documents, "chunks": done.chunks, "skipped": done.skipped}
        )
    else:
        held = f" {counted(done.skipped, 'document')} were there already." if done.skipped else ""
        found = f"{counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}"
        terminal.line(f"Restored {name}: {found}.{held}")

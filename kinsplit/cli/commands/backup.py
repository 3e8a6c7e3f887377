"""`kinsplit backup`: write a collection to one Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Store
from kinsplit.cli.output.progress import counting
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.cli.paths import check_writable


def backup(
    collection: Annotated[
        str, typer.Argument(metavar="COLLECTION", help="Name of the collection.", show_default=False)
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, such as notes.parquet.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    as_json: AsJson = False,
) -> None:
    """Write a collection, with its vectors, to one Parquet file, which pandas, DuckDB and others read too.

    An existing file is replaced once the new one is complete.
    """
    from kinsplit.backup import back_up
    from kinsplit.stores import open_store

    terminal = Terminal(as_json=as_json)
    check_writable(file, "FILE")
    with open_store(store, collection) as opened, counting(terminal.err, "Backing up", "documents") as progress:
        done = back_up(opened, collection, file, progress)
    size = file.stat().st_size
    if as_json:
        terminal.document({"file": str(file), "documents": done.documents, "chunks": done.chunks, "bytes": size})
    else:
        found = f"{counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}"
        terminal.line(f"Backed up {found}: {file}, {size:,} bytes.")

"""`kinsplit backup` and `kinsplit restore`: collections as files."""

from __future__ import annotations

from pathlib import Path

from kinsplit.cli.options import STORE, check_writable
from kinsplit.cli.output.progress import counting
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal


def backup(collection: str, file: Path, store: str = STORE, *, terminal: Terminal) -> None:
    """Write a collection, with its vectors, to one Parquet file, which pandas, DuckDB and others read too.

    An existing file is replaced once the new one is complete.

    Args:
        collection (COLLECTION): Name of the collection.
        file (FILE): The file, such as notes.parquet.
    """
    from kinsplit.backup import back_up
    from kinsplit.stores import open_store

    check_writable(file, "FILE")
    with open_store(store, collection) as opened, counting(terminal.err, "Backing up", "documents") as progress:
        done = back_up(opened, collection, file, progress)
    size = file.stat().st_size
    found = f"{counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}"
    counts = {"documents": done.documents, "chunks": done.chunks, "bytes": size}
    terminal.outcome({"file": str(file), **counts}, f"Backed up {found}: {file}, {size:,} bytes.")


def restore(
    file: Path, address: str = STORE, /, into: str | None = None, replace: bool = False, *, terminal: Terminal
) -> None:
    """Make a collection from a backup, in any kind of store.

    Repeat an interrupted restore to complete it.

    Args:
        file (FILE): A file that kinsplit backup wrote.
        address ([ADDRESS]): Address of the store: edge:DIR, qdrant:URL or pgvector:DSN.
        into (NAME): Name of the collection. Default: its old name.
        replace: Replace the collection of that name once the new one is complete.
    """
    from kinsplit.backup import read_head
    from kinsplit.backup import restore as fill

    name = into or read_head(file).collection
    with counting(terminal.err, "Restoring", "chunks") as progress:
        done = fill(file, address, name, replace=replace, progress=progress)
    held = f" {counted(done.skipped, 'document')} were there already." if done.skipped else ""
    found = f"{counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}"
    counts = {"documents": done.documents, "chunks": done.chunks, "skipped": done.skipped}
    terminal.outcome({"collection": name, **counts}, f"Restored {name}: {found}.{held}")

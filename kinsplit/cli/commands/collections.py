"""`kinsplit collections` and the commands that show, rename, exchange, delete and copy them, also to files."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.filesize import decimal

from kinsplit.cli.command import exit_code
from kinsplit.cli.options import STORE, check_writable, parse_where
from kinsplit.cli.output.progress import counting
from kinsplit.cli.output.tables import counted, figures, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError, inline

if TYPE_CHECKING:
    from kinsplit.stores import Schema
    from kinsplit.stores.maintenance.copy import Copied


def collections(store: str = STORE, *, terminal: Terminal) -> None:
    """List the collections of a store with their strategy, model and size."""
    from kinsplit.stores import open_catalog

    with open_catalog(store) as catalog:
        found = catalog.collections()
    table = text_table("Collection", "Strategy", "Model", "Documents", "Chunks", "Size", right=slice(3, None))
    for info in found:
        made = ("unreadable", "")
        if info.schema is not None:
            made = (json.loads(info.schema.strategy)["name"], info.schema.model)
        size = "?" if info.bytes is None else decimal(info.bytes)
        table.add_row(info.name, *map(inline, made), _number(info.documents), _number(info.chunks), size)
    rows = [{**asdict(info), "schema": info.schema and _to_dict(info.schema)} for info in found]
    if not found:
        terminal.outcome(rows, "There are no collections.")
        return
    problems = [f"{info.name}: {info.problem}" for info in found if info.problem]
    terminal.outcome(rows, table, "", *problems, f"{counted(len(found), 'collection')}.")


def _to_dict(schema: Schema) -> dict[str, Any]:
    return {**asdict(schema), "strategy": json.loads(schema.strategy), "weights": json.loads(schema.weights)}


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def rename(old: str, new: str, store: str = STORE, *, terminal: Terminal) -> None:
    """Give a collection another name.

    Args:
        old (OLD): Name of the collection.
        new (NEW): Its new name.
    """
    from kinsplit.stores import open_catalog

    with open_catalog(store) as catalog:
        catalog.rename(old, new)
    terminal.outcome({"old": old, "new": new}, f"Renamed {old} to {new}.")


def switch(one: str, other: str, store: str = STORE, *, terminal: Terminal) -> None:
    """Let two collections exchange their names in one step, to replace one that is being searched.

    Index anew beside it, switch, and drop the old one, which has the other name then. A second switch undoes the first.
    A service on Postgres or a Qdrant server follows within a second.

    Args:
        one (NAME): Name of a collection.
        other (OTHER): Name of another one.
    """
    from kinsplit.stores import open_catalog

    with open_catalog(store) as catalog:
        catalog.switch(one, other)
    terminal.outcome({"exchanged": [one, other]}, f"{one} and {other} have exchanged their names.")


def drop(name: str, store: str = STORE, yes: bool = False, *, terminal: Terminal) -> None:
    """Delete a collection with everything in it.

    Args:
        name (COLLECTION): Name of the collection.
        yes: Don't ask for confirmation.
    """
    from kinsplit.stores import open_catalog

    with open_catalog(store) as catalog:
        catalog.check(name)
        info = next((each for each in catalog.collections() if each.name == name), None)
        size = "" if info is None or info.documents is None else f" with {counted(info.documents, 'document')}"
        if not yes:
            if terminal.as_json or not sys.stdin.isatty():
                rule = "is required where nobody can confirm"
                raise InvalidParameterError("--yes", rule, None, f"It deletes the collection {name}{size}.")
            typer.confirm(f"Delete the collection {name}{size}?", abort=True)
        catalog.drop(name)
    terminal.outcome({"dropped": name}, f"Dropped {name}{size}.")


def copy(source: str, target: str, collection: str = "default", into: str | None = None, *, terminal: Terminal) -> None:
    """Copy a collection between any two stores without embedding it again.

    Existing documents of the target stay, and those that are equal are skipped. Repeat an interrupted copy to complete
    it.

    Args:
        source (FROM): Address of the source store.
        target (TO): Address of the target store.
        into (NAME): Name of the copy. Default: the same name.
    """
    from kinsplit.stores import open_store
    from kinsplit.stores.maintenance import copy as copy_chunks

    if target == source and (into or collection) == collection:
        remedy = "Name another store, or another collection with --as."
        raise InvalidParameterError("TO", "must differ from FROM", target, remedy)
    with (
        open_store(source, collection) as read,
        open_store(target, into or collection, read.schema) as written,
        counting(terminal.err, "Copying", "documents") as progress,
    ):
        done = copy_chunks(read, written, progress)
    terminal.outcome(asdict(done), f"Copied {_copied(done)}")


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
    counts = {"documents": done.documents, "chunks": done.chunks, "bytes": size}
    terminal.outcome({"file": str(file), **counts}, f"Backed up {_copied(done, f': {file}, {size:,} bytes')}")


def restore(
    file: Path, store: str = STORE, into: str | None = None, replace: bool = False, *, terminal: Terminal
) -> None:
    """Make a collection from a backup, in any kind of store.

    Repeat an interrupted restore to complete it.

    Args:
        file (FILE): A file that kinsplit backup wrote.
        into (NAME): Name of the collection. Default: its old name.
        replace: Replace the collection of that name once the new one is complete.
    """
    from kinsplit.backup import read_head
    from kinsplit.backup import restore as fill

    name = into or read_head(file).collection
    with counting(terminal.err, "Restoring", "chunks") as progress:
        done = fill(file, store, name, replace=replace, progress=progress)
    terminal.outcome({"collection": name, **asdict(done)}, f"Restored {name}: {_copied(done)}")


def _copied(done: Copied, where: str = "") -> str:
    held = f" {counted(done.skipped, 'document')} were there already." if done.skipped else ""
    return f"{counted(done.documents, 'document')} in {counted(done.chunks, 'chunk')}{where}.{held}"


#: Maximum number of documents to list; `--json` lists all.
_LISTED = 20


def info(store: str = STORE, collection: str = "default", *, terminal: Terminal) -> None:
    """Show the settings of a collection and the documents in it."""
    from kinsplit.chunk import DOCUMENT
    from kinsplit.stores import open_store

    with open_store(store, collection) as opened:
        schema, sources = opened.schema, opened.sources(level=0)
        leaves, documents, everything = opened.count(0), opened.count(DOCUMENT), opened.count()
    counts = {"documents": len(sources), "chunks": leaves, "parents": everything - leaves - documents}
    made = json.loads(schema.strategy)
    rows = [
        *((name.capitalize(), f"{number:,}", "") for name, number in counts.items()),
        ("Strategy", made["name"], ", ".join(f"{key}={value}" for key, value in made["parameters"].items())),
        ("Embedding model", schema.model, f"{schema.dimension} dimensions, {schema.distance}"),
        ("Embedding context", schema.embedding_context, ""),
        ("Context model", schema.context_model, ""),
        ("Terms", schema.sparse, ""),
    ]
    listed = [(inline(source_id), f"{number:,}") for source_id, number in list(sources.items())[:_LISTED]]
    table = text_table("Document", "Chunks", rows=listed, right=slice(1, None))
    more = [f"... and {len(sources) - _LISTED:,} more; --json lists all."] if len(sources) > _LISTED else []
    described = {"collection": collection, **counts, "schema": _to_dict(schema), "sources": sources}
    terminal.outcome(described, figures(rows), "", table, *more)


def delete(
    sources: list[str] | None = None,
    /,
    where: list[str] | None = None,
    store: str = STORE,
    collection: str = "default",
    *,
    terminal: Terminal,
) -> None:
    """Delete documents with all their chunks and parents.

    Args:
        sources ([SOURCE...]): Document ids; kinsplit info lists them.
        where (KEY=VALUE): Delete the documents with this metadata; syntax as in kinsplit search.
    """
    from kinsplit.stores import open_store
    from kinsplit.stores.store import warn_of_unmatched

    conditions = parse_where(where)
    if not (sources or conditions):
        raise typer.BadParameter("Name documents, or use --where.")
    with open_store(store, collection) as opened:
        found = opened.sources(0, conditions) if conditions else {}
        if not found:
            opened.check_fields(conditions)
            warn_of_unmatched(opened, conditions)
        deleted = {source_id: opened.delete(source_id) for source_id in dict.fromkeys([*(sources or ()), *found])}
    lines = [f"{source_id}  Deleted {counted(number, 'chunk')}" for source_id, number in deleted.items() if number]
    missing = [source_id for source_id, number in deleted.items() if not number]
    terminal.outcome({"deleted": deleted}, *(lines if deleted else ["Nothing found."]))
    for source_id in missing:
        terminal.warning(f"{source_id}: no such document.")
    raise typer.Exit(exit_code(failed=len(missing), done=len(lines)))

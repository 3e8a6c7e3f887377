"""`kinsplit collections`: the collections of a store."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.filesize import decimal

from kinsplit.cli.options import AsJson
from kinsplit.cli.output.tables import counted, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import inline

if TYPE_CHECKING:
    from kinsplit.stores import CollectionInfo


def collections(
    address: Annotated[
        str, typer.Argument(metavar="[ADDRESS]", help="Address of the store: edge:DIR, qdrant:URL or pgvector:DSN.")
    ] = "edge:./kinsplit-data",
    as_json: AsJson = False,
) -> None:
    """List the collections of a store with their strategy, model and size."""
    from kinsplit.stores import open_catalog

    terminal = Terminal(as_json=as_json)
    with open_catalog(address) as catalog:
        found = catalog.collections()
    if as_json:
        terminal.document([_to_json(info) for info in found])
        return
    if not found:
        terminal.line("There are no collections.")
        return
    table = text_table("Collection", "Strategy", "Model", "Documents", "Chunks", "Size")
    for column in table.columns[3:]:
        column.justify = "right"
    for info in found:
        made = ("unreadable", "made by another version")
        if info.schema is not None:
            made = (json.loads(info.schema.strategy)["name"], info.schema.model)
        table.add_row(info.name, *map(inline, made), _number(info.documents), _number(info.chunks), _size(info.bytes))
    terminal.table(table)
    terminal.line("")
    terminal.line(f"{counted(len(found), 'collection')}.")


def _to_json(info: CollectionInfo) -> dict[str, Any]:
    schema = None
    if info.schema is not None:
        schema = asdict(info.schema)
        schema |= {"strategy": json.loads(info.schema.strategy), "weights": json.loads(info.schema.weights)}
    return {**asdict(info), "schema": schema}


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _size(size: int | None) -> str:
    return "?" if size is None else decimal(size)

"""`kinsplit drop`: delete a whole collection."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Store
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError


def drop(
    name: Annotated[str, typer.Argument(metavar="COLLECTION", help="Name of the collection.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a collection with everything in it."""
    from kinsplit.stores import open_catalog

    terminal = Terminal(as_json=as_json)
    with open_catalog(store) as catalog:
        catalog.check(name)
        info = next((each for each in catalog.collections() if each.name == name), None)
        size = "" if info is None or info.documents is None else f" with {counted(info.documents, 'document')}"
        if not yes:
            if as_json or not sys.stdin.isatty():
                rule = "is required where nobody can confirm"
                raise InvalidParameterError("--yes", rule, None, f"It deletes the collection {name}{size}.")
            typer.confirm(f"Delete the collection {name}{size}?", abort=True)
        catalog.drop(name)
    if as_json:
        terminal.document({"dropped": name})
    else:
        terminal.line(f"Dropped {name}{size}.")

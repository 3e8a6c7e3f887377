"""`kinsplit rename`: give a collection another name."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Store
from kinsplit.cli.output.terminal import Terminal


def rename(
    old: Annotated[str, typer.Argument(metavar="OLD", help="Name of the collection.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    as_json: AsJson = False,
) -> None:
    """Give a collection another name."""
    from kinsplit.stores import open_catalog

    terminal = Terminal(as_json=as_json)
    with open_catalog(store) as catalog:
        catalog.rename(old, new)
    if as_json:
        terminal.document({"old": old, "new": new})
    else:
        terminal.line(f"Renamed {old} to {new}.")

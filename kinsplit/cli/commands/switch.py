"""`kinsplit switch`: let two collections exchange their names."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Store
from kinsplit.cli.output.terminal import Terminal


def switch(
    one: Annotated[str, typer.Argument(metavar="NAME", help="Name of a collection.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Name of another one.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    as_json: AsJson = False,
) -> None:
    """Let two collections exchange their names in one step, to replace one that is being searched.

    Index anew beside it, switch, and drop the old one, which has the other name then. A second switch undoes the first.
    A service on Postgres or a Qdrant server follows within a second.
    """
    from kinsplit.stores import open_catalog

    terminal = Terminal(as_json=as_json)
    with open_catalog(store) as catalog:
        catalog.switch(one, other)
    if as_json:
        terminal.document({"exchanged": [one, other]})
    else:
        terminal.line(f"{one} and {other} have exchanged their names.")

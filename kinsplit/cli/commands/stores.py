"""`kinsplit stores`: the available stores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from kinsplit.cli.options import AsJson
from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import InvalidParameterError


def stores(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Store whose options to show.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the types of stores with their addresses, or the options of one of them."""
    from kinsplit.stores.address import ENGINES

    terminal = Terminal(as_json=as_json)
    if name is not None and name not in ENGINES:
        raise InvalidParameterError("NAME", f"must be one of {', '.join(ENGINES)}", name, "Take one of these.")
    if as_json:
        described = {each: _described(each) for each in ENGINES}
        terminal.document([*described.values()] if name is None else described[name])
        return
    if name is not None:
        _options(name, terminal)
        return
    table = text_table("Address", "For", "Installed")
    for engine in ENGINES.values():
        remedy = "yes" if engine.installed else f'pip install "kinsplit[{engine.extra}]"'
        table.add_row(", ".join(engine.addresses), engine.purpose, remedy)
    terminal.table(table)
    terminal.line("For the options of a store: kinsplit stores NAME")


def _described(name: str) -> dict[str, Any]:
    from kinsplit.stores.address import ENGINES
    from kinsplit.stores.engines.catalog import describe

    engine = ENGINES[name]
    return {
        "engine": name,
        "addresses": engine.addresses,
        "purpose": engine.purpose,
        "installed": engine.installed,
        "options": [] if engine.options is None else describe(engine.options),
    }


def _options(name: str, terminal: Terminal) -> None:
    from kinsplit.stores.engines.catalog import default_text

    options = _described(name)["options"]
    if not options:
        terminal.line(f"{name} has no options.")
        return
    terminal.line("Query parameters of a URL, such as ?hnsw_m=32&hnsw_ef=400, by what they apply to:")
    table = text_table("Option", "Applies to", "Default", "Type", "Meaning")
    for option in options:
        table.add_row(
            option["name"], option["scope"], default_text(option["default"]), option["type"], option["description"]
        )
    terminal.table(table)

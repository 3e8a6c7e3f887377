"""`kinsplit stores`: the available stores."""

from __future__ import annotations

from kinsplit.cli.options import AsJson
from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal


def stores(as_json: AsJson = False) -> None:
    """List the types of stores with their addresses."""
    from kinsplit.stores.address import ENGINES

    terminal = Terminal(as_json=as_json)
    if as_json:
        terminal.document(
            [
                {
                    "engine": name,
                    "addresses": engine.addresses,
                    "purpose": engine.purpose,
                    "installed": engine.installed,
                }
                for name, engine in ENGINES.items()
            ]
        )
        return
    table = text_table("Address", "For", "Installed")
    for engine in ENGINES.values():
        remedy = "yes" if engine.installed else f'pip install "kinsplit[{engine.extra}]"'
        table.add_row(", ".join(engine.addresses), engine.purpose, remedy)
    terminal.table(table)

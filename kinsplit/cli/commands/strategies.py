"""`kinsplit strategies` and `kinsplit readers`: what splits documents, and what reads files."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal


def strategies(name: str | None = None, /, *, terminal: Terminal) -> None:
    """List the strategies, or the parameters of one strategy.

    Args:
        name (NAME): Strategy whose parameters to show.
    """
    from kinsplit.parsers import names
    from kinsplit.parsers.registry import describe

    if terminal.as_json:
        terminal.document([describe(each) for each in names()] if name is None else describe(name))
    elif name is None:
        terminal.table(_overview([describe(each) for each in names()]))
        terminal.line("For the parameters of a strategy: kinsplit strategies NAME")
    else:
        strategy = describe(name)
        terminal.line(f"{strategy['name']}: {strategy['summary']}. Defaults: {strategy['origin']}.")
        terminal.table(_parameters(strategy["parameters"]))


def _overview(described: list[dict[str, Any]]) -> Table:
    table = text_table("Strategy", "What it does", "Source of the defaults")
    for strategy in described:
        table.add_row(strategy["name"], strategy["summary"], strategy["origin"])
    return table


def _parameters(described: list[dict[str, Any]]) -> Table:
    from kinsplit.support.literals import default_text

    table = text_table("Parameter", "Default", "Type", "Meaning")
    for parameter in described:
        table.add_row(
            parameter["name"], default_text(parameter["default"]), parameter["type"], parameter["description"]
        )
    return table


def readers(*, terminal: Terminal) -> None:
    """List the files that can be read and the readers that read them, in order of precedence."""
    from kinsplit.loaders.registry import ON_REQUEST
    from kinsplit.loaders.registry import readers as all_readers

    rows: list[dict[str, Any]] = [
        {"reader": name, "suffixes": fmt.suffixes, "file_type": fmt.name, "text": fmt.description}
        for name, formats in all_readers().items()
        for fmt in formats
    ]
    if terminal.as_json:
        terminal.document([{**row, "on_request": row["reader"] in ON_REQUEST} for row in rows])
        return
    table = text_table("Reader", "Files", "file_type", "Becomes")
    for row in rows:
        table.add_row(row["reader"], " ".join(row["suffixes"]), row["file_type"], row["text"])
    terminal.table(table)
    if ON_REQUEST:
        terminal.line(f"Used only if named by --reader: {', '.join(ON_REQUEST)}.")

"""`kinsplit strategies` and `kinsplit readers`: what splits documents, and what reads files."""

from __future__ import annotations

from typing import Any

from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal


def strategies(name: str | None = None, /, *, terminal: Terminal) -> None:
    """List the strategies, or the parameters of one strategy.

    Args:
        name (NAME): Strategy whose parameters to show.
    """
    from kinsplit.parsers import names
    from kinsplit.parsers.registry import describe
    from kinsplit.support.literals import default_text

    if name is None:
        found = [describe(each) for each in names()]
        table = text_table("Strategy", "What it does", rows=[(each["name"], each["summary"]) for each in found])
        terminal.outcome(found, table, "For the parameters of a strategy: kinsplit strategies NAME")
        return
    one = describe(name)
    parameters = [(p["name"], default_text(p["default"]), p["type"], p["description"]) for p in one["parameters"]]
    table = text_table("Parameter", "Default", "Type", "Meaning", rows=parameters)
    terminal.outcome(one, f"{one['name']}: {one['summary']}. Defaults: {one['origin']}.", table)


def readers(*, terminal: Terminal) -> None:
    """List the files that can be read and the readers that read them, in order of precedence."""
    from kinsplit.loaders.registry import ON_REQUEST
    from kinsplit.loaders.registry import readers as all_readers

    rows: list[dict[str, Any]] = [
        {"reader": name, "suffixes": fmt.suffixes, "file_type": fmt.name, "text": fmt.description}
        for name, formats in all_readers().items()
        for fmt in formats
    ]
    described = [{**row, "on_request": row["reader"] in ON_REQUEST} for row in rows]
    shown = [(row["reader"], " ".join(row["suffixes"]), row["file_type"], row["text"]) for row in rows]
    table = text_table("Reader", "Files", "file_type", "Becomes", rows=shown)
    terminal.outcome(described, table, f"Used only if named by --reader: {', '.join(ON_REQUEST)}.")

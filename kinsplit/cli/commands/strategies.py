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

    if terminal.as_json:
        terminal.document([describe(each) for each in names()] if name is None else describe(name))
    elif name is None:
        rows = [(each["name"], each["summary"], each["origin"]) for each in map(describe, names())]
        terminal.table(text_table("Strategy", "What it does", "Source of the defaults", rows=rows))
        terminal.line("For the parameters of a strategy: kinsplit strategies NAME")
    else:
        strategy = describe(name)
        terminal.line(f"{strategy['name']}: {strategy['summary']}. Defaults: {strategy['origin']}.")
        parameters = [
            (p["name"], default_text(p["default"]), p["type"], p["description"]) for p in strategy["parameters"]
        ]
        terminal.table(text_table("Parameter", "Default", "Type", "Meaning", rows=parameters))


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
    shown = [(row["reader"], " ".join(row["suffixes"]), row["file_type"], row["text"]) for row in rows]
    terminal.table(text_table("Reader", "Files", "file_type", "Becomes", rows=shown))
    if ON_REQUEST:
        terminal.line(f"Used only if named by --reader: {', '.join(ON_REQUEST)}.")

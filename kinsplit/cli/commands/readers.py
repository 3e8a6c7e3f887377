"""`kinsplit readers`: the files that can be read, and what reads them."""

from __future__ import annotations

from typing import Any

from kinsplit.cli.options import AsJson
from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal


def readers(as_json: AsJson = False) -> None:
    """List the files that can be read and the readers that read them, in order of precedence."""
    from kinsplit.loaders.registry import ON_REQUEST
    from kinsplit.loaders.registry import readers as all_readers

    terminal = Terminal(as_json=as_json)
    rows: list[dict[str, Any]] = [
        {"reader": name, "suffixes": fmt.suffixes, "file_type": fmt.name, "text": fmt.description}
        for name, formats in all_readers().items()
        for fmt in formats
    ]
    if as_json:
        terminal.document([{**row, "on_request": row["reader"] in ON_REQUEST} for row in rows])
        return
    table = text_table("Reader", "Files", "file_type", "Becomes")
    for row in rows:
        table.add_row(row["reader"], " ".join(row["suffixes"]), row["file_type"], row["text"])
    terminal.table(table)
    if ON_REQUEST:
        terminal.line(f"Used only if named by --reader: {', '.join(ON_REQUEST)}.")

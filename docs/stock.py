"""Writes the table of the frameworks' own splitters' parameters into the page on the frameworks.

Run `python docs/stock.py` after a change to `kinsplit.integrations.shared.stock`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from kinsplit.integrations.shared.stock import STOCK

_HEAD = "| parameter | here |\n|---|---|\n"


def generated() -> dict[Path, str]:
    """Return the content of the page, by its path."""
    page = Path(__file__).with_name("frameworks.md")
    return {page: re.sub(rf"{re.escape(_HEAD)}(\|.*\n)*", lambda _: _table(), page.read_text(encoding="utf-8"))}


def _table() -> str:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name, stock in STOCK.items():
        names[stock.here].append(f"`{name}`")
    return _HEAD + "".join(f"| {', '.join(of_text)} | {here} |\n" for here, of_text in names.items())


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")

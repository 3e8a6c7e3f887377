"""Writes the tables of options into the page on servers.

Run `python docs/servers.py` after a change to an option of a store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kinsplit.stores.address import STORES
from kinsplit.stores.engines.catalog import StoreOptions, default_text, describe

_HEAD = "| option | applies to | default | type | meaning |\n|---|---|---|---|---|\n"


def generated() -> dict[Path, str]:
    """Return the content of the page, by its path."""
    page = Path(__file__).with_name("servers.md")
    tables = (_table(engine.options) for engine in STORES.load_all().values() if engine.options is not None)
    return {page: re.sub(rf"{re.escape(_HEAD)}(\|.*\n)+", lambda _: next(tables), page.read_text(encoding="utf-8"))}


def _table(options: type[StoreOptions]) -> str:
    return _HEAD + "".join(_rows(options))


def _rows(options: type[StoreOptions]) -> Iterator[str]:
    for row in describe(options):
        default, type_ = default_text(row["default"]), row["type"].replace("|", "\\|")
        yield f"| `{row['name']}` | {row['scope']} | {default} | {type_} | {row['description']} |\n"


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")

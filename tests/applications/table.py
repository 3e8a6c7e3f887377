"""The table of the applications in the documentation."""

from __future__ import annotations

from typing import NamedTuple

from tests.snippets import ROOT


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        lines: Changed lines.
        lost: What is lost.
        before: Texts that the second run embeds, and the first one, without kinsplit.
        after: The same with kinsplit.
    """

    lines: str
    lost: str
    before: str
    after: str


def row(application: str) -> Row:
    """Return the row of an application, given by the name of its folder and page."""
    page = (ROOT / "docs" / "applications" / "index.md").read_text(encoding="utf-8")
    (found,) = (line for line in page.splitlines() if f"({application.replace('_', '-')}.md)" in line)
    _, _, *cells, _ = (cell.strip() for cell in found.split("|"))
    return Row(*cells)

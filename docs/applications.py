"""Writes the changes of each application into its page, and their number into the table of all.

Run `python docs/applications.py` after a change to `tests/applications`.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher, unified_diff
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = Path(__file__).with_name("applications")
_DIFF = re.compile(r"```diff\n.*?```", re.DOTALL)


def generated() -> dict[Path, str]:
    """Return the content of the pages, by their paths."""
    table = PAGES / "index.md"
    written = {table: table.read_text(encoding="utf-8")}
    for page in sorted(PAGES.glob("*.md")):
        if page != table:
            before, after = versions(page.stem.replace("-", "_"))
            diff = f"```diff\n{_diff(before, after)}```"
            written[page] = _DIFF.sub(lambda _, diff=diff: diff, page.read_text(encoding="utf-8"), count=1)
            row = re.compile(rf"(\({re.escape(page.name)}\) \| )\d+")
            written[table] = row.sub(rf"\g<1>{changed_lines(before, after)}", written[table])
    return written


def versions(application: str) -> tuple[list[str], list[str]]:
    """Return the lines of an application's file before and after the change, without its docstring."""
    folder = ROOT / "tests" / "applications" / application
    files = ((folder / f"{name}.py").read_text(encoding="utf-8") for name in ("before", "after"))
    before, after = (file.splitlines(keepends=True)[1:] for file in files)
    return before, after


def changed_lines(before: list[str], after: list[str]) -> int:
    """Return the number of lines that are removed, added, or replaced, where the longer side counts."""
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in changes if kind != "equal")


def _diff(before: list[str], after: list[str]) -> str:
    """Return the changes, with a blank line between those of different places."""
    _, _, _, *lines = unified_diff(before, after, n=0)
    return "".join("\n" if line.startswith("@@") else line for line in lines)


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")

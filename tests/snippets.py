"""The Python blocks of Markdown pages, run as one program per page.

A block after the comment `<!-- not run: REASON -->` is left out. The code in a comment that
begins with `<!-- setup` is run; readers don't see them.
"""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "packages").glob("*/README.md"))]

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<kind>python|pycon)\n(?P<code>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.DOTALL | re.MULTILINE,
)


def docs_module(name: str) -> Any:
    """Return a module of docs/, such as a generator of pages."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Block(NamedTuple):
    """A Python block of a page.

    Attributes:
        line: Number of lines before its code.
        kind: "python", "pycon" or "setup".
        code: The code.
        reason: Why it isn't run; None if it is.
    """

    line: int
    kind: str
    code: str
    reason: str | None


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        kind = "setup" if match["setup"] is not None else match["kind"]
        group = "setup" if kind == "setup" else "code"
        found.append(Block(text.count("\n", 0, match.start(group)), kind, match[group], match["reason"]))
    return found


def run(page: Path) -> dict[str, Any]:
    """Run the blocks of a page, and return the names that they define; skip if an optional package is missing."""
    names: dict[str, Any] = {"__name__": page.stem}
    try:
        for block in blocks(page):
            if block.reason is None:
                _run(block, page, names)
    except ImportError as error:
        skip_if_optional(error, page)
    return names


def skip_if_optional(error: ImportError, page: Path) -> NoReturn:
    """Skip a page that needs a package that isn't installed, and raise any other error."""
    package = getattr(error, "package", error.name)
    if package is None or package.startswith("kinsplit"):
        raise error
    pytest.skip(f"{page.name} needs {package}")


def _run(block: Block, page: Path, names: dict[str, Any]) -> None:
    if block.kind != "pycon":
        # With the page's own line numbers in a traceback.
        exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.code, names, page.name, str(page), block.line)
    try:
        doctest.DebugRunner().run(test, clear_globs=False)
    except doctest.UnexpectedException as error:
        raise error.exc_info[1].with_traceback(error.exc_info[2]) from None  # type: ignore[union-attr]
    except doctest.DocTestFailure as error:
        line = block.line + error.example.lineno + 1
        pytest.fail(f"{page}:{line}: {error.example.source}expected {error.example.want}got {error.got}", pytrace=False)
    names.update(test.globs)

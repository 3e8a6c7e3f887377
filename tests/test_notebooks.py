"""The notebooks run, and show what they print today.

They run here in one process, with fast substitutes of the models; CI runs them in their own kernel (`make notebooks`).
"""

from __future__ import annotations

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.snippets import ROOT, skip_if_optional

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_prints(path: Path) -> None:
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))

    for number, cell in enumerate(cells, 1):
        try:
            printed, value = executed("".join(cell["source"]), f"{path.name}[{number}]", names)
        except ImportError as error:
            skip_if_optional(error, path)
        streams = ["".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"]
        results = [output["data"]["text/plain"] for output in cell["outputs"] if "data" in output]
        assert "".join(streams) == printed
        # IPython wraps long values.
        assert ["".join("".join(lines).split()) for lines in results] == (
            [] if value is None else ["".join(repr(value).split())]
        )
        pages = [
            "".join(output["data"]["text/html"]) for output in cell["outputs"] if "text/html" in output.get("data", ())
        ]
        assert pages == ([value._repr_html_()] if hasattr(value, "_repr_html_") else [])


def executed(source: str, name: str, names: dict[str, Any]) -> tuple[str, object]:
    """Run a cell, and return what it prints and the value of its last line."""
    tree = ast.parse(source, name)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(last, name, "eval"), names)
    return printed.getvalue(), value


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3

"""The files that the generators in docs/ write are those of the code."""

from __future__ import annotations

import pytest

from kinsplit.parsers import names
from tests.snippets import ROOT, docs_module


@pytest.mark.parametrize(
    "name", ["applications", "architecture", "replaces", "servers", "stock", "strategies", "stubs"]
)
def test_a_generated_file_is_that_of_the_code(name: str) -> None:
    written = docs_module(name).generated()
    assert written
    for path, content in written.items():
        assert path.read_text(encoding="utf-8") == content, f"run: python docs/{name}.py"


def test_every_strategy_has_an_example_on_its_page() -> None:
    page = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
    assert page.count("```pycon\n>>> ") == len(names())

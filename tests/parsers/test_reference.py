"""The generated documentation of strategies, and its examples."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from kinsplit.parsers import names, strategy_class
from kinsplit.parsers.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "strategies.md"


def test_the_page_is_that_of_the_strategies() -> None:
    wanted = reference()
    assert PAGE.read_text(encoding="utf-8") == wanted, f"run: python -m kinsplit.parsers.reference > docs/{PAGE.name}"
    assert wanted.count("```pycon\n>>> ") == len(names())


@pytest.mark.parametrize("name", names())
def test_the_example_of_a_strategy_holds(name: str) -> None:
    kind = strategy_class(name)
    (found,) = doctest.DocTestFinder().find(kind, kind.__name__, globs={})[:1]
    assert found.examples
    report: list[str] = []
    assert doctest.DocTestRunner().run(found, out=report.append).failed == 0, "".join(report)

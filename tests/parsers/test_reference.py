"""The generated documentation of strategies, and its examples."""

from __future__ import annotations

import doctest

import pytest

from kinsplit.parsers import names, strategy_class


@pytest.mark.parametrize("name", names())
def test_the_example_of_a_strategy_holds(name: str) -> None:
    kind = strategy_class(name)
    (found,) = doctest.DocTestFinder().find(kind, kind.__name__, globs={})[:1]
    assert found.examples
    report: list[str] = []
    assert doctest.DocTestRunner().run(found, out=report.append).failed == 0, "".join(report)

"""The rows of docs/replaces.md, which the tests of this folder make.

A test proves a row by its decorator, and a row that another test of this repository proves names that test:

    @TABLE.row("`TOP_K = 3`", "`kinsplit compare QUESTION --top-k 3`")
    def test_so_many_results_are_shown(): ...

    TABLE.row("`Min/Max Chars`", "`kinsplit stats`", proof="tests/cli/test_stats.py::test_it")
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]

#: How a row may stand, in the order of the summary's columns.
STATES = (
    WORKS := "works",
    DIFFERS := "differs on purpose",
    NOT_TESTED := "not tested",
    MISSING := "missing",
)

#: How the services of a row's test ran, in the order of the summary's columns.
RUNS = (
    REAL := "for real",
    RECORDED := "recorded",
    DOCUMENTED := "as documented",
    STAND_IN := "stand-in",
    NOT_RUN := "not run",
)
# By the fixtures and classes that a test names; a test that names none runs for real.
_SERVICES = {
    **dict.fromkeys(("ollama", "smollm2"), RECORDED),
    **dict.fromkeys(("openai", "wikipedia"), DOCUMENTED),
    **dict.fromkeys(("fake", "wiki", "Fake", "Scripted"), STAND_IN),
}

Test = TypeVar("Test", bound=Callable[..., object])


@dataclass
class Row:
    """A feature of a replaced system.

    Attributes:
        section: Part of its document.
        feature: The feature, as the document words it.
        here: The command or call that does it here.
        proof: The test that shows it, as PATH::NAME; empty if the row needs or lacks something.
        differs: Why it works otherwise here, on purpose.
        needs: What it needs to run that the tests don't have.
        missing: Why it isn't here, or the reason of a test that is expected to fail.
    """

    section: str
    feature: str
    here: str
    proof: str = ""
    differs: str = ""
    needs: str = ""
    missing: str = ""

    def __call__(self, test: Test) -> Test:
        """Take a test as the proof; if it is expected to fail, its reason is why the feature is missing."""
        marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
        if "xfail" in marks:
            self.missing = marks["xfail"].kwargs["reason"]
        path = Path(test.__code__.co_filename).relative_to(ROOT)
        self.proof = f"{path.as_posix()}::{test.__name__}"
        return test

    @property
    def state(self) -> str:
        """How the row stands: one of `STATES`."""
        return (self.missing and MISSING) or (self.needs and NOT_TESTED) or (self.differs and DIFFERS) or WORKS

    @property
    def ran(self) -> str:
        """How the services of its test ran: one of `RUNS`."""
        if self.state in {MISSING, NOT_TESTED}:
            return NOT_RUN
        named = {_SERVICES[name] for name in _names(self.proof) if name in _SERVICES}
        return max(named, key=RUNS.index, default=REAL)

    def check(self) -> None:
        """Raise ValueError if the row claims what nothing proves."""
        if self.state not in {MISSING, NOT_TESTED} and not _names(self.proof):
            raise ValueError(f"no test proves {self.feature!r}: {self.proof!r}")


def _names(proof: str) -> set[str]:
    """Return the names in a test, PATH::NAME, its own among them; none if there is no such test."""
    path, _, name = proof.partition("::")
    tests = [test for test in _functions(path) if test.name == name] if path else []
    parts = [part for test in tests for part in ast.walk(test)]
    return {name for _ in tests} | {
        part.arg if isinstance(part, ast.arg) else part.id for part in parts if isinstance(part, ast.arg | ast.Name)
    }


@cache
def _functions(path: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    parts = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return [part for part in parts if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]


@dataclass
class Table:
    """All features of a replaced system, in the order of its document.

    Attributes:
        system: Its name.
        summary: What it is, in a sentence.
        rows: The features.
    """

    system: str
    summary: str
    rows: list[Row] = field(default_factory=list)
    _section: str = ""

    def section(self, title: str) -> None:
        """Begin a section; the rows that follow belong to it."""
        self._section = title

    def row(self, feature: str, here: str, proof: str = "", **how: Any) -> Row:
        """Add a row with fields of `Row`; without a proof and a reason, it has to decorate the test that proves it."""
        row = Row(self._section, feature, here, proof, **how)
        self.rows.append(row)
        return row

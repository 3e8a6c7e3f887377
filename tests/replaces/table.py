"""The rows of docs/replaces.md, which the tests of this folder make.

A test proves a row by its decorator, and a row that another test of this repository proves names that test:

    @TABLE.row("`TOP_K = 3`", "`kinsplit compare QUESTION --top-k 3`")
    def test_so_many_results_are_shown(): ...

    TABLE.row("`Min/Max Chars`", "`kinsplit stats`", proof="tests/cli/test_stats.py::test_it")
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]

#: How a row may stand, in the order of the summary's columns.
STATES = (
    WORKS := "works",
    WORKS_WITH_STAND_IN := "works with a stand-in",
    DIFFERS := "differs on purpose",
    NOT_TESTED := "not tested",
    MISSING := "missing",
)

Test = TypeVar("Test", bound=Callable[..., object])


@dataclass
class Row:
    """A feature of a replaced system.

    Attributes:
        section: Part of its document.
        feature: The feature, as the document words it.
        here: The command or call that does it here.
        proof: The test that shows it, as PATH::NAME; empty if the row needs or lacks something.
        stand_in: Whether a server on the same machine takes the place of a service, with its documented API.
        differs: Why it works otherwise here, on purpose.
        needs: What it needs to run that the tests don't have.
        missing: Why it isn't here, or the reason of a test that is expected to fail.
    """

    section: str
    feature: str
    here: str
    proof: str = ""
    stand_in: bool = False
    differs: str = ""
    needs: str = ""
    missing: str = ""

    def __call__(self, test: Test) -> Test:
        """Take a test as the proof; if it is expected to fail, its reason is why the feature is missing.

        The fixture `fake` is the stand-in of a service.
        """
        marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
        if "xfail" in marks:
            self.missing = marks["xfail"].kwargs["reason"]
        self.stand_in = "fake" in signature(test).parameters
        path = Path(test.__code__.co_filename).relative_to(ROOT)
        self.proof = f"{path.as_posix()}::{test.__name__}"
        return test

    @property
    def state(self) -> str:
        """How the row stands: one of `STATES`."""
        works = WORKS_WITH_STAND_IN if self.stand_in else WORKS
        return (self.missing and MISSING) or (self.needs and NOT_TESTED) or (self.differs and DIFFERS) or works

    def check(self) -> None:
        """Raise ValueError if the row claims what nothing proves."""
        if self.state in {MISSING, NOT_TESTED}:
            return
        path, _, name = self.proof.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8") if path else ""
        if not re.search(rf"^(async )?def {re.escape(name)}\(", text, re.MULTILINE):
            raise ValueError(f"no test proves {self.feature!r}: {self.proof!r}")


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

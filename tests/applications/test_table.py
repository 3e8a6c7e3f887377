"""The table of the applications in the documentation; docs/applications.py counts the lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.applications.table import row

APPLICATIONS = sorted(path.parent.name for path in Path(__file__).parent.glob("*/after.py"))


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_application_changes_ten_lines_at_most_and_loses_nothing(application: str) -> None:
    assert int(row(application).lines) <= 10
    assert row(application).lost == "nothing"

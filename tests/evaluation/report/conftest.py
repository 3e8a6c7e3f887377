"""Pages that several tests share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kinsplit.evaluation.labels import StatisticNote
from kinsplit.evaluation.report import write_report
from kinsplit.evaluation.results import Results
from tests.evaluation.hostile import hostile
from tests.evaluation.made_results import results

NOTE = StatisticNote(name="mid_word", unit="share", description="Share of chunks that cut a word")
MADE: dict[str, Callable[[], Results]] = {
    "four strategies": lambda: results(statistic_notes=[NOTE]),
    "eight strategies": lambda: results(strategies=8, documents=60, questions=3),
    "hostile": hostile,
}


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the page of results."""

    @cache
    def write(name: str) -> Path:
        return write_report(MADE[name](), tmp_path_factory.mktemp("report") / "new" / "report.html")[0]

    return write

"""Fixture of a folder with two lectures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.helpers import PARAGRAPHS


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "lecture_01.md").write_text("# One\n\n" + "\n\n".join(PARAGRAPHS), encoding="utf-8")
    (folder / "lecture_02.md").write_text("# Two\n\n" + "\n\n".join(reversed(PARAGRAPHS)), encoding="utf-8")
    return folder

"""Output paths are checked before the work, not after hours of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinsplit.cli.options import check_writable
from kinsplit.errors import InvalidParameterError
from tests.cli.conftest import Cli


@pytest.mark.parametrize("command", [["evaluate", "--docs", "nowhere"], ["tune", "nowhere"]])
def test_a_place_that_cannot_be_is_told_before_anything_is_read(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "file").write_text("x")

    for place, message in (
        ("file/results", f"must be in a folder, but {tmp_path / 'file'} is a file"),
        (".", "not a folder"),
    ):
        result = cli(*command, "--output", place)
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("Error: --output: ")
        assert message in result.stderr


def test_folders_that_are_not_there_yet_are_fine_and_those_without_permission_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_writable(tmp_path / "a" / "b" / "c.json")
    assert list(tmp_path.iterdir()) == []

    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(InvalidParameterError, match="must be writable"):
        check_writable(tmp_path / "a" / "b" / "c.json")

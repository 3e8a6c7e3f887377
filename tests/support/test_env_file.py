"""Variables from `.env`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinsplit.errors import LoadError
from kinsplit.support.env_file import env_file


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RENT_SET", "RENT_EMPTY", "RENT_NEW", "RENT_BLANK"):
        monkeypatch.delenv(name, raising=False)


def test_the_environment_goes_first_and_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENT_SET", "outside")
    monkeypatch.setenv("RENT_EMPTY", "")
    (tmp_path / ".env").write_text(
        "\ufeff# Keys\nRENT_SET=file\nRENT_EMPTY=file\nexport RENT_NEW='a b' # why\nRENT_BLANK=\n", encoding="utf-8"
    )
    before = dict(os.environ)
    with env_file():
        assert [os.environ.get(f"RENT_{name}") for name in ("SET", "EMPTY", "NEW", "BLANK")] == [
            *("outside", "file", "a b", None)
        ]
        with env_file():
            assert os.environ["RENT_NEW"] == "a b"
        assert os.environ["RENT_NEW"] == "a b"
    assert dict(os.environ) == before


def test_without_a_file_nothing_changes() -> None:
    before = dict(os.environ)
    with env_file():
        assert dict(os.environ) == before


def test_a_file_that_is_not_text_is_one_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"RENT_NEW=\xff\xfe")
    with pytest.raises(LoadError, match=r"^\.env: is not UTF-8 text"), env_file():
        pass

"""The contract as a class, which the tests of every format inherit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tests.loaders.contract.blocks import Builder
from tests.loaders.contract.checks import CHECKS, Read
from tests.loaders.helpers import load_one

#: The rows of the contract.
ROWS = tuple(dict.fromkeys(check.row for check in CHECKS))


def read(path: Path, data: bytes) -> Read:
    """Return what kinsplit reads of a file."""
    path.write_bytes(data)
    loaded = load_one(path)
    documents = loaded.documents
    headings = [heading.title for document in documents for heading in document.headings]
    return Read("\n\n".join(document.text for document in documents), loaded.warnings, headings, documents)


class ReaderContract:
    """A test for each row of the contract; all of a row's checks are tried whose blocks the format can hold.

    Attributes:
        builder: The builder of the format's files.
        without: The rows that don't apply to the format, with the reason; they have no test.
    """

    builder: ClassVar[Builder]
    without: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, builder: Builder, without: Mapping[str, str]) -> None:
        """Set the attributes, and remove the tests of the rows that don't apply."""
        cls.builder, cls.without = builder, without
        for row in without:
            setattr(cls, f"test_{row.replace(', ', '_').replace(' ', '_')}", None)

    def lost(self, folder: Path, row: str) -> list[tuple[str, str]]:
        """Return what is not kept of a row: the names of the checks, and the texts."""
        path = folder / f"a{self.builder.suffix}"
        checks = [check for check in CHECKS if check.row == row and self.builder.holds(check.blocks)]
        assert checks
        tried = ((check, read(path, self.builder.build(*check.blocks))) for check in checks)
        return [(check.name, result.text) for check, result in tried if not check.kept(result)]

    def test_every_other_row_applies(self) -> None:
        apply = {check.row for check in CHECKS if self.builder.holds(check.blocks)}
        assert apply == {*ROWS} - self.without.keys()

    def test_characters(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "characters") == []

    def test_numbers(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "numbers") == []

    def test_rows_and_columns(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "rows and columns") == []

    def test_lists(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "lists") == []

    def test_structure(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "structure") == []

    def test_parts(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "parts") == []

    def test_reading_order(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "reading order") == []

    def test_pages_times_speakers(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "pages, times, speakers") == []

    def test_extra_fields(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "extra fields") == []

    def test_left_out(self, tmp_path: Path) -> None:
        assert self.lost(tmp_path, "left out") == []

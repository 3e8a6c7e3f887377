"""The contract of fidelity, for every format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kinsplit.loaders import FORMATS
from tests.loaders.contract import office_files, text_files
from tests.loaders.contract.suite import ROWS, ReaderContract

_PLACES = "pages, times, speakers"
_CHARACTERS = "it is written in characters, which are kept"
_NO_OTHER_TEXT = "it has one text and nothing beside it"
# Rows that don't apply to files of characters, and more that don't apply where these have no form.
_WRITTEN = {"numbers": _CHARACTERS, "lists": _CHARACTERS, "parts": _NO_OTHER_TEXT, "left out": _NO_OTHER_TEXT}
_UNFORMED = _WRITTEN | {"rows and columns": _CHARACTERS, "structure": _CHARACTERS}
_NO_FIELDS = {"extra fields": "it has none besides the title"}
_SHEETS = {
    "lists": "numbers are values of cells",
    "structure": "only sheets have names",
    _PLACES: "its pages depend on the printer",
    "extra fields": "its fields are columns",
}
_PRINTED = {_PLACES: "its pages depend on the program", **_NO_FIELDS}
_NO_PLACES = {_PLACES: "it has none"}
_PLAIN = _UNFORMED | _NO_PLACES | _NO_FIELDS
_PROGRAM = {row: reason for row, reason in _PLAIN.items() if row != "structure"}
_ROWS = _WRITTEN | _NO_PLACES | {"structure": "only columns have names", "extra fields": "its fields are columns"}


class TestText(ReaderContract, builder=text_files.TEXT, without=_PLAIN):
    pass


class TestLog(ReaderContract, builder=text_files.LOG, without=_PLAIN):
    pass


class TestPython(ReaderContract, builder=replace(text_files.PROGRAM, suffix=".py"), without=_PROGRAM):
    pass


class TestJavaScript(ReaderContract, builder=replace(text_files.PROGRAM, suffix=".js"), without=_PROGRAM):
    pass


class TestMarkdown(ReaderContract, builder=text_files.MARKDOWN, without={"numbers": _CHARACTERS, **_NO_PLACES}):
    pass


class TestNotebook(ReaderContract, builder=text_files.NOTEBOOK, without={"numbers": _CHARACTERS, **_NO_PLACES}):
    pass


class TestHtml(ReaderContract, builder=text_files.HTML, without=_NO_PLACES | _NO_FIELDS):
    pass


class TestEpub(ReaderContract, builder=text_files.EPUB, without=_PRINTED):
    pass


class TestMail(ReaderContract, builder=text_files.MAIL, without=_NO_PLACES):
    pass


class TestMailbox(ReaderContract, builder=text_files.MAILBOX, without=_NO_PLACES):
    pass


class TestRtf(ReaderContract, builder=text_files.RTF, without=_PRINTED):
    pass


class TestWord(ReaderContract, builder=office_files.WORD, without=_PRINTED):
    pass


class TestSlides(ReaderContract, builder=office_files.SLIDES, without=_NO_FIELDS):
    pass


class TestExcel(ReaderContract, builder=office_files.XLSX, without=_SHEETS):
    pass


class TestOpenDocument(ReaderContract, builder=office_files.ODS, without=_SHEETS):
    pass


class TestPdf(
    ReaderContract,
    builder=office_files.PDF,
    without={"rows and columns": "it has no cells, only an order", "lists": _CHARACTERS, **_NO_FIELDS},
):
    pass


class TestCommas(ReaderContract, builder=text_files.CSV, without=_ROWS):
    pass


class TestTabs(ReaderContract, builder=text_files.TSV, without=_ROWS):
    pass


class TestJson(ReaderContract, builder=text_files.JSON, without=_UNFORMED | _NO_PLACES):
    pass


class TestJsonLines(ReaderContract, builder=text_files.JSONL, without=_UNFORMED | _NO_PLACES):
    pass


class TestSubRip(ReaderContract, builder=text_files.SRT, without=_UNFORMED | _NO_FIELDS):
    pass


class TestWebVtt(ReaderContract, builder=text_files.VTT, without=_UNFORMED | _NO_FIELDS):
    pass


def test_every_kind_of_file_keeps_the_contract() -> None:
    tried = {contract.builder.suffix for contract in ReaderContract.__subclasses__()}
    assert {fmt.name for fmt in FORMATS if not tried.isdisjoint(fmt.suffixes)} == {fmt.name for fmt in FORMATS}


def test_the_docs_say_which_rows_apply() -> None:
    page = (Path(__file__).parents[2] / "docs" / "readers.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    (rows,) = (cells[1:] for cells in lines if cells and cells[0] == "files" and "characters" in cells)
    told = {cells[0]: cells[1:] for cells in lines if cells and cells[0].startswith("`.")}
    assert {*rows} == {*ROWS}
    for contract in ReaderContract.__subclasses__():
        assert told[f"`{contract.builder.suffix}`"] == ["–" if row in contract.without else "✓" for row in rows]

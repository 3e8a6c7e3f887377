"""What every reader keeps: each check is a file's blocks, and what must hold of the text that is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kinsplit.chunk import Document
from tests.loaders.contract import blocks as b

_ROW = re.compile(r"^\|(.*)\|[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of a file.

    Attributes:
        text: The text, several documents joined by blank lines.
        warnings: What it said about it.
        headings: Titles of headings, if they stand beside the text.
        documents: The documents, for what else stands beside it; empty for readers that give only text.
    """

    text: str
    warnings: Sequence[str] = ()
    headings: Sequence[str] = ()
    documents: Sequence[Document] = ()

    @property
    def rows(self) -> list[list[str]]:
        """The cells of all rows of tables, without the lines below headers."""
        lines = [[cell.strip() for cell in row.split("|")] for row in _ROW.findall(self.text)]
        return [row for row in lines if any(cell.strip(":- ") for cell in row) or not any(row)]

    def once(self, *words: str) -> bool:
        """Return whether each of some words stands there exactly once."""
        return all(self.text.count(word) == 1 for word in words)

    def in_order(self, *words: str) -> bool:
        """Return whether words stand there, one behind the other."""
        return re.search(".*?".join(map(re.escape, words)), self.text, re.DOTALL) is not None

    def warns_of(self, word: str) -> bool:
        """Return whether a warning counts something."""
        return any(re.search(rf"\b{word}", warning) for warning in self.warnings)


class Check(NamedTuple):
    """A row of the contract, tried with a file."""

    row: str
    name: str
    blocks: tuple[object, ...]
    kept: Callable[[Read], bool]


def in_own_columns(read: Read, table: b.Table) -> bool:
    """Return whether every row is there with all of its values in their columns; merged values may be repeated."""
    found = iter(read.rows)
    rows = [row for row, values in enumerate(table.rows) if any(values)]
    return all(any(_is_row(cells, table, row) for cells in found) for row in rows)


def _is_row(cells: Sequence[str], table: b.Table, row: int) -> bool:
    shown = table.rows[row]
    if not any(cells) or len(cells) > len(shown):
        return False
    whole = [*cells, *[""] * (len(shown) - len(cells))]
    covered = [table.rows[top][left] for top, left in table.begins[row]]
    places = zip(whole, shown, covered, strict=True)
    return all(cell == own if own else cell in ("", repeated) for cell, own, repeated in places)


_BIRDS = b.Table([["bird", "count", "site"], ["heron", "12", "mill"], ["owl", "3", "barn"]])
_MERGED = b.Table(
    [
        ["region", "quarter", "sales", "costs"],
        ["North", "Q1", "120", "80"],
        ["", "Q2", "140", "95"],
        ["South", "Q1", "both", ""],
    ],
    [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(1, 0), (1, 1), (1, 2), (1, 3)],
        [(1, 0), (2, 1), (2, 2), (2, 3)],
        [(3, 0), (3, 1), (3, 2), (3, 2)],
    ],
)
_SCRIPTS = {
    "Latin letters": "Straße naïve ﬁn Ａ",
    "Greek and Cyrillic": "Ελλάδα Москва",
    "Japanese and Korean": "日本語の文 한국어",
    "Hindi and Thai": "हिन्दी ไทย",
    "composed and decomposed accents": "caf\u00e9 cafe\u0301",
    "symbols": "🦉 x² ½ ①",
    "signs of markup": "a < b & c > d",
}
_NUMBERS = (
    b.Number(0.075, "0.0%", "7.5%"),
    b.Number(1234.5, '#,##0.00 "€"', "1,234.50 €"),
    b.Number(1234, "00000", "01234"),
    b.Number(1.25, "[h]:mm", "30:00"),
    b.Number(46096, "dd.mm.yyyy", "15.03.2026"),
    b.Number(12345, "0.00E+00", "1.23E+04"),
    b.Number(-5.5, "#,##0.00;(#,##0.00)", "(5.50)"),
    b.Number(1234567, "#,##0", "1,234,567"),
)
_CODE = "for bird in birds:\n    if bird.sings:\n        count += 1"
_RAISED = r"10(\^\(?5|⁵|<sup>5</sup>|\$?\^\{?5)"
_MARKED = r"25(?!1)\W{1,4}1|25<sup>.{0,40}1|25[¹]"
_DESCRIBED = b.Picture("Five grey herons")


_LINES = (*"abcdef",)
_TWO = b.Columns(
    tuple(f"left {n} of the long story told" for n in _LINES),
    tuple(f"right {n} of the long story told" for n in _LINES),
)
_BROKEN = b.Columns(
    ("Every example of this exam-", "ple is joined again where it", "was broken by its column."),
    ("Other text", "stands here."),
)


def _shows(read: Read, number: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(number)}(?![\w.,])", read.text) is not None


def _is_nested(cells: Sequence[str]) -> bool:
    """Return whether the row around a table in a cell is whole."""
    return (
        bool(cells)
        and (cells[0], cells[-1]) == ("Kite 7", "light wind")
        and re.search("spar.*2.*sail.*1", " ".join(cells[1:-1])) is not None
    )


def _has_code(read: Read) -> bool:
    """Return whether the lines of the program are there with their indentation."""
    lines = (line.rstrip() for line in read.text.split("\n"))
    return f"\n{_CODE}" in "\n".join(("", *filter(None, lines)))


def _has_boxes(read: Read) -> bool:
    """Return whether the first box is checked and the second isn't, each before or behind its text."""
    yes, no = r"(☒|☑|\[[xX]\])", r"(☐|\[ \])?"
    forms = (rf"{yes}\s*I agree\W*?{no}\s*I call", rf"I agree\W*?{yes}\W*I call\W*{no}\s*\Z")
    return any(re.search(form, read.text) for form in forms)


def _times(read: Read) -> list[float]:
    (document,) = read.documents
    return [moment.start for moment in document.times]


def _pages(read: Read) -> list[str]:
    (document,) = read.documents
    return [document.text[at:].split()[0] for at in document.pages]


#: All checks, by the rows of the contract.
CHECKS: tuple[Check, ...] = (
    *(
        Check("characters", name, (b.Scripts(text),), lambda read, text=text: text in read.text)
        for name, text in _SCRIPTS.items()
    ),
    Check("characters", "accents", (b.Words("Straße naïve – 5 €"),), lambda read: "Straße naïve – 5 €" in read.text),
    Check(
        "numbers",
        "a power",
        (b.Power("It is 10", "5", " metres."),),
        lambda read: "105" not in read.text and re.search(_RAISED, read.text) is not None,
    ),
    Check(
        "numbers",
        "the mark of a note",
        (b.Note("Sales rose by 25", "Before tax.", " in May."),),
        lambda read: re.search(_MARKED, read.text) is not None and "251" not in read.text,
    ),
    *(
        Check("numbers", f"{n.value} as {n.format}", (n,), lambda read, shown=n.shown: _shows(read, shown))
        for n in _NUMBERS
    ),
    Check("rows and columns", "a table", (_BIRDS,), lambda read: in_own_columns(read, _BIRDS)),
    Check("rows and columns", "merged cells", (_MERGED,), lambda read: in_own_columns(read, _MERGED)),
    Check(
        "rows and columns",
        "a table in a cell",
        (b.Nested("Kite 7", (("spar", "2"), ("sail", "1")), "light wind"),),
        lambda read: any(map(_is_nested, read.rows)),
    ),
    Check(
        "lists",
        "a number to start from",
        (b.Items(("Fit the seal", "Close the lid"), 3),),
        lambda read: read.in_order("3. Fit the seal", "4. Close the lid"),
    ),
    Check(
        "lists",
        "a list that begins again",
        (b.Items(("Open", "Look")), b.Words("Then the other one."), b.Items(("Turn", "Close"))),
        lambda read: read.in_order("1. Open", "2. Look", "Then", "1. Turn", "2. Close"),
    ),
    Check(
        "structure",
        "headings",
        (b.Heading(1, "Birds"), b.Words("They fly."), b.Heading(2, "Owls"), b.Words("They sleep by day.")),
        lambda read: (
            read.in_order("# Birds", "They fly.", "# Owls", "They sleep") or [*read.headings] == ["Birds", "Owls"]
        ),
    ),
    Check("structure", "indentation of code", (b.Words("See:"), b.Code(_CODE)), _has_code),
    *(
        Check("parts", name, (b.Words("Text."), block), lambda read, text=text: read.once(text))
        for name, block, text in (
            ("footnotes", b.Note("Sales rose", "Before tax.", " in May."), "Before tax"),
            ("comments", b.Comment("Which heron?"), "Which heron?"),
            ("page headers", b.Header("River survey"), "River survey"),
            ("page footers", b.Footer("Draft of May"), "Draft of May"),
            ("text boxes", b.TextBox("In a frame"), "In a frame"),
            ("alternative texts", _DESCRIBED, _DESCRIBED.text),
            ("speaker notes", b.SpeakerNotes("Say it slowly"), "Say it slowly"),
            ("attachments", b.Attached("Seen at the mill"), "Seen at the mill"),
        )
    ),
    Check(
        "parts",
        "checked boxes",
        (b.Box(True, "I agree"), b.Box(False, "I call")),
        _has_boxes,
    ),
    Check(
        "parts",
        "ruby",
        (b.Ruby("店に", "行", "い", "った。"),),
        lambda read: re.search(r"店に ?行 ?([(（] ?い ?[)）])? ?った", read.text) is not None,
    ),
    Check(
        "reading order",
        "columns",
        (_TWO,),
        lambda read: read.in_order(*(f"left {n}" for n in _LINES), *(f"right {n}" for n in _LINES)),
    ),
    Check(
        "reading order",
        "words hyphenated at the end of a line",
        (_BROKEN,),
        lambda read: "this example is" in " ".join(read.text.split()),
    ),
    Check(
        "reading order",
        "rows of a drawn table",
        (b.DrawnTable(_BIRDS.rows),),
        lambda read: all(re.search(" *[| ] *".join(row), read.text) for row in _BIRDS.rows),
    ),
    Check(
        "reading order",
        "paragraphs",
        tuple(b.Words(f"{word} bird sings.") for word in ("First", "Second", "Third")),
        lambda read: read.in_order("First bird", "Second bird", "Third bird"),
    ),
    Check(
        "pages, times, speakers",
        "pages",
        (b.Words("One page."), b.Page(), b.Words("Another page."), b.Page(), b.Words("Last page.")),
        lambda read: _pages(read) == ["One", "Another", "Last"],
    ),
    Check(
        "pages, times, speakers",
        "times",
        (b.Said(1, "Ann", "Good morning."), b.Said(7, "Ben", "And to you.")),
        lambda read: _times(read) == [1, 7] and read.in_order("Good morning", "Ben: And to you"),
    ),
    Check(
        "extra fields",
        "a field of the file's own",
        (b.Words("Text."), b.Field("from", "Ann Heron")),
        lambda read: all(document.metadata.get("from") == "Ann Heron" for document in read.documents),
    ),
    Check(
        "left out",
        "pictures without a text",
        (b.Words("Text."), b.Photo()),
        lambda read: read.warns_of("picture|data: URI"),
    ),
    Check(
        "left out",
        "hidden text",
        (b.Words("Text."), b.Hidden("Not to be seen")),
        lambda read: read.warns_of("hidden") and "Not to be seen" not in read.text,
    ),
)
#: The rows of the contract.
ROWS = tuple(dict.fromkeys(check.row for check in CHECKS))

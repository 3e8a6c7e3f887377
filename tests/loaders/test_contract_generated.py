"""Rows of the contract with generated files: merged cells, formats of numbers, charsets and trees of e-mails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from email.message import EmailMessage, MIMEPart
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.loaders import FORMATS, Content
from kinsplit.loaders.run import with_attachments
from tests.loaders.contract import blocks as b
from tests.loaders.contract import office_files, text_files
from tests.loaders.contract.checks import Read, in_own_columns
from tests.loaders.office import epub


def read(suffix: str, data: bytes) -> tuple[Content, ...]:
    """Return what is read of a file in this process."""
    (fmt,) = (fmt for fmt in FORMATS if suffix in fmt.suffixes)
    return with_attachments(fmt.read(data)).contents


def text_of(suffix: str, data: bytes) -> str:
    return "\n\n".join(content.text for content in read(suffix, data))


# Tables


@st.composite
def tables(draw: st.DrawFn) -> b.Table:
    """Draw a table whose header has no merged cells and whose other cells may cover several rows and columns."""
    rows, columns = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    begins = {(0, column): (0, column) for column in range(columns)}
    for row, column in itertools.product(range(1, rows), range(columns)):
        if (row, column) in begins:
            continue
        width = 1
        while column + width < columns and (row, column + width) not in begins and draw(st.booleans()):
            width += 1
        height = draw(st.integers(1, rows - row))
        begins |= {(row + down, column + right): (row, column) for down in range(height) for right in range(width)}
    grid = [[begins[row, column] for column in range(columns)] for row in range(rows)]
    values = [
        [f"r{row}c{column}" if begin == (row, column) else "" for column, begin in enumerate(places)]
        for row, places in enumerate(grid)
    ]
    return b.Table(values, grid)


_WITH_SPANS = [
    *(text_files.HTML, text_files.EPUB, text_files.MAIL, text_files.RTF),
    *(office_files.WORD, office_files.SLIDES, office_files.XLSX, office_files.ODS),
]


@pytest.mark.parametrize("builder", _WITH_SPANS, ids=lambda builder: builder.suffix)
@settings(max_examples=25)
@given(table=tables())
def test_every_value_of_a_table_stands_once_in_its_own_column(builder: b.Builder, table: b.Table) -> None:
    text = text_of(builder.suffix, builder.build(table))

    assert in_own_columns(Read(text), table), text
    assert all(text.count(value) == 1 for row in table.rows for value in row if value), text


# Numbers

_ROUND = partial(Decimal.quantize, rounding=ROUND_HALF_UP)


def _places(places: int) -> Decimal:
    return Decimal(1).scaleb(-places)


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("0", lambda n: f"{_ROUND(n, _places(0))}"),
        ("0.00", lambda n: f"{_ROUND(n, _places(2))}"),
        ("#,##0", lambda n: f"{_ROUND(n, _places(0)):,}"),
        ("$#,##0.00", lambda n: f"${_ROUND(n, _places(2)):,}"),
        ("0.0%", lambda n: f"{_ROUND(100 * n, _places(1))}%"),
        ("0000000", lambda n: f"{_ROUND(n, _places(0)):07}"),
        ('0.0" km"', lambda n: f"{_ROUND(n, _places(1))} km"),
        ("[h]:mm", lambda n: f"{int(n * 24)}:{int(n * 1440) % 60:02}"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@settings(max_examples=25)
@given(number=st.decimals(0, 99_999, places=3))
def test_numbers_are_shown_in_their_formats(form: str, shown: Callable[[Decimal], str], number: Decimal) -> None:
    data = office_files.XLSX.build(b.Number(float(number), form, ""))

    assert text_of(".xlsx", data).rpartition("\n\n")[2] == shown(number)


# Charsets

#: Text in letters of the encodings that a file may declare, by their names in the standard for browsers.
_DECLARED = {
    "Straße, Käse – 5 €": ("utf-8", "windows-1252", "iso-8859-1", "latin1", "us-ascii", "cp1252"),
    "Façade, prêté": ("iso-8859-15", "macintosh", "iso-8859-1"),
    "Zażółć gęślą jaźń": ("iso-8859-2", "windows-1250", "latin2"),
    "İstanbul, şiir": ("windows-1254", "iso-8859-9", "latin5"),
    "Ελλάδα και θάλασσα": ("iso-8859-7", "windows-1253", "greek"),
    "Москва и река": ("windows-1251", "koi8-r", "iso-8859-5", "ibm866", "cyrillic", "x-mac-cyrillic"),
    "שלום עולם": ("iso-8859-8", "iso-8859-8-i", "windows-1255", "logical"),
    "السلام عليكم": ("windows-1256", "iso-8859-6", "arabic"),
    "สวัสดีชาวโลก": ("windows-874", "tis-620", "iso-8859-11"),
    "明日は晴れでしょう": ("shift_jis", "x-sjis", "euc-jp", "iso-2022-jp", "windows-31j"),
    "明天天气很好": ("gb2312", "gbk", "gb18030", "big5"),
    "안녕하세요 세계": ("euc-kr", "ks_c_5601-1987", "windows-949"),
    "Việt": ("windows-1258",),
}
#: Python's names of those that it knows by others.
_CODECS = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "macintosh": "mac-roman",
    "gb2312": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "logical": "iso-8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "iso-8859-9": "cp1254",
    "latin5": "cp1254",
    "ks_c_5601-1987": "cp949",
}
_SIMPLER = {"明天天气很好": "明天天氣很好", "Việt": "Viêt", "Façade, prêté": "Façade, prêté"}


def _html(text: str, label: str) -> tuple[str, bytes, bytes]:
    return ".html", f'<meta charset="{label}"><p>'.encode(), b"</p>"


def _old_html(text: str, label: str) -> tuple[str, bytes, bytes]:
    return ".html", f"<meta http-equiv=Content-Type content='text/html; charset={label}'><p>".encode(), b"</p>"


def _mail(text: str, label: str) -> tuple[str, bytes, bytes]:
    return ".eml", f'Subject: x\nContent-Type: text/plain; charset="{label}"\n\n'.encode(), b"\n"


def _html_mail(text: str, label: str) -> tuple[str, bytes, bytes]:
    return ".eml", f"Subject: x\nContent-Type: text/html; charset={label}\n\n<p>".encode(), b"</p>\n"


@pytest.mark.parametrize("around", [_html, _old_html, _mail, _html_mail])
@pytest.mark.parametrize(("text", "label"), [(text, label) for text, labels in _DECLARED.items() for label in labels])
def test_declared_charsets_decide(around: Any, text: str, label: str) -> None:
    text = _SIMPLER[text] if label in ("big5", "windows-1258") else text
    suffix, before, after = around(text, label)

    assert text in text_of(suffix, before + text.encode(_CODECS.get(label, label)) + after)


@pytest.mark.parametrize("label", ["utf-8", "utf-16", "iso-8859-1", "windows-1251", "shift_jis"])
def test_chapters_of_a_book_declare_their_charsets(label: str) -> None:
    text = {"windows-1251": "Москва и река", "shift_jis": "明日は晴れでしょう"}.get(label, "Façade, prêté")
    page = f'<?xml version="1.0" encoding="{label}"?><html xmlns="http://www.w3.org/1999/xhtml"><p>{text}</p></html>'

    assert text in text_of(".epub", epub({"a.xhtml": page.encode(label)}, ["a.xhtml"]))  # type: ignore[dict-item]


# E-mails


class _Tree:
    """Messages whose parts hold a word each."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.words: list[str] = []

    def word(self) -> str:
        self.words.append(f"word{len(self.words)}x")
        return self.words[-1]

    def part(self, depth: int) -> MIMEPart:
        kinds = ["plain", "html", "attachment"]
        if depth:
            kinds += ["mixed", "related", "alternative", "forwarded"]
        part = MIMEPart()
        match self.draw(st.sampled_from(kinds)):
            case "plain":
                part.set_content(self.word())
            case "html":
                part.set_content(f"<p>{self.word()}</p>", subtype="html")
            case "attachment":
                part.set_content(self.word(), filename=f"{len(self.words)}.txt", disposition="attachment")
            case "alternative":
                word = self.word()
                part.set_content(word)
                part.add_alternative(f"<p>{word}</p>", subtype="html")
            case "related":
                part.set_content(f"<p>{self.word()}<img src='cid:a' alt='{self.word()}'></p>", subtype="html")
                part.add_related(b"\x89PNG", "image", "png", cid="<a>")
            case "forwarded":
                part.set_content(self.message(depth - 1))
            case _:
                part.make_mixed()
                for _ in range(self.draw(st.integers(1, 3))):
                    part.attach(self.part(depth - 1))
        return part

    def message(self, depth: int) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = self.word()
        message.make_mixed()
        for _ in range(self.draw(st.integers(1, 3))):
            message.attach(self.part(depth))
        return message


@settings(max_examples=60)
@given(data=st.data())
def test_every_text_of_every_part_is_found_once(data: st.DataObject) -> None:
    tree = _Tree(data.draw)
    text = text_of(".eml", tree.message(3).as_bytes())

    assert {word: text.count(word) for word in tree.words} == dict.fromkeys(tree.words, 1)

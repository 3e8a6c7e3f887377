"""Builders of the formats that are written as text: pages, e-mails, e-books, tables, notebooks, subtitles, RTF."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from html import escape
from typing import Any

from tests.loaders.contract import blocks as b
from tests.loaders.office import epub

Parts = Mapping[type, Callable[[Any, Any], object]]


def adds(write: Callable[[Any], str]) -> Callable[[list[str], Any], None]:
    """Return a function that adds what is written of a block to a list."""
    return lambda target, block: target.append(write(block))


# HTML


def _cell(tag: str, columns: int, rows: int, inner: str) -> str:
    return f'<{tag} colspan="{columns}" rowspan="{rows}">{inner}</{tag}>'


def html_table(table: b.Table) -> str:
    rows = (
        "".join(_cell("td", columns, rows, escape(text)) for _, columns, rows, text in table.cells(row))
        for row in range(len(table.rows))
    )
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _nested(block: b.Nested) -> str:
    inner = html_table(b.Table(block.inner))
    header = "<tr><th>name</th><th>parts</th><th>use</th></tr>"
    return f"<table>{header}<tr><td>{block.before}</td><td>{inner}</td><td>{block.after}</td></tr></table>"


_CHECKED = ' checked="checked"'


def _picture(block: b.Picture | b.Photo) -> str:
    description = f' alt="{block.text}"' if block.text else ""
    return f'<p><img src="a.png"{description}/></p>'


_ELEMENTS: dict[type, Callable[[Any], str]] = {
    b.Words: lambda block: f"<p>{escape(block.text)}</p>",
    b.Scripts: lambda block: f"<p>{escape(block.text)}</p>",
    b.Heading: lambda block: f"<h{block.level}>{escape(block.text)}</h{block.level}>",
    b.Power: lambda block: f"<p>{block.before}<sup>{block.raised}</sup>{block.after}</p>",
    b.Note: lambda block: (
        f'<p>{block.before}<sup><a href="#n1" id="r1">1</a></sup>{block.after}</p><p id="n1">1. {block.note}</p>'
    ),
    b.Items: lambda block: (
        f'<ol start="{block.start}">{"".join(f"<li>{escape(item)}</li>" for item in block.items)}</ol>'
    ),
    b.Code: lambda block: f"<pre>{escape(block.text)}</pre>",
    b.Table: html_table,
    b.Nested: _nested,
    b.Box: lambda block: f'<p><input type="checkbox"{_CHECKED * block.checked}/> {block.text}</p>',
    b.Ruby: lambda block: (
        f"<p>{block.before}<ruby>{block.base}<rp>(</rp><rt>{block.reading}</rt><rp>)</rp></ruby>{block.after}</p>"
    ),
    **dict.fromkeys(
        (b.Picture, b.Photo), lambda block: f'<p><img src="a.png"{f" alt={block.text!r}" if block.text else ""}></p>'
    ),
    b.Hidden: lambda block: f'<p hidden="hidden">{block.text}</p>',
}
_HTML = {kind: adds(write) for kind, write in _ELEMENTS.items()}


def page(body: list[str]) -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>{"".join(body)}</body></html>'


def _book(body: list[str]) -> bytes:
    root = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Birds</title></head>'
    return epub({"a.xhtml": f"{root}<body>{''.join(body)}</body></html>"}, ["a.xhtml"], title="Birds")


# E-mails


class _Mail:
    def __init__(self) -> None:
        self.body: list[str] = []
        self.message = EmailMessage()
        self.message["Subject"] = "Birds"
        self.attached: list[str] = []


def _mail(mail: _Mail) -> bytes:
    mail.message.set_content(page(mail.body), subtype="html")
    for number, text in enumerate(mail.attached, 1):
        mail.message.add_attachment(text, filename=f"note {number}.txt")
    return mail.message.as_bytes()


def _in_body(write: Callable[[Any], str]) -> Callable[[_Mail, Any], None]:
    return lambda mail, block: mail.body.append(write(block))


_MAIL: Parts = {
    **{kind: _in_body(write) for kind, write in _ELEMENTS.items()},
    b.Attached: lambda mail, block: mail.attached.append(block.text),
    b.Field: lambda mail, block: mail.message.add_header(block.name, block.value),
}

# Markdown and plain text


def pipes(table: b.Table) -> str:
    lines = [f"| {' | '.join(row)} |" for row in table.rows]
    return "\n".join((lines[0], "|---" * len(table.rows[0]) + "|", *lines[1:]))


_WORDS: Parts = {kind: adds(lambda block: block.text) for kind in (b.Words, b.Scripts)}
_MARKDOWN: Parts = {
    **_WORDS,
    b.Heading: adds(lambda block: f"{'#' * block.level} {block.text}"),
    b.Code: adds(lambda block: f"```\n{block.text}\n```"),
    b.Items: adds(lambda block: "\n".join(f"{n}. {item}" for n, item in enumerate(block.items, block.start))),
    b.Table: adds(pipes),
    **dict.fromkeys(
        (b.Picture, b.Photo),
        adds(lambda block: f"![{block.text}](data:image/png;base64,{'iVBORw0KGgo' * 30})"),
    ),
    b.Field: lambda target, block: target.insert(0, f"---\n{block.name}: {block.value}\n---"),
}


def _joined(paragraphs: list[str]) -> bytes:
    return "\n\n".join(paragraphs).encode()


def _notebook(cells: list[str]) -> bytes:
    made = [{"cell_type": "markdown", "metadata": {}, "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}).encode()


def _mailbox(mail: _Mail) -> bytes:
    return b"From ann@example.org Mon Jan  1 10:00:00 2024\n" + _mail(mail) + b"\n"


# Rows


def _separated(separator: str) -> Parts:
    def write(table: b.Table) -> str:
        target = io.StringIO()
        csv.writer(target, delimiter=separator).writerows(table.rows)
        return target.getvalue()

    words = adds(lambda block: write(b.Table([["text", "count"], [block.text, "1"]])))
    return {**dict.fromkeys(_WORDS, words), b.Table: adds(write)}


class _Row(dict[str, str]):
    """A row of JSON."""


def _row() -> _Row:
    return _Row(docid="birds", text="")


_JSON: Parts = {
    **{kind: lambda row, block: row.update(text=f"{row['text']}\n\n{block.text}".strip()) for kind in _WORDS},
    b.Field: lambda row, block: row.update({block.name: block.value}),
}


# Subtitles


def _cue(comma: str, voice: str, written: Callable[[str], str] = str) -> Callable[[b.Said], str]:
    def write(block: b.Said) -> str:
        times = " --> ".join(f"00:00:{second:02}{comma}000" for second in (block.second, block.second + 2))
        return f"{times}\n{voice.format(block.speaker)}{written(block.text)}"

    return write


def _numbered(cues: list[str]) -> bytes:
    return _joined([f"{number}\n{cue}" for number, cue in enumerate(cues, 1)])


_SRT = _cue(",", "{}: ")
_VTT = _cue(".", "<v {}>", escape)


def _subtitles(write: Callable[[b.Said], str]) -> Parts:
    words = adds(lambda block: write(b.Said(1, "", block.text)).replace("<v >", "").replace("\n: ", "\n"))
    return {**dict.fromkeys((b.Words, b.Scripts), words), b.Said: adds(write)}


# RTF


def _letters(text: str) -> str:
    units = text.encode("utf-16-le")
    numbers = (int.from_bytes(units[at : at + 2], "little", signed=True) for at in range(0, len(units), 2))
    return "".join(chr(n) if 0 < n < 128 and chr(n) not in "\\{}" else rf"\u{n}?" for n in numbers)


def _rtf_table(table: b.Table) -> str:
    rows = []
    for row, places in enumerate(table.begins):
        ends, cells = "", ""
        for column, (top, left) in enumerate(places):
            wide = places.count((top, left)) > 1
            tall = sum((top, left) in line for line in table.begins) > 1
            across = (r"\clmgf" if column == left else r"\clmrg") if wide else ""
            down = (r"\clvmgf" if row == top else r"\clvmrg") if tall else ""
            ends += rf"{across}{down}\cellx{1000 * (column + 1)}"
            cells += rf"\intbl {_letters(table.rows[row][column])}\cell "
        rows.append(rf"\trowd{ends} {cells}\row ")
    return "".join(rows) + r"\pard "


def _rtf_items(block: b.Items) -> str:
    lines = (
        rf"{{\listtext {number}.\tab}}\ls1\ilvl0 {_letters(item)}\par "
        for number, item in enumerate(block.items, block.start)
    )
    return rf"{''.join(lines)}\pard "


def _rtf_note(block: b.Note) -> str:
    note = rf"{{\footnote\pard {{\super\chftn}} {block.note}\par}}"
    return rf"\pard {block.before}{{\super\chftn}}{note}{block.after}\par "


def _described(block: b.Picture) -> str:
    return rf"{{\*\picprop{{\sp{{\sn wzDescription}}{{\sv {block.text}}}}}}}" if block.text else ""


_RTF: Parts = {
    **{kind: adds(lambda block: rf"\pard {_letters(block.text)}\par ") for kind in _WORDS},
    b.Heading: adds(lambda block: rf"\pard\outlinelevel{block.level - 1} {_letters(block.text)}\par "),
    b.Power: adds(lambda block: rf"\pard {block.before}{{\super {block.raised}}}{block.after}\par "),
    b.Note: adds(_rtf_note),
    b.Items: adds(_rtf_items),
    b.Table: adds(_rtf_table),
    **dict.fromkeys(
        (b.Picture, b.Photo), adds(lambda block: rf"\pard{{\pict{_described(block)}\pngblip 89504e47}}\par ")
    ),
    b.Hidden: adds(lambda block: rf"\pard{{\v {block.text}}}\par "),
    b.Comment: adds(lambda block: rf"\pard Heron{{\*\atnid A}}{{\*\annotation {block.text}}}\par "),
    b.Header: adds(lambda block: rf"{{\header {block.text}\par}}"),
    b.Footer: adds(lambda block: rf"{{\footer {block.text}\par}}"),
    b.TextBox: adds(lambda block: rf"\pard Heron {{\shp{{\*\shpinst{{\shptxt {block.text}\par}}}}}}\par "),
}


def _rtf(body: list[str]) -> bytes:
    return rf"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0 Arial;}}}}{''.join(body)}}}".encode("ascii")


TEXT = b.Builder(".txt", list, _WORDS, _joined)
LOG = b.Builder(".log", list, _WORDS, _joined)
PROGRAM = b.Builder(".c", list, {**_WORDS, b.Code: adds(lambda block: block.text)}, _joined)
MARKDOWN = b.Builder(".md", list, _MARKDOWN, _joined)
HTML = b.Builder(".html", list, _HTML, lambda body: page(body).encode())
EPUB = b.Builder(".epub", list, _HTML, _book)
MAIL = b.Builder(".eml", _Mail, _MAIL, _mail)
MAILBOX = b.Builder(".mbox", _Mail, _MAIL, _mailbox)
NOTEBOOK = b.Builder(".ipynb", list, _MARKDOWN, _notebook)
CSV = b.Builder(".csv", list, _separated(","), _joined)
TSV = b.Builder(".tsv", list, _separated("\t"), _joined)
JSON = b.Builder(".json", _row, _JSON, lambda row: json.dumps([row]).encode())
JSONL = b.Builder(".jsonl", _row, _JSON, lambda row: json.dumps(row).encode())
SRT = b.Builder(".srt", list, _subtitles(_SRT), _numbered)
VTT = b.Builder(".vtt", list, _subtitles(_VTT), lambda cues: _joined(["WEBVTT", *cues]))
RTF = b.Builder(".rtf", list, _RTF, _rtf)

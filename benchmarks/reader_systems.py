"""Readers of files: kinsplit, MarkItDown, the simple backends of docling, and Unstructured.

Each reads the formats that it knows without models or other programs, with its own options that keep most.
"""

from __future__ import annotations

import csv
import email
import email.policy
import functools
import importlib
import io
import itertools
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any

from kinsplit.loaders import FORMATS
from kinsplit.loaders.run import with_attachments
from tests.loaders.contract.checks import Read


@dataclass(frozen=True, slots=True)
class ReaderSystem:
    """A reader of files.

    Attributes:
        name: Its name.
        modules: The modules that it needs.
        read: Function from a suffix and a file's bytes to the text, and headings that stand beside it.
        suffixes: The suffixes that it reads; None for all.
    """

    name: str
    modules: tuple[str, ...]
    read: Callable[[str, bytes], Read]
    suffixes: frozenset[str] | None = None

    def reads(self, suffix: str) -> bool:
        return self.suffixes is None or suffix in self.suffixes


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _kinsplit(suffix: str, data: bytes) -> Read:
    fmt = next(fmt for fmt in FORMATS if suffix in fmt.suffixes)
    contents = with_attachments(fmt.read(data)).contents
    headings = [heading.title for content in contents for heading in content.headings]
    return Read("\n\n".join(content.text for content in contents), headings=headings)


def _markitdown(suffix: str, data: bytes) -> Read:
    whole = _module("markitdown")
    name = {".html": "Html"}.get(suffix, suffix[1:].capitalize())
    converter = getattr(whole.converters, f"{name}Converter")()
    return Read(converter.convert(io.BytesIO(data), whole.StreamInfo(extension=suffix)).markdown)


# The module, class and format of docling's backends.
_BACKENDS = {
    ".docx": ("msword", "MsWordDocument", "DOCX"),
    ".pptx": ("mspowerpoint", "MsPowerpointDocument", "PPTX"),
    ".xlsx": ("msexcel", "MsExcelDocument", "XLSX"),
    ".ods": ("opendocument", "OdsDocument", "ODS"),
    ".html": ("html", "HTMLDocument", "HTML"),
    ".epub": ("epub", "EpubDocument", "EPUB"),
    ".eml": ("email", "EmailDocument", "EMAIL"),
    ".csv": ("csv", "CsvDocument", "CSV"),
    ".md": ("md", "MarkdownDocument", "MD"),
    ".vtt": ("webvtt", "WebVTTDocument", "VTT"),
}


def _docling(suffix: str, data: bytes) -> Read:
    module, name, kind = _BACKENDS[suffix]
    backend = getattr(_module(f"docling.backend.{module}_backend"), f"{name}Backend")
    fmt = getattr(_module("docling.datamodel.base_models").InputFormat, kind)
    given = _module("docling.datamodel.document").InputDocument
    document = given(path_or_stream=io.BytesIO(data), format=fmt, backend=backend, filename=f"file{suffix}")
    layers = _module("docling_core.types.doc.document").ContentLayer
    markdown = document._backend.convert().export_to_markdown(
        escape_html=False,
        escape_underscores=False,
        included_content_layers={layers.BODY, layers.FURNITURE, layers.NOTES},
    )
    return Read(markdown)


_PARTITIONS = {".htm": "html", ".eml": "email", ".txt": "text"} | {
    f".{name}": name for name in ("docx", "pptx", "xlsx", "html", "csv", "tsv", "md")
}


def _unstructured(suffix: str, data: bytes) -> Read:
    name = _PARTITIONS[suffix]
    partition = getattr(_module(f"unstructured.partition.{name}"), f"partition_{name}")
    more = {"process_attachments": True} if name == "email" else {}
    _without_model()
    return Read("\n\n".join(map(_element, partition(file=io.BytesIO(data), include_slide_notes=True, **more))))


@functools.cache
def _without_model() -> None:
    """Put rules in the place of the model of spaCy, which is fetched from the network and only tells kinds of text."""
    rules = _module("spacy").blank("en")
    rules.add_pipe("sentencizer")
    _module("unstructured.nlp.tokenize")._load_spacy_model = lambda: rules


def _element(element: Any) -> str:
    """Return an element as Markdown."""
    if table := element.metadata.text_as_html:
        return "\n".join(f"| {' | '.join(row)} |" for row in _html_rows(table))
    depth = element.metadata.category_depth or 0
    heading = f"{'#' * (depth + 1)} " if element.category == "Title" else ""
    return f"{heading}{element.text}"


_ROW = re.compile(r"<tr[^>]*>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<t[hd]([^>]*?)(?:/>|>(.*?)</t[hd]>)", re.DOTALL)
_SPAN = re.compile(r'(col|row)span="(\d+)"')


def _html_rows(table: str) -> list[list[str]]:
    """Return the cells of a table in HTML, each at its own column."""
    found = _ROW.findall(table)
    rows: list[dict[int, str]] = [{} for _ in found]
    for number, cells in enumerate(found):
        for attributes, text in _CELL.findall(cells):
            column = next(at for at in itertools.count() if at not in rows[number])
            spans = {name: int(size) for name, size in _SPAN.findall(attributes)}
            for row in rows[number : number + spans.get("row", 1)]:
                row |= dict.fromkeys(range(column, column + spans.get("col", 1)), "")
            rows[number][column] = unescape(text).strip()
    return [[row[at] for at in sorted(row)] for row in rows]


SYSTEMS = (
    ReaderSystem("kinsplit", (), _kinsplit),
    ReaderSystem(
        "MarkItDown",
        ("markitdown",),
        _markitdown,
        frozenset({".docx", ".pptx", ".xlsx", ".html", ".epub", ".csv", ".ipynb", ".pdf"}),
    ),
    ReaderSystem("docling", ("docling.backend.msword_backend",), _docling, frozenset(_BACKENDS)),
    ReaderSystem("Unstructured", ("unstructured.partition.docx",), _unstructured, frozenset(_PARTITIONS)),
)


def installed() -> list[ReaderSystem]:
    """Return the systems whose packages are installed."""
    found = []
    for system in SYSTEMS:
        try:
            for name in system.modules:
                _module(name)
        except ImportError as error:
            warnings.warn(f"{system.name} is left out: {error}", stacklevel=2)
        else:
            found.append(system)
    return found


# The libraries alone


def _calamine(data: bytes) -> object:
    book = _module("python_calamine").CalamineWorkbook.from_filelike(io.BytesIO(data))
    return [book.get_sheet_by_name(name).to_python() for name in book.sheet_names]


def _pdfium(data: bytes) -> object:
    pdf = _module("pypdfium2").PdfDocument(data)
    return [page.get_textpage().get_text_bounded() for page in pdf]


def _parse_html(data: bytes) -> object:
    parser = HTMLParser()
    parser.feed(data.decode())
    return parser.close()


def _python_docx(data: bytes) -> object:
    return [paragraph.text for paragraph in _module("docx").Document(io.BytesIO(data)).paragraphs]


def _python_pptx(data: bytes) -> object:
    shapes = (shape for slide in _module("pptx").Presentation(io.BytesIO(data)).slides for shape in slide.shapes)
    return [shape.text_frame.text for shape in shapes if shape.has_text_frame]


def _parse_mail(data: bytes) -> object:
    return [part.get_content() for part in email.message_from_bytes(data, policy=email.policy.default).iter_parts()]


#: The library below kinsplit's reader, or the usual one for the format, by suffix: its name and what it does.
LIBRARIES: Mapping[str, tuple[str, Callable[[bytes], object]]] = {
    ".xlsx": ("python-calamine", _calamine),
    ".pdf": ("pypdfium2", _pdfium),
    ".html": ("html.parser", _parse_html),
    ".csv": ("csv", lambda data: list(csv.reader(io.StringIO(data.decode())))),
    ".eml": ("email", _parse_mail),
    ".docx": ("python-docx", _python_docx),
    ".pptx": ("python-pptx", _python_pptx),
}

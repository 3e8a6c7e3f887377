"""Invariants on odd files, on a book without line breaks and on texts in other scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinsplit.chunk import Document
from kinsplit.parsers import Strategy, names
from tests.parsers.contract import check_chunks
from tests.parsers.sized import plain, sized
from tests.shared_data import shared_documents, shared_files, shared_path, shared_text

BOOK = "robustness/text_odd/book-war-and-peace-1225p.txt"
_ENCODINGS = ("utf-16-be", "utf-16-le", "utf-16", "utf-32")

every_strategy = pytest.mark.parametrize("name", names())


def decoded(path: Path) -> str:
    """Return the text of a file in the encoding given in its name, by default UTF-8 with replacements."""
    encoding = next((encoding for encoding in _ENCODINGS if encoding in path.name), "utf-8")
    return path.read_bytes().decode(encoding, errors="replace")


def strategies(name: str) -> list[Strategy]:
    return [plain(name), sized(name, 60, "token", overlap=13)]


@every_strategy
@pytest.mark.parametrize("file", shared_files("robustness"))
def test_invariants_hold_on_odd_files(file: str, name: str) -> None:
    document = Document(file, decoded(shared_path(file))[:10_000])
    for strategy in strategies(name):
        check_chunks(strategy, document, strategy.chunk(document))


@every_strategy
def test_invariants_hold_on_a_book_on_one_line(name: str) -> None:
    document = Document("book", " ".join(shared_text(BOOK).split())[:100_000])
    assert len(document.text) == 100_000
    strategy = plain(name)
    check_chunks(strategy, document, strategy.chunk(document))


@every_strategy
@pytest.mark.parametrize("language", ["ar", "de", "hi", "th", "zh"])
def test_invariants_hold_in_other_scripts(language: str, name: str) -> None:
    document = shared_documents(f"xquad/{language}/docs.jsonl")[0]
    for strategy in strategies(name):
        chunks = strategy.chunk(document)
        check_chunks(strategy, document, chunks)

"""Files for the tests, and the place of the shared data."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from reportlab.pdfgen import canvas

from kinsplit.chunk import Document
from kinsplit.loaders import Loaded, load, load_file
from kinsplit.loaders.discovery import discover


def load_one(path: Path) -> Loaded:
    """Load a single file, letting its error through."""
    (source,) = discover(path).files
    return load_file(source)


def document_of(path: Path, data: str | bytes) -> Document:
    """Write a file and return its only document."""
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    (document,) = load_one(path).documents
    return document


def by_id(path: Path, **options: list[str]) -> dict[str, Document]:
    return {document.id: document for loaded in load(path, **options) for document in loaded.documents}


def pdf(*pages: list[str], title: str = "", encrypt: object = None) -> bytes:
    """Return a PDF whose pages show the given lines."""
    target = io.BytesIO()
    sheet = canvas.Canvas(target, encrypt=encrypt)
    if title:
        sheet.setTitle(title)
    for lines in pages:
        sheet.rect(10, 10, 20, 20)
        for row, line in enumerate(lines):
            sheet.drawString(72, 720 - 15 * row, line)
        sheet.showPage()
    sheet.save()
    return target.getvalue()


def notebook(*cells: dict, **metadata: object) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)})


def shared(*parts: str) -> Path:
    """Return a path in the shared data, or skip the test and say what is absent."""
    root = Path(os.environ.get("KINSPLIT_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data absent: {path}")
    return path

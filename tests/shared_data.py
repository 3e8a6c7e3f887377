"""The shared data, which is not part of the repository: a test is skipped if it needs a file that is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kinsplit.chunk import Document

_DEFAULT = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"

#: Folder of the shared data, which need not exist; KINSPLIT_TEST_DATA can name another one.
ROOT = Path(os.environ.get("KINSPLIT_TEST_DATA") or _DEFAULT).resolve()


def shared_path(name: str) -> Path:
    """Return a file or folder of the shared data; skip the test if it isn't there."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"shared data absent: {name} (set KINSPLIT_TEST_DATA to its folder)")
    return path


def shared_files(folder: str) -> list[str]:
    """Return the names of all files under a folder, for parametrising; the folder itself if it is missing."""
    root = ROOT / folder
    found = sorted(path.relative_to(ROOT).as_posix() for path in root.rglob("*") if path.is_file())
    return found or [folder]


def shared_text(name: str, encoding: str = "utf-8") -> str:
    """Return a file's text with its original line ends."""
    with shared_path(name).open(encoding=encoding, newline="") as file:
        return file.read()


def shared_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    with shared_path(name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def shared_documents(name: str) -> list[Document]:
    """Return the documents of a docs.jsonl file."""
    return [Document(row["docid"], row["text"]) for row in shared_rows(name)]

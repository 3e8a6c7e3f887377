"""What the lines of a document are, by the metadata that frameworks give it."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from kinsplit import Document
from kinsplit.chunk import DocumentKind
from kinsplit.kinds import CODE, FileKind, kind_of


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"source": "src/owl.py"}, "code"),
        ({"file_path": r"C:\src\Owl.CS"}, "code"),
        ({"source": "https://owls.example/a/owl.ts?raw=1#L3"}, "code"),
        ({"file_name": "people.csv", "file_type": "text/csv"}, "rows"),
        ({"source": "app.log"}, "records"),
        ({"source": "/srv/.env"}, "records"),
        ({"filename": "compose.yml"}, "records"),
        ({"file_type": "text/x-python"}, "code"),
        ({"filetype": "text/tab-separated-values; charset=utf-8"}, "rows"),
        ({"mime_type": "application/x-yaml"}, "records"),
        ({"language": "python"}, "code"),
        ({"language": "C++"}, "code"),
        ({"source": "page 3", "language": "go"}, "code"),
        ({"file_type": "code", "file_path": "cs/unknown.xyz"}, "code"),
        ({"source": "notes.md", "file_type": "text/markdown"}, ""),
        ({"source": "owls.json"}, ""),
        ({"source": "talk.srt"}, ""),
        ({"source": "https://owls.pl"}, ""),
        ({"source": "https://owls.pl/a/"}, ""),
        ({"source": "Ann Miller"}, ""),
        ({"language": "cs"}, ""),
        ({"language": "en", "file_type": None, "source": 3}, ""),
        ({}, ""),
    ],
)
def test_metadata_tell_what_lines_are(metadata: dict[str, Any], kind: str) -> None:
    assert kind_of(metadata) == kind


def test_every_kind_of_a_file_is_one_of_a_document() -> None:
    assert set(get_args(FileKind)) < set(get_args(DocumentKind))


def test_no_suffix_belongs_to_two_languages() -> None:
    suffixes = [suffix for own in CODE.values() for suffix in own]
    assert len(suffixes) == len(set(suffixes))


def test_documents_of_frameworks_and_rows_of_tables_have_a_kind() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    schema = pytest.importorskip("llama_index.core.schema")
    metadata = {"source": "owl.py"}
    assert Document.from_langchain(documents.Document("hunt()", metadata=metadata)).kind == "code"
    assert Document.from_llama_index(schema.TextNode(text="hunt()", metadata=metadata)).kind == "code"
    assert [row.kind for row in Document.from_dataset([{"id": 1, "text": "hunt()", **metadata}])] == ["code"]

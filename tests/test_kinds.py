"""What the lines of a document are, by the metadata that frameworks give it."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit import Document, create_strategy
from kinsplit.kinds import CODE, kind_of, language_of
from kinsplit.spans import Part


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


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"source": "src/owl.py"}, "python"),
        ({"file_path": "Owl.TSX", "language": "javascript"}, "tsx"),
        ({"file_type": "text/x-python"}, "python"),
        ({"language": "C++"}, "cpp"),
        ({"language": "csharp"}, "c_sharp"),
        ({"source": "page 3", "language": "sh"}, "bash"),
        ({"source": "owl.sql"}, ""),
        ({"source": "people.csv"}, ""),
        ({"language": "en"}, ""),
        ({}, ""),
    ],
)
def test_metadata_tell_the_programming_language(metadata: dict[str, Any], language: str) -> None:
    assert language_of(metadata) == language


def test_no_suffix_belongs_to_two_languages() -> None:
    suffixes = [suffix for own in CODE.values() for suffix in own]
    assert len(suffixes) == len(set(suffixes))


def test_documents_of_frameworks_and_rows_of_tables_have_a_kind_and_an_outline() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    schema = pytest.importorskip("llama_index.core.schema")
    text, metadata = "def hunt():\n    pass\n", {"source": "a/owl.py"}
    found = [
        Document.from_langchain(documents.Document(text, metadata=metadata)),
        Document.from_llama_index(schema.TextNode(text=text, metadata=metadata)),
        *Document.from_dataset([{"id": 1, "text": text, **metadata}]),
    ]
    assert {document.kind for document in found} == {"code"}
    assert {document.outline for document in found} == {(Part(0, len(text) - 1, "def hunt"),)}
    notes = [create_strategy("structure").chunk(document)[0].context for document in found]
    assert notes == ["owl.py\ndef hunt", "def hunt", "def hunt"]


def test_programs_from_frameworks_are_cut_at_functions() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    schema = pytest.importorskip("llama_index.core.schema")
    from kinsplit.integrations.langchain import text_splitter
    from kinsplit.integrations.llama_index import node_parser

    # Without what cannot be encoded, an outline needs the grammar.
    text = "".join(f"@get(\n    '/{n}',\n)\ndef f{n}():\n    return {n}\n\n\n" for n in range(5)) + "x = '\ud800'\n"
    metadata = {"source": "owl.py"}
    split = text_splitter("structure", chunk_size=8, min_chunk_size=1).split_documents
    found = split([documents.Document(text, metadata=metadata)])
    parse = node_parser("structure", chunk_size=8, min_chunk_size=1)
    nodes = parse([schema.Document(text=text.replace("\ud800", ""), metadata=metadata)])

    assert [one.page_content.count("def ") for one in found] == [1, 1, 1, 1, 1, 0]
    assert [one.metadata["context"] for one in found[:2]] == ["owl.py\ndef f0", "owl.py\ndef f1"]
    assert [node.metadata.get("context", "") for node in nodes] == [*(f"def f{n}" for n in range(5)), ""]

"""The same words give the same chunks in every command, in Python and in both frameworks."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaDocument

from kinsplit import Document, Index
from kinsplit.cli.options import STORE
from kinsplit.index import DEFAULT_STORE
from kinsplit.indexing.vectors import WindowWarning
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import create, default_strategy
from tests.cli.conftest import Cli
from tests.index.helpers import RecordingEmbedder

TEXT = " ".join(f"The owl number {number} hunts at night and sees very well in the dark." for number in range(120))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"chunk_size": 40}, {"chunk_size": 60, "chunk_overlap": 20}, {"unit": "word", "max_sentences": 2}],
    ids=str,
)
def test_without_a_strategy_all_doors_split_alike(parameters: dict[str, Any], cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "owls.txt").write_text(TEXT, encoding="utf-8")
    settings = [f"--set={key}={value}" for key, value in parameters.items()]

    rows = [json.loads(line) for line in cli("chunk", "notes", *settings).stdout.splitlines()]
    assert cli("index", "notes", "--embedder", "hash", *settings).exit_code == 0

    chunked = [(row["chunk_id"], row["start"], row["end"]) for row in rows]
    assert len(chunked) > 5
    with Index("edge:./kinsplit-data", embedder="hash") as index:
        stored = index.find({})
    assert [(chunk.id, chunk.start, chunk.end) for chunk in stored] == chunked
    document = LangChainDocument(id="notes/owls.txt", page_content=TEXT)
    assert [each.id for each in text_splitter(**parameters).split_documents([document])] == [
        row["chunk_id"] for row in rows
    ]
    nodes = node_parser(**parameters)([LlamaDocument(id_="notes/owls.txt", text=TEXT)])
    assert [node.node_id for node in nodes] == [row["chunk_id"] for row in rows]
    own = default_strategy(**parameters).chunk(Document("notes/owls.txt", TEXT))
    assert [chunk.id for chunk in own] == [row["chunk_id"] for row in rows]


def test_commands_open_the_store_that_python_opens() -> None:
    assert STORE == DEFAULT_STORE


def test_with_a_strategy_all_doors_take_its_own_defaults(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "owls.txt").write_text(TEXT, encoding="utf-8")
    rows = [json.loads(line) for line in cli("chunk", "owls.txt", "--strategy", "sentence").stdout.splitlines()]
    nodes = node_parser("sentence")([LlamaDocument(id_=rows[0]["docid"], text=TEXT)])
    assert [node.node_id for node in nodes] == [row["chunk_id"] for row in rows]
    assert max(row["token_count"] for row in rows) > 400


def test_chunks_longer_than_the_window_are_announced_before_anything_is_embedded() -> None:
    recording = RecordingEmbedder()
    with Index("memory:", strategy=create("sentence", chunk_size=500), embedder=recording) as index:
        with warnings.catch_warnings():
            warnings.simplefilter("error", WindowWarning)
            with pytest.raises(WindowWarning, match=r"^\d of the first 5 chunks to embed \(\d+%\) are longer than"):
                index.add(Document("owls", TEXT))
        assert (recording.seen, index.count()) == ([], 0)
        with pytest.warns(WindowWarning, match="smaller chunks"):
            report = index.add(Document("owls", TEXT))
        assert report.windowed
    with Index("memory:", embedder=RecordingEmbedder()) as index, warnings.catch_warnings():
        warnings.simplefilter("error", WindowWarning)
        index.add(Document("owls", TEXT))


def test_the_command_announces_them_before_its_first_line_and_once(cli: Cli, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"owls{number}.txt").write_text(TEXT, encoding="utf-8")
    done = cli("index", "owls0.txt", "owls1.txt", "--embedder", "hash", "--strategy", "sentence")
    assert done.exit_code == 0
    assert done.stderr.count("chunks to embed") == 1
    assert done.output.index("chunks to embed") < done.output.index("Split into")

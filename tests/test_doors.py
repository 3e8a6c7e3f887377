"""The pages, times, speakers and headings of a document's chunks, the same through every door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

import kinsplit
from kinsplit.chunk import Chunk, Document, Moment, Voice
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.loaders import load
from kinsplit.parsers import create, names
from kinsplit.spans import Heading
from kinsplit.support.pages import join_pages
from tests.cli.conftest import run_command

PLACES = ("page_start", "page_end", "time_start", "time_end")
PAGES = ["Owls hunt at night. They hear mice.", "Larks sing at dawn. They rise.", "Both are birds."]
SMALL = {"unit": "word", "chunk_size": 4, "chunk_overlap": 0}
WITHOUT_MODEL = [name for name in names() if name not in {"llm", "semantic", "cluster"}]

Facts = list[tuple[Any, ...]]


def facts(chunks: list[Chunk]) -> Facts:
    return [(c.start, c.end, c.context, c.beside, *(c.metadata.get(key) for key in PLACES)) for c in chunks]


def lecture() -> Document:
    text, pages = join_pages(PAGES)
    moments = tuple(Moment(at, float(n), n + 0.5) for n, at in enumerate(pages))
    voices = tuple(Voice(at, name) for name, at in zip("ABA", pages, strict=True))
    return Document("birds", text, {"year": 1}, tuple(pages), moments, (), (Heading(0, 0, 0, "Birds"),), voices=voices)


@pytest.mark.parametrize("name", WITHOUT_MODEL)
def test_split_and_index_give_the_same_as_the_strategy(name: str) -> None:
    document, strategy = lecture(), create(name)
    chunks = strategy.chunk(document)
    assert chunks
    for chunk in chunks:
        assert (chunk.metadata["page_start"], chunk.metadata["page_end"]) == document.page_range(chunk.start, chunk.end)
        assert (chunk.metadata["time_start"], chunk.metadata["time_end"]) == document.time_range(chunk.start, chunk.end)
        assert chunk.beside.headings == ("Birds",)
    assert facts(kinsplit.split(document, strategy)) == facts(chunks)
    with kinsplit.Index("memory:", embedder="hash", strategy=strategy) as index:
        index.add([document])
        stored = [chunk for level in range(strategy.depth) for chunk in index.store.find({}, level)]
    found = facts(stored)
    assert all(fact in found for fact in facts(chunks))


def test_a_document_without_pages_and_times_keeps_its_metadata_shared() -> None:
    document = Document("d", " ".join(PAGES), {"page_start": 7, "page": 3})
    chunks = create("sentence", **SMALL).chunk(document)
    assert len(chunks) > 1
    assert all(chunk.metadata is document.metadata for chunk in chunks)


def test_what_a_document_says_of_its_pages_is_not_overwritten() -> None:
    document = Document("d", "One.", {"page_start": 7, "page_end": 8}, pages=(0,))
    assert [chunk.metadata for chunk in create("word").chunk(document)] == [document.metadata]


@pytest.mark.parametrize("suffix", ["srt", "vtt"])
def test_the_command_gives_the_same_as_split_and_the_index(suffix: str, tmp_path: Path) -> None:
    head = "WEBVTT\n\n" if suffix == "vtt" else ""
    cues = "\n\n".join(
        f"{n + 1}\n00:00:0{n},000 --> 00:00:0{n},900\n{cue}" for n, cue in enumerate(" ".join(PAGES).split(". "))
    )
    path = tmp_path / f"birds.{suffix}"
    path.write_text(head + cues.replace(",", "." if suffix == "vtt" else ","), encoding="utf-8")
    ((document,),) = (loaded.documents for loaded in load(path))
    chunks = kinsplit.split(document, create("sentence", **SMALL))
    settings = [f"--set={key}={value}" for key, value in SMALL.items()]
    result = run_command("chunk", path, "--strategy", "sentence", *settings)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [[row["metadata"].get(key) for key in PLACES] for row in rows] == [list(fact[4:]) for fact in facts(chunks)]
    assert [row["beside"] for row in rows] == [chunk.beside.to_dict() for chunk in chunks]
    assert rows[-1]["metadata"]["time_end"] > rows[0]["metadata"]["time_start"]
    with kinsplit.Index("memory:", embedder="hash", strategy=create("sentence", **SMALL)) as index:
        index.add(path)
        assert facts(index.store.find({}, 0)) == facts(chunks)


def test_the_parsers_of_both_frameworks_give_the_pages_of_the_core() -> None:
    text, starts = join_pages(PAGES)
    core = kinsplit.split(Document("birds.pdf", text, pages=tuple(starts)), create("sentence", **SMALL))
    expected = [(c.start, c.end, c.metadata["page_start"], c.metadata["page_end"]) for c in core]
    keys = ("char_start", "char_end", "page_start", "page_end")
    pages = [
        LangChainDocument(page_content=page, metadata={"source": "birds.pdf", "page": number})
        for number, page in enumerate(PAGES)
    ]
    documents = text_splitter("sentence", **SMALL).split_documents(pages)
    assert [tuple(document.metadata[key] for key in keys) for document in documents] == expected
    nodes = node_parser("sentence", **SMALL)(
        [
            LlamaIndexDocument(text=page, metadata={"file_path": "birds.pdf", "page_label": str(number)})
            for number, page in enumerate(PAGES, 1)
        ]
    )
    assert [tuple(node.metadata[key] for key in keys) for node in nodes] == expected

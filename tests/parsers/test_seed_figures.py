"""Figures reported by earlier systems, reproduced from their texts."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from kinsplit.parsers import create
from tests.shared_data import shared_documents, shared_rows, shared_text

ALICE = "alice/docs.jsonl"
MANIFESTS = "alice/sc_qrels/chunk_manifests"

SC_QRELS = [
    pytest.param("token", {"chunk_size": 512, "stride": 128}, 261, "chunks_BGE512T_S128.jsonl", id="token-512-128"),
    pytest.param(
        "character",
        {"chunk_size": 500, "chunk_overlap": 50},
        323,
        "chunks_CHARWIN500_OV50.jsonl",
        id="character-500-50",
    ),
    pytest.param(
        "character",
        {"chunk_size": 1000, "chunk_overlap": 0},
        148,
        "chunks_CHARBLOCK1000_NOV0.jsonl",
        id="character-1000-0",
    ),
    pytest.param("sentence", {"max_sentences": 1}, 1610, "chunks_SENT.jsonl", id="one-sentence"),
]


@pytest.mark.parametrize(("name", "parameters", "total", "manifest"), SC_QRELS)
def test_alice_gives_the_rows_of_the_sc_qrels_manifest(
    name: str, parameters: dict[str, Any], total: int, manifest: str
) -> None:
    expected = defaultdict(list)
    for row in shared_rows(f"{MANIFESTS}/{manifest}"):
        expected[row["original_doc_id"]].append((row["start"], row["end"], row["text"]))
    documents = shared_documents(ALICE)
    found = {
        document.id: [(chunk.start, chunk.end, chunk.text) for chunk in chunks]
        for document, chunks in zip(documents, create(name, **parameters).chunk_many(documents), strict=True)
    }
    assert sum(map(len, found.values())) == total
    assert found == expected


def test_alice_without_tails_gives_249_token_windows_of_full_length() -> None:
    chunks = create("token", chunk_size=512, stride=128, tail="drop").chunk_many(shared_documents(ALICE))
    assert sum(map(len, chunks)) == 249
    assert {chunk.token_count for document in chunks for chunk in document} == {512}


def test_the_defaults_of_token_are_those_of_sc_qrels() -> None:
    assert create("token") == create("token", chunk_size=512, stride=128)


def test_tesla_gives_293_word_windows() -> None:
    text = shared_text("tesla_10k/seed/tesla_10k_2024.txt")
    spans = create("word").split(text)
    assert len(spans) == 293
    lengths = [len(text[start:end].split()) for start, end in spans]
    assert set(lengths[:-1]) == {500}
    assert lengths[-1] == 149

"""`chunk_id` is the id of a chunk behind every door, and a readable name is `chunk_name`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from kinsplit import Index, create_strategy
from kinsplit.integrations.langchain import KinsplitRetriever, text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.loaders import load
from tests.cli.conftest import Cli, cli

__all__ = ["cli"]

SMALL = {"chunk_size": 9, "chunk_overlap": 0}
SETTINGS = [f"--set={name}={value}" for name, value in SMALL.items()]
SPEC = "small=sentence:chunk_size=9,chunk_overlap=0"
TEXT = "A loop repeats. A class is a plan of objects. Recursion calls itself."
QUESTION = "What is a class?"


def chunk_ids(value: Any) -> Iterator[str]:
    """Yield what stands under `chunk_id`, at any depth."""
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == "chunk_id")
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from chunk_ids(each)


def test_a_chunk_id_is_the_id_of_a_chunk_behind_every_door(cli: Cli, tmp_path: Path) -> None:
    Path("docs.jsonl").write_text(json.dumps({"docid": "d", "text": TEXT}))
    label = {"query_id": "q1", "query": QUESTION, "docid": "d", "spans": [[16, 45]]}
    Path("queries.jsonl").write_text(json.dumps(label))
    documents = [document for loaded in load(Path("docs.jsonl")) for document in loaded.documents]
    strategy, embedder = create_strategy("sentence", **SMALL), ("--embedder", "hash")
    known = {chunk.id for document in documents for chunk in strategy.chunk(document)}

    assert cli("index", "docs.jsonl", "--strategy", "sentence", *SETTINGS, *embedder).exit_code == 0
    assert cli("qrels", "docs.jsonl", "--queries", "queries.jsonl", "--strategy", SPEC).exit_code == 0
    lines = Path("qrels/chunks_small.jsonl").read_text().splitlines()
    lines += cli("chunk", "docs.jsonl", "--strategy", "sentence", *SETTINGS).stdout.splitlines()
    compared = cli("compare", QUESTION, "--docs", "docs.jsonl", "--strategy", SPEC, *embedder, "--json").stdout
    shown = {
        "rows": [json.loads(line) for line in lines],
        "compared": json.loads(compared),
        "answered": json.loads(cli("ask", QUESTION, *embedder, "--json").stdout),
    }
    splitter, parser = text_splitter("sentence", **SMALL), node_parser("sentence", **SMALL)
    split = splitter.split_documents([LangChainDocument(TEXT, id="d")])
    nodes = parser.get_nodes_from_documents([LlamaIndexDocument(text=TEXT, id_="d")])
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        index.add(documents)
        found: list[Any] = KinsplitRetriever(index).invoke(QUESTION)
    shown["frameworks"] = [part.metadata for part in [*split, *nodes, *found]]

    for door, value in shown.items():
        ids = set(chunk_ids(value))
        assert known >= ids > set(), door
    assert set(Path("qrels/qrels_small.txt").read_text().split()) & known
    names = {row["chunk_name"] for row in (*shown["rows"][-3:], *shown["compared"]["strategies"]["small"])}
    assert names == {"d::chunk00", "d::chunk01", "d::chunk02"}

"""The page about kin on any store: its examples run, and its table is that of the tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.llms import MockLLM

from tests.integrations.finding import LECTURE
from tests.integrations.kin_stores import ARRANGEMENTS
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding

PAGE = (Path(__file__).parents[2] / "docs" / "kin-on-your-store.md").read_text(encoding="utf-8")


def test_the_examples_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {
        "text": LECTURE,
        "embeddings": HashEmbeddings(),
        "embed_model": HashEmbedding(),
        "llm": MockLLM(),
    }
    langchain, llama_index, parents, sidecar = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    exec(langchain, names)
    best = names["passages"][0]
    assert "recursion" in best.page_content
    assert best.page_content == LECTURE[best.metadata["char_start"] : best.metadata["char_end"]]
    assert best.page_content not in {chunk["text"] for chunk in names["vector_store"].store.values()}

    exec(llama_index, other := dict(names))
    node = other["response"].source_nodes[0].node
    assert node.text == LECTURE[node.start_char_idx : node.end_char_idx]
    assert len(node.text) > max(len(text) for text in LECTURE.split("."))

    exec(parents, names)
    whole = {chunk.page_content for chunk in names["chunks"] if chunk.metadata["level"]}
    assert {section.page_content for section in names["sections"]} <= whole

    names["retriever"] = names["vector_store"].as_retriever(search_kwargs={"k": 1})
    exec(sidecar, names)
    (passage,) = names["passages"]
    assert passage.page_content == LECTURE[passage.metadata["char_start"] : passage.metadata["char_end"]]
    assert len(passage.page_content) > 60
    assert (tmp_path / "kin.db").exists()


def test_the_table_is_that_of_the_tests() -> None:
    rows = [line for line in PAGE.split("| framework | store |")[1].splitlines()[2:] if line.startswith("|")]
    assert rows == [f"| {each.framework} | {each.name} | {each.kin} | ✓ | ✓ | ✓ |" for each in ARRANGEMENTS]

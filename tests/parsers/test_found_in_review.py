"""Inputs that once lost text or exceeded a limit."""

from __future__ import annotations

from typing import Any

import pytest

from kinsplit.chunk import Document
from kinsplit.parsers import create
from tests.parsers.contract import check_chunks


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("token", {"chunk_size": 1, "stride": 1}, "。\u0301。"),
        ("token", {"chunk_size": 2, "stride": 2}, "😀。\u0301`"),
        ("character", {"chunk_size": 4, "chunk_overlap": 0}, "b\u0600\xa0"),
        ("token", {"chunk_size": 2, "stride": 1, "tokenizer": "tiktoken:cl100k_base"}, "z \u200d"),
        ("token", {"chunk_size": 2, "stride": 2, "tokenizer": "tiktoken:o200k_base"}, "i \u0301\u0301\u0301"),
        ("sentence", {"chunk_size": 5, "chunk_overlap": 0}, "a b c d\n\x0cสวัสดี x y z"),
        ("token", {"chunk_size": 2, "stride": 1}, "ยินดีต้อนรับ\x0b"),
        ("sentence", {"chunk_size": 2, "chunk_overlap": 0}, "a\n\x0c\u0600\u0601\u0661\u0301"),
    ],
)
def test_nothing_is_lost_and_no_limit_broken(name: str, parameters: dict[str, Any], text: str) -> None:
    if "tiktoken" in str(parameters.get("tokenizer")):
        pytest.importorskip("tiktoken")
        pytest.importorskip("llama_index.core")
    strategy = create(name, **parameters)

    check_chunks(strategy, Document("d", text), strategy.chunk(Document("d", text)))


def test_headings_inside_comments_are_none() -> None:
    text = "# A\n\n<!--\n# no heading\n-->\n\ntext\n\n<!-- <h2>none</h2> -->\n\nmore"
    assert {chunk.context for chunk in create("structure").chunk(Document("d", text))} == {"A"}

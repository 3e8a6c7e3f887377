"""Calls as type checkers see them: `make check` fails if one of these has another type, or if a mistake is not found.

mypy reads this file, and nothing runs it: an unused `type: ignore` is an error.
"""

from __future__ import annotations

from typing import Any, assert_type

import kinsplit
from kinsplit import Chunk, Document, Index
from kinsplit.indexing.reports import AddReport
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import Strategy
from kinsplit.parsers.strategies.semantic import SemanticStrategy
from kinsplit.parsers.strategies.sentence import SentenceStrategy
from kinsplit.retrieval import Passages


def types(name: str, parameters: dict[str, Any], index: Index) -> None:
    assert_type(kinsplit.split("Owls.", chunk_size=10), list[Chunk])
    assert_type(kinsplit.split("Owls.", name, **parameters), list[Chunk])
    assert_type(kinsplit.create_strategy(), SentenceStrategy)
    assert_type(kinsplit.create_strategy("semantic", threshold=3), SemanticStrategy)
    assert_type(kinsplit.create_strategy(name, **parameters), Strategy)
    assert_type(text_splitter("structure", unit="token"), langchain.KinsplitStructureTextSplitter)
    assert_type(node_parser(), llama_index.KinsplitSentenceNodeParser)
    assert_type(node_parser(name, **parameters), llama_index.KinsplitNodeParser)
    assert_type([*kinsplit.read("notes")], list[Document])
    assert_type(index.add("notes"), AddReport)
    assert_type(index.search("Why?", top_k=3, window=1), Passages)
    assert_type(langchain.details({}), dict[str, Any])


def mistakes(index: Index, chunk: Chunk) -> None:
    kinsplit.split("Owls.", max_tokens=10)  # type: ignore[call-overload]
    kinsplit.split("Owls.", chunk_size="10")  # type: ignore[call-overload]
    kinsplit.split("Owls.", "structure", chunk_overlap=3)  # type: ignore[call-overload]
    kinsplit.split("Owls.", 500)  # type: ignore[call-overload]
    kinsplit.create_strategy("sentence", chunksize=200)  # type: ignore[call-overload]
    text_splitter("sentence", overlap=20)  # type: ignore[call-overload]
    node_parser("sentence", chunk_size="200")  # type: ignore[call-overload]
    llama_index.KinsplitSentenceNodeParser(chunksize=200)  # type: ignore[call-arg]
    llama_index.KinsplitRetriever(index, topk=5)  # type: ignore[call-arg]
    index.search("Why?", k=3)  # type: ignore[call-arg]
    index.search("Why?", 3)  # type: ignore[arg-type]
    index.ask("Why?")  # type: ignore[attr-defined]
    str(chunk.page_content)  # type: ignore[attr-defined]

"""The core's chunks in both frameworks, for odd files and for texts with dropped characters at both ends."""

from __future__ import annotations

import functools

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from kinsplit.chunk import Document
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import names
from tests.generators import DROPPED
from tests.parsers.contract import check_chunks
from tests.parsers.sized import sized
from tests.parsers.test_shared_robustness import decoded
from tests.shared_data import ROOT, shared_files

# Number of characters to take from the beginning and from the end of a long file.
_EDGE = 1_000


@functools.cache
def documents() -> list[Document]:
    """Return the odd files, if available, and texts with characters at both ends that tokenizers drop."""
    texts = {f"dropped {i}": dropped * 9 + "Hello there world. " * 9 + dropped * 9 for i, dropped in enumerate(DROPPED)}
    for file in shared_files("robustness"):
        if (ROOT / file).is_file():
            text = decoded(ROOT / file)
            texts[file] = text if len(text) <= 2 * _EDGE else text[:_EDGE] + text[-_EDGE:]
    return [Document(name, text) for name, text in texts.items()]


@pytest.mark.parametrize("name", names())
def test_both_frameworks_give_the_chunks_of_the_core(name: str) -> None:
    strategy = sized(name, 60, "token", overlap=13)
    expected = {}
    for document, chunks in zip(documents(), strategy.chunk_many(documents()), strict=True):
        check_chunks(strategy, document, chunks)
        expected.update({c.id: (document.id, c.text, c.start, c.end, c.index, c.prev_id, c.next_id) for c in chunks})

    nodes = node_parser(name, **strategy.parameters).get_nodes_from_documents(
        [LlamaIndexDocument(id_=document.id, text=document.text) for document in documents()]
    )
    assert len(nodes) == len(expected)
    for node in nodes:
        links = (node.prev_node and node.prev_node.node_id, node.next_node and node.next_node.node_id)
        place = (node.start_char_idx, node.end_char_idx, node.metadata["chunk_index"])
        assert (node.ref_doc_id, node.text, *place, *links) == expected[node.node_id]

    found = text_splitter(name, **strategy.parameters).split_documents(
        [LangChainDocument(id=document.id, page_content=document.text) for document in documents()]
    )
    assert len(found) == len(expected)
    for chunk in found:
        place = [chunk.metadata[key] for key in ("char_start", "char_end", "chunk_index")]
        place += [chunk.metadata[key] or None for key in ("prev_id", "next_id")]
        assert (chunk.metadata["source_id"], chunk.page_content, *place) == expected[chunk.id]

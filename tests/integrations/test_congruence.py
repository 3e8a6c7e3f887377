"""The same chunks from the core, LlamaIndex and LangChain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument

from kinsplit.chunk import Document
from kinsplit.details import whole
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import create, names
from kinsplit.spans import Span, holds
from tests.generators import strategy_parameters, valid_texts


@pytest.mark.parametrize("name", names())
@given(data=st.data(), texts=st.lists(valid_texts(12), min_size=1, max_size=3))
def test_all_doors_give_the_same_chunks(name: str, data: st.DataObject, texts: list[str]) -> None:
    parameters = data.draw(strategy_parameters(name))
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    chunks = [chunk for found in create(name, **parameters).chunk_many(documents) for chunk in found]
    nodes = node_parser(name, **parameters)([LlamaIndexDocument(id_=d.id, text=d.text) for d in documents])
    found = text_splitter(name, **parameters).split_documents(
        [LangChainDocument(id=d.id, page_content=d.text) for d in documents]
    )
    assert [n.id_ for n in nodes] == [d.id for d in found] == [c.id for c in chunks]
    assert [n.text for n in nodes] == [d.page_content for d in found] == [c.text for c in chunks]
    for before, (chunk, node, document) in zip([None, *chunks], zip(chunks, nodes, found, strict=True), strict=False):
        adjoins = before is not None and (before.source_id, before.level) == (chunk.source_id, chunk.level)
        gap = texts[int(chunk.source_id)][before.end : chunk.start] if before is not None and adjoins else ""
        gathered = any(len(c.spans) > 1 for c in chunks if c.source_id == chunk.source_id)
        head = texts[int(chunk.source_id)][: chunk.start]
        expected = {
            "chunk_id": chunk.id,
            "source_id": chunk.source_id,
            "chunk_index": chunk.index,
            "total_chunks": chunk.total,
            "is_chunked": chunk.total > 1,
            "level": chunk.level,
            "parent_id": chunk.parent_id,
            "prev_id": chunk.prev_id,
            "next_id": chunk.next_id,
            "char_start": chunk.start,
            "char_end": chunk.end,
            "overlap": chunk.overlap,
            "strategy": name,
            "content_hash": chunk.content_hash,
            **chunk.beside.to_metadata(),
            **({"gap": gap} if gap.isspace() and not gathered else {}),
            **({"gap": head[len(head.rstrip()) :]} if gathered else {}),
            **({"spans": [list(span) for span in chunk.spans]} if len(chunk.spans) > 1 else {}),
            **chunk.metadata,
        }
        expected = {key: value for key, value in expected.items() if value is not None}
        assert whole(node.metadata) == expected
        assert whole(document.metadata) == {**expected, "start_index": chunk.start, "end_index": chunk.end}
        for value in (*node.metadata.values(), *document.metadata.values()):
            assert type(value) in (str, int, float, bool)
        assert (node.start_char_idx, node.end_char_idx) == (chunk.start, chunk.end)


def places(node: Any) -> list[Span]:
    return [Span(*span) for span in whole(node.metadata).get("spans", [(node.start_char_idx, node.end_char_idx)])]


@pytest.mark.parametrize("inner", names())
@settings(max_examples=20, deadline=None)
@given(
    data=st.data(), text=valid_texts(20), outer=st.sampled_from(["structure", "sentence", "cluster", "hierarchical"])
)
def test_chunks_of_chunks_keep_the_documents_offsets(inner: str, data: st.DataObject, text: str, outer: str) -> None:
    first, second = data.draw(strategy_parameters(outer)), data.draw(strategy_parameters(inner))
    coarse = node_parser(outer, **first)([LlamaIndexDocument(id_="d", text=text)])
    fine = node_parser(inner, **second)(coarse)
    assert len({node.id_ for node in fine}) == len(fine)
    origins = {node.id_: node for node in coarse}
    for node in fine:
        assert node.ref_doc_id == node.metadata["source_id"] == "d"
        assert node.text == "\n\n".join(text[start:end] for start, end in places(node))
        assert (node.start_char_idx, node.end_char_idx) == (places(node)[0].start, places(node)[-1].end)
        overlap = node.metadata["overlap"]
        if overlap:
            before = next(other for other in fine if other.id_ == node.metadata["prev_id"])
            assert node.text[:overlap] in before.text
            if len(places(before)) == 1:
                assert before.text.endswith(node.text[:overlap]) or node.text in before.text
        if node.parent_node.node_id in origins:
            origin = origins[node.parent_node.node_id]
            assert holds(places(origin), places(node))
    found = text_splitter(outer, **first).split_documents([LangChainDocument(id="d", page_content=text)])
    found = text_splitter(inner, **second).split_documents(found)
    assert [(d.id, d.page_content) for d in found] == [(n.id_, n.text) for n in fine]
    assert [{**n.metadata, "start_index": n.start_char_idx, "end_index": n.end_char_idx} for n in fine] == [
        d.metadata for d in found
    ]

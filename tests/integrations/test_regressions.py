"""Inputs that other splitters get wrong inside the frameworks; the numbers are from the project's list."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode, TextNode

from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.langchain.splitter import text_splitter_class
from kinsplit.integrations.llama_index import node_parser
from kinsplit.integrations.llama_index.parser import node_parser_class
from kinsplit.parsers import names
from kinsplit.spans import Span
from tests.integrations.helpers import Chosen, small


def both(text: str, name: str, **parameters: Any) -> list[Span]:
    """Return the spans of a text's chunks, after checking that both frameworks agree."""
    nodes = node_parser(name, **parameters)([Document(id_="d", text=text)])
    found = text_splitter(name, **parameters).create_documents([text])
    spans = [Span(node.start_char_idx, node.end_char_idx) for node in nodes]
    assert [(d.metadata["start_index"], d.metadata["end_index"]) for d in found] == spans
    assert [node.text for node in nodes] == [d.page_content for d in found] == [text[s:e] for s, e in spans]
    return spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("No. No. No. No.", (Span(0, 11), Span(12, 15))),
        ("alpha -- beta -- -- gamma", (Span(0, 13), Span(14, 16), Span(17, 19))),
    ],
)
def test_1_chosen_offsets_survive_the_frameworks(text: str, spans: tuple[Span, ...]) -> None:
    nodes = node_parser_class(Chosen)(spans=spans)([Document(id_="d", text=text)])
    assert [(node.start_char_idx, node.end_char_idx) for node in nodes] == list(spans)
    found = text_splitter_class(Chosen)(spans=spans).create_documents([text])
    assert [(d.metadata["start_index"], d.metadata["end_index"]) for d in found] == list(spans)


def test_1_repeated_sentences_by_a_real_strategy() -> None:
    assert both("No. No. No. No.", "sentence", chunk_size=3, unit="word") == [(0, 11), (12, 15)]


def test_2_a_repeated_word_is_found_at_its_own_place() -> None:
    spans = both("chunk chunk", "character", chunk_size=5, chunk_overlap=0)
    assert [start for start, _ in spans if start][-1] >= 6
    assert both("chunk chunk", "word", chunk_size=1) == [(0, 5), (6, 11)]


@pytest.mark.parametrize("unit", ["token", "word"])
def test_3_overlap_in_tokens_or_words_never_loses_the_place(unit: str) -> None:
    text = "Overlap is counted in words. The search is done in characters.\n\nSo it is lost. " * 9
    spans = both(text, "sentence", chunk_size=40, chunk_overlap=10, unit=unit)
    assert len(spans) > 3
    assert all(before.start < after.start < before.end for before, after in pairwise(spans))


def test_12_metadata_take_no_room_and_never_fail() -> None:
    text = "A short sentence about classes and objects. " * 60
    long = {"summary": "word " * 400}
    parser = node_parser("sentence", chunk_size=64)
    with pytest.raises(ValueError, match="Metadata length"):
        SentenceSplitter(chunk_size=64, chunk_overlap=12)([Document(text=text, metadata=long)])

    bare = [node.text for node in parser([Document(id_="d", text=text)])]
    hidden = Document(id_="d", text=text, metadata=long, excluded_embed_metadata_keys=["summary"])
    assert [node.text for node in parser([hidden])] == bare

    with pytest.warns(UserWarning, match="'summary' are embedded with every chunk") as caught:
        nodes = parser([Document(id_=str(i), text=text, metadata=long) for i in range(3)])
    assert len(caught) == 1
    assert [node.text for node in nodes] == bare * 3
    assert nodes[0].get_content(MetadataMode.EMBED).startswith("summary: word word")


def test_15_the_last_sentence_is_returned() -> None:
    text = "Alice ate an apple. Bob ate a banana. Charlie ate a cherry. David ate a date."
    assert both(text, "sentence", chunk_size=10)[-1].end == len(text)


def test_17_a_markdown_chain_indexes_the_original() -> None:
    text = "\n\n".join(f"# Part {i}\n\nNo. Yes. No. The same sentence again. No." for i in range(6))
    chain = [node_parser("structure", chunk_size=30, min_chunk_size=1), node_parser("sentence", chunk_size=6)]
    nodes: list[TextNode] = [Document(id_="d", text=text)]
    for stage in chain:
        nodes = stage(nodes)
    assert len(nodes) > 12
    assert all(node.text == text[node.start_char_idx : node.end_char_idx] for node in nodes)


def test_17_children_lie_inside_their_parents() -> None:
    text = "No. Yes. No. The same sentence again. No. " * 12
    nodes = node_parser("hierarchical", parent_size=120, child_size=40)([Document(id_="d", text=text)])
    by_id = {node.id_: node for node in nodes}
    children = [node for node in nodes if node.parent_node]
    assert len(children) > 10
    for child in children:
        parent = by_id[child.parent_node.node_id]
        assert child.text == text[child.start_char_idx : child.end_char_idx]
        assert parent.start_char_idx <= child.start_char_idx
        assert child.end_char_idx <= parent.end_char_idx


@pytest.mark.parametrize("name", names())
def test_18_links_never_cross_documents(name: str) -> None:
    nodes = node_parser(name, **small(name))(
        [Document(id_=str(i), text="One two. Three four. " * 9) for i in range(10)]
    )
    source = {node.id_: node.ref_doc_id for node in nodes}
    for node in nodes:
        for link in (node.prev_node, node.next_node, node.parent_node):
            assert link is None or source[link.node_id] == node.ref_doc_id


def test_18_pages_that_name_their_file_as_source_are_linked() -> None:
    file = Document(id_="file.pdf", text="-").as_related_node_info()
    pages = [Document(id_=f"p{i}", text="One two. Three four.", relationships={"1": file}) for i in (1, 2)]
    nodes = node_parser("word", chunk_size=2)(pages)
    assert {node.ref_doc_id for node in nodes} == {"file.pdf"}
    assert [node.metadata["chunk_index"] for node in nodes] == [0, 1, 2, 3]
    assert nodes[1].next_node.node_id == nodes[2].id_
    assert nodes[2].prev_node.node_id == nodes[1].id_


@pytest.mark.parametrize("name", names())
def test_22_equal_texts_keep_their_own_ids(name: str) -> None:
    text = "One two. Three four. " * 9
    nodes = node_parser(name, **small(name))([Document(id_=i, text=text) for i in ("a", "b")])
    found = text_splitter(name, **small(name)).split_documents(
        [LangChainDocument(id=i, page_content=text) for i in ("a", "b")]
    )
    assert len({node.id_ for node in nodes}) == len(nodes) == len(found)
    assert {node.ref_doc_id for node in nodes} == {"a", "b"}
    assert [node.id_ for node in nodes] == [document.id for document in found]


def test_22_ids_are_the_same_in_every_process() -> None:
    # An earlier process, with another seed of hashes, has written them down.
    text = "One two. Three four. " * 9
    nodes = node_parser("word", chunk_size=3)([Document(id_="d", text=text)])
    assert nodes[0].id_ == "0b81b7f5-a13b-5d74-a01d-37f2c6219bf2"
    found = text_splitter("word", chunk_size=3).create_documents([text, text])
    first, again = found[0], found[len(found) // 2]
    assert (first.id, first.metadata["source_id"]) == ("806419a4-2b7d-5ff4-a9c7-763d7bf4ec88", "text#0210faf2f8c90b82")
    assert again.metadata["source_id"] == "text#0210faf2f8c90b82-2"

"""Chunks of chunks: their positions and inherited metadata."""

from __future__ import annotations

import pytest
from llama_index.core import Document

from kinsplit.details import details
from kinsplit.integrations.llama_index import node_parser
from kinsplit.integrations.llama_index.parser import node_parser_class
from kinsplit.integrations.shared.origins import TextOrigin
from kinsplit.spans import Span, Stretch, stretches
from tests.integrations.helpers import Chosen, Gathered


@pytest.mark.parametrize(
    ("spans", "text", "expected"),
    [
        ([Span(5, 8)], "abc", (Stretch(0, Span(5, 8)),)),
        ([Span(5, 8)], "abcd", None),
        ([Span(5, 8), Span(10, 12)], "abc\n\nde", (Stretch(0, Span(5, 8)), Stretch(5, Span(10, 12)))),
        ([Span(5, 8), Span(10, 12)], "abcde", (Stretch(0, Span(5, 8)), Stretch(3, Span(10, 12)))),
        ([Span(5, 8), Span(10, 12)], "abcd", None),
        ([Span(0, 1), Span(2, 3), Span(4, 5)], "a  bc!", None),
    ],
)
def test_stretches_follow_from_the_lengths(spans: list[Span], text: str, expected: object) -> None:
    assert stretches(spans, text) == expected


def test_a_span_across_stretches_is_found_in_pieces() -> None:
    origin = TextOrigin("n", "d", stretches([Span(5, 8), Span(10, 12)], "abc\n\nde"))
    assert origin.locate([Span(1, 6)]) == (Span(6, 8), Span(10, 11))
    assert origin.locate([Span(0, 2)]) == (Span(5, 7),)
    assert origin.locate([Span(5, 7)]) == (Span(10, 12),)


def test_a_gathered_chunk_tells_its_spans_and_so_do_its_chunks() -> None:
    text = "First one. Second one. Third one."
    gathered, rest = node_parser_class(Gathered)()([Document(id_="d", text=text)])
    assert gathered.text == "First one.\n\none."
    assert details(gathered)["spans"] == [[0, 10], [29, 33]]
    assert (gathered.start_char_idx, gathered.end_char_idx) == (0, 33)
    assert "kinsplit" in gathered.excluded_embed_metadata_keys
    assert "kinsplit" not in rest.metadata
    assert rest.text == text[rest.start_char_idx : rest.end_char_idx]
    nodes = node_parser("word", chunk_size=1)([gathered, rest])
    assert [n.text for n in nodes] == ["First", "one.", "one.", "Second", "one.", "Third"]
    for node in nodes:
        assert node.text == text[node.start_char_idx : node.end_char_idx]
        assert "spans" not in node.metadata


def test_offsets_hold_through_three_passes() -> None:
    text = "## A\n\n" + "No. Yes. Maybe not today. " * 12 + "\n\n## B\n\nNo. Yes. No."
    nodes = [Document(id_="d", text=text)]
    for stage in (
        node_parser("structure", chunk_size=40, min_chunk_size=5),
        node_parser("sentence", chunk_size=12, unit="word"),
        node_parser("word", chunk_size=2),
    ):
        nodes = stage(nodes)
    assert len(nodes) > 20
    for before, node in zip([None, *nodes], nodes, strict=False):
        assert node.ref_doc_id == node.metadata["source_id"] == "d"
        assert node.text == text[node.start_char_idx : node.end_char_idx]
        assert (node.prev_node and node.prev_node.node_id) == (before and before.id_)


def test_parts_of_a_level_are_linked_among_themselves() -> None:
    text = "One two. Three four. Five six. Seven eight."
    levels = node_parser("hierarchical", parent_size=25, child_size=10)([Document(id_="d", text=text)])
    assert {n.metadata["level"] for n in levels} == {0, 1}
    nodes = node_parser("word", chunk_size=1)(levels)
    kind = {node.id_: node.metadata["level"] for node in levels}
    by_id = {node.id_: node for node in nodes}
    for node in nodes:
        if node.next_node:
            after = by_id[node.next_node.node_id]
            assert kind[after.parent_node.node_id] == kind[node.parent_node.node_id]
            assert after.start_char_idx > node.start_char_idx


def test_the_heading_path_is_inherited_and_counts_as_content() -> None:
    text = "# A\n\nOne. Two.\n\n## B\n\nThree. Four."
    sections = node_parser("structure", chunk_size=30, min_chunk_size=0)([Document(id_="d", text=text)])
    words = node_parser("word", chunk_size=1)(sections)
    assert {n.text: n.metadata["context"] for n in words if n.text.isalpha() or n.text.endswith(".")} == {
        "A": "A",
        "One.": "A",
        "Two.": "A",
        "B": "A > B",
        "Three.": "A > B",
        "Four.": "A > B",
    }
    again = node_parser("structure", chunk_size=2, min_chunk_size=0)(sections)
    assert {n.metadata["context"] for n in again} == {"A", "A > B"}
    plain = node_parser("word", chunk_size=1)([Document(id_="d", text="One.")])
    assert plain[0].metadata["content_hash"] != words[2].metadata["content_hash"]


def test_the_overlap_across_an_edge_is_the_shared_text() -> None:
    text = "abcdefghij"
    halves = node_parser_class(Chosen)(spans=(Span(0, 6), Span(4, 10)))([Document(id_="d", text=text)])
    first, second = node_parser_class(Chosen)(spans=(Span(0, 6),))(halves)
    assert (first.metadata["overlap"], second.metadata["overlap"]) == (0, 2)
    assert second.text[:2] == first.text[-2:] == "ef"

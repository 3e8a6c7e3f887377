"""The node parsers under this package's name."""

from __future__ import annotations

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import NodeParser
from llama_index.node_parser import kinsplit as package

from kinsplit.integrations import llama_index as integration

TEXT = "Owls hunt at night. Larks sing at dawn. Gulls fish by day."


@pytest.mark.parametrize("name", package.__all__)
def test_every_name_is_the_integrations(name: str) -> None:
    assert getattr(package, name) is getattr(integration, name)


def test_class() -> None:
    names = [kind.__name__ for kind in package.KinsplitSentenceNodeParser.__mro__]
    assert NodeParser.__name__ in names
    assert package.KinsplitSentenceNodeParser.class_name() == "KinsplitSentenceNodeParser"


def test_a_parser_has_exact_positions_and_relationships() -> None:
    parser = package.KinsplitSentenceNodeParser(unit="word", chunk_size=4, chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([Document(id_="birds.md", text=TEXT)])
    assert [TEXT[node.start_char_idx : node.end_char_idx] for node in nodes] == [node.text for node in nodes]
    assert [node.next_node and node.next_node.node_id for node in nodes] == [nodes[1].node_id, nodes[2].node_id, None]

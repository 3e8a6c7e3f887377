from __future__ import annotations

from collections.abc import Iterator

import pytest
from mcp.server.mcpserver import MCPServer

from kinsplit import Document, Index
from kinsplit.mcp import create_server
from kinsplit.parsers import create
from kinsplit.server.collections import Collections
from kinsplit.server.settings import ServiceSettings
from tests.cli.conftest import course_index

__all__ = ["course_index"]

STORE = "memory:mcp"
TEXT = "# Birds\n\nOwls hunt at night. Larks sing at dawn.\n\n# Fish\n\nSharks smell blood. Eels travel far.\n"
SECRET = "/home/somebody/birds.md"
FIRST = "birds.md"


@pytest.fixture(scope="session")
def collections() -> Iterator[Collections]:
    sentence = create("sentence", chunk_size=8, chunk_overlap=0)
    parents = create("hierarchical", parent_size=60, child_size=25)
    paged = Document("paged.pdf", TEXT, {"year": 2020}, pages=(0, TEXT.index("# Fish")))
    with (
        Index(STORE, collection="sentence", strategy=sentence, embedder="hash") as one,
        Index(STORE, collection="hierarchical", strategy=parents, embedder="hash") as two,
    ):
        for index in (one, two):
            index.add([Document(FIRST, TEXT, {"year": 2024, "absolute_path": SECRET}), paged])
        settings = ServiceSettings.load(store=STORE, collections="sentence,family=hierarchical", embedder="hash")
        opened = Collections(settings)
        yield opened
        opened.close()


@pytest.fixture
def server(collections: Collections) -> MCPServer:
    return create_server(collections)

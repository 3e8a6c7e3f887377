"""Strategies with embedders, given the frameworks' own embedding objects."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import Document, MockEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode

from kinsplit import chunk as core
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import create

TEXT = (
    "# Cats\n\nCats purr when cats are happy. Happy cats purr and purr. Cats that purr are happy cats.\n\n"
    "# Money\n\nStocks fell as rates rose. Rates rose and stocks fell. Falling stocks follow rising rates."
)
#: Small enough for `cluster` to gather passages.
SIZES: dict[str, dict[str, Any]] = {
    "semantic": {"min_sentences": 1, "max_sentences": 2},
    "cluster": {"chunk_size": 30, "passage_size": 10, "passage_overlap": 2},
}
both = pytest.mark.parametrize("name", SIZES)


@both
@pytest.mark.parametrize("embedder", [MockEmbedding(8), DeterministicFakeEmbedding(size=8), HashEmbedder(8), "hash:8"])
def test_an_embedder_of_any_kind_gives_the_same_chunks_through_all_doors(name: str, embedder: Any) -> None:
    parameters = {**SIZES[name], "embedder": embedder}
    chunks = create(name, **parameters).chunk(core.Document("d", TEXT))
    parser = node_parser(name, **parameters)
    document = Document(id_="d", text=TEXT)
    nodes = parser([document])
    found = text_splitter(name, **parameters).split_documents([LangChainDocument(id="d", page_content=TEXT)])
    assert [n.text for n in nodes] == [d.page_content for d in found] == [c.text for c in chunks]
    assert [node.id_ for node in nodes] == [node.id_ for node in asyncio.run(parser.acall([document]))]
    assert [node.id_ for node in nodes] == [d.id for d in found]
    assert len(nodes) > 1


@both
def test_a_parser_with_an_embedding_object_is_rebuilt_and_runs_in_a_pipeline(name: str) -> None:
    parser = node_parser(name, embedder=MockEmbedding(8), **SIZES[name])
    again = type(parser).from_dict(parser.to_dict())
    assert again.embedder is parser.embedder
    document = Document(id_="d", text=TEXT)
    assert [n.id_ for n in again([document])] == [n.id_ for n in parser([document])]
    pipeline = IngestionPipeline(transformations=[parser])
    assert [n.id_ for n in pipeline.run(documents=[document])] == [n.id_ for n in parser([document])]
    for refused in (lambda: pickle.dumps(parser), lambda: parser.to_json()):
        with pytest.raises(InvalidParameterError, match="embedder") as caught:
            refused()
        assert caught.value.field == "embedder"


@both
def test_a_parser_with_a_named_embedder_goes_to_another_process(name: str) -> None:
    parser = node_parser(name, embedder="hash:8", **SIZES[name])
    document = Document(id_="d", text=TEXT)
    for again in (pickle.loads(pickle.dumps(parser)), type(parser).from_json(parser.to_json())):
        assert [n.id_ for n in again([document])] == [n.id_ for n in parser([document])]


def test_what_the_strategy_says_of_a_chunk_is_in_its_metadata_and_not_in_the_embedded_text() -> None:
    parser = node_parser("semantic", embedder="hash")
    first, second = parser([Document(id_="d", text=TEXT, metadata={"course": "zoo"})])
    assert (first.metadata["section"], second.metadata["section"]) == ("Cats", "Money")
    assert "similarity_gap" not in first.metadata
    assert 0 < second.metadata["similarity_gap"] <= 2
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert second.get_metadata_str(mode=mode) == "course: zoo"
    mine = parser([Document(id_="d", text=TEXT, metadata={"section": "mine"})])
    assert [node.metadata["section"] for node in mine] == ["mine", "mine"]
    assert mine[0].get_metadata_str(mode=MetadataMode.EMBED) == "section: mine"


def test_splitting_again_forgets_the_gap_of_the_larger_chunk() -> None:
    coarse = node_parser("semantic", embedder="hash")([Document(id_="d", text=TEXT)])
    fine = node_parser("sentence", chunk_size=8, unit="word")(coarse)
    assert not any("similarity_gap" in node.metadata for node in fine)
    assert [node.metadata["section"] for node in fine] == ["Cats"] * 3 + ["Money"] * 3
    for node in fine:
        assert node.text == TEXT[node.start_char_idx : node.end_char_idx]

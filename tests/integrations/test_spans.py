"""Chunks of several spans in both frameworks: kept, stored, expanded and split again with their positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient

from kinsplit import Document, Index
from kinsplit.details import details
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import create
from tests.integrations.finding import FRAMEWORKS, HASH, Hit, expansion, found, process
from tests.integrations.test_langchain_store import HashEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")

TEXT = " ".join(" ".join([animal] * 5) + "." for animal in ("cats", "dogs", "hens") * 3 for _ in range(6))
PARAMETERS: dict[str, Any] = {
    "chunk_size": 72,
    "passage_size": 14,
    "passage_overlap": 6,
    "threshold": 0.6,
    "embedder": "hash",
}


def split(framework: str) -> list[Any]:
    if framework == "llama_index":
        return llama_index.node_parser("cluster", **PARAMETERS)([LlamaIndexDocument(id_="d", text=TEXT)])
    splitter = langchain.text_splitter("cluster", **PARAMETERS)
    return splitter.split_documents([LangChainDocument(id="d", page_content=TEXT)])


def slices(metadata: dict[str, Any]) -> str:
    """Return the text at the position that the metadata give."""
    spans = metadata.get("spans", [[metadata["char_start"], metadata["char_end"]]])
    assert (spans[0][0], spans[-1][1]) == (metadata["char_start"], metadata["char_end"])
    return "\n\n".join(TEXT[start:end] for start, end in spans)


def check(hit: Hit) -> None:
    assert hit.text == slices(hit.metadata)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_chunks_say_where_each_of_their_parts_lies(framework: str) -> None:
    chunks = [Hit(chunk) for chunk in split(framework)]
    assert any("spans" in chunk.metadata for chunk in chunks)
    for given, chunk in zip(split(framework), chunks, strict=True):
        check(chunk)
        extent = chunk.metadata["char_start"], chunk.metadata["char_end"]
        if framework == "langchain":
            assert (chunk.metadata["start_index"], chunk.metadata["end_index"]) == extent
        else:
            assert (given.start_char_idx, given.end_char_idx) == extent
            assert given.get_content(MetadataMode.EMBED) == given.text


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("options", [{"window": 0}, {"window": 1}, {"window": 9}, {"parents": True}], ids=str)
@pytest.mark.parametrize("known", [True, False], ids=["strategy known", "strategy unknown"])
def test_hits_are_expanded_from_an_index(framework: str, options: dict[str, Any], known: bool) -> None:
    with Index("memory:", strategy=create("cluster", **PARAMETERS), embedder=HASH) as index:
        index.add(Document("d", TEXT))
        chunks = split(framework)
        strategy = create("cluster", **PARAMETERS) if known else None
        stage = expansion(framework, index.store, strategy=strategy, **options)
        hit = next(chunk for chunk in chunks if "spans" in details(chunk))
        (passage,) = process(stage, [found(framework, hit, 0.5)])
        check(passage)
        assert passage.score == 0.5
        assert all(part in passage.text for part in Hit(hit).text.split("\n\n"))
        if options == {"window": 9}:
            assert passage.text.split() == TEXT.split()
        if options == {"window": 0}:
            assert (passage.text, passage.metadata["spans"]) == (Hit(hit).text, Hit(hit).metadata["spans"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_retrievers_give_passages_of_several_spans(framework: str) -> None:
    with Index("memory:", strategy=create("cluster", **PARAMETERS), embedder=HASH) as index:
        index.add(Document("d", TEXT))
        if framework == "llama_index":
            hits = [Hit(hit) for hit in llama_index.KinsplitRetriever(index, window=0).retrieve("dogs dogs")]
        else:
            hits = [Hit(hit) for hit in langchain.KinsplitRetriever(index=index, window=0).invoke("dogs dogs")]
    assert any("spans" in hit.metadata for hit in hits)
    assert len({hit.id for hit in hits}) == len(hits)
    for hit in hits:
        check(hit)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_splitting_again_keeps_the_places_in_the_document(framework: str) -> None:
    chunks = split(framework)
    if framework == "llama_index":
        again = llama_index.node_parser("word", chunk_size=3)(chunks)
    else:
        again = langchain.text_splitter("word", chunk_size=3).split_documents(chunks)
    assert len(again) > len(chunks)
    for part in again:
        check(Hit(part))
    places = {place for part in again for s, e in places_of(Hit(part).metadata) for place in range(s, e)}
    assert not "".join(c for place, c in enumerate(TEXT) if place not in places).strip()


def places_of(metadata: dict[str, Any]) -> list[list[int]]:
    return metadata.get("spans", [[metadata["char_start"], metadata["char_end"]]])  # type: ignore[no-any-return]


def test_stores_give_back_what_they_were_given(tmp_path: Path) -> None:
    nodes, documents = split("llama_index"), split("langchain")
    for node in nodes:
        node.embedding = HASH.embed([node.text])[0].tolist()
    ids = [node.node_id for node in nodes]
    own = llama_index.KinsplitVectorStore(f"edge:{tmp_path / 'li'}", collection="c")
    own.add(nodes)
    assert {n.node_id: (n.get_content(), n.metadata) for n in own.get_nodes(ids)} == {
        n.node_id: (n.text, n.metadata) for n in nodes
    }
    own.close()
    other = langchain.KinsplitVectorStore(HashEmbeddings(), f"edge:{tmp_path / 'lc'}", collection="c")
    other.add_documents(documents)
    assert {d.id: d for d in other.get_by_ids(ids)} == {d.id: d for d in documents}
    other.close()


def test_llama_indexs_own_store_keeps_the_parts_and_expansion_finds_the_kin(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path))
    nodes = split("llama_index")
    for node in nodes:
        node.embedding = HASH.embed([node.text])[0].tolist()
    LlamaIndexQdrant("c", client=client).add(nodes)
    (passage,) = llama_index.SiblingExpansion(client, "c", window=9).postprocess_nodes(
        [NodeWithScore(node=nodes[0], score=0.7)], query_str="q"
    )
    check(Hit(passage))
    assert passage.node.get_content(MetadataMode.NONE).split() == TEXT.split()
    client.close()

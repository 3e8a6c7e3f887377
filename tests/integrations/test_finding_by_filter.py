"""Documents found, counted and deleted by filter, thresholds of hits, and slim metadata for prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery

from kinsplit import Document, Index
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.shared.metadata import slimmed
from tests.integrations.finding import FRAMEWORKS, HASH, LECTURE, STRATEGY, Hit, expansion, process, split
from tests.integrations.test_langchain_store import HashEmbeddings

YEARS = {"a.md": 2019, "b.md": 2020, "c.md": 2021}
OLD: dict[str, Any] = {"year": {"$lt": 2021}}
OLD_FILTERS = MetadataFilters(filters=[MetadataFilter(key="year", value=2021, operator=FilterOperator.LT)])


@pytest.fixture
def index() -> Any:
    with Index("memory:", embedder="hash", strategy=STRATEGY) as made:
        made.add([Document(name, LECTURE, {"year": year, "file_path": name}) for name, year in YEARS.items()])
        yield made


# Found, counted and deleted by filter


def test_an_index_finds_counts_and_deletes_by_filter(index: Index) -> None:
    assert {chunk.source_id for chunk in index.find(OLD)} == {"a.md", "b.md"}
    assert index.count(OLD) == len(index.find(OLD)) == index.count() * 2 // 3
    assert index.store.sources(0, OLD) == {name: index.count() // 3 for name in ("a.md", "b.md")}
    leaves = index.count(OLD)
    assert index.delete(where=OLD) == leaves
    assert set(index.store.sources()) == {"c.md"}
    assert index.delete("c.md") == leaves // 2
    assert index.store.count() == 0
    for wrong in ({}, {"where": {}}, {"source_id": "a.md", "where": OLD}):
        with pytest.raises(InvalidParameterError, match="source_id"):
            index.delete(**wrong)  # type: ignore[arg-type]


async def test_langchain_finds_counts_and_deletes_by_filter() -> None:
    store = langchain.KinsplitVectorStore(HashEmbeddings(), "memory:")
    assert (store.find({}), store.count()) == ([], 0)
    documents = [LangChainDocument(id=name, page_content=name, metadata={"year": y}) for name, y in YEARS.items()]
    store.add_documents(documents)
    for found, number in ((store.find(OLD), store.count(OLD)), (await store.afind(OLD), await store.acount(OLD))):
        assert [document.id for document in found] == ["a.md", "b.md"]
        assert number == 2
    with pytest.raises(InvalidParameterError, match="filter"):
        store.delete(filter={})
    store.delete(["a.md", "c.md"], filter=OLD)
    assert [document.id for document in store.find({})] == ["b.md", "c.md"]
    await store.adelete(filter=OLD)
    assert (store.find({})[0].id, store.count()) == ("c.md", 1)


async def test_llama_index_finds_counts_and_deletes_by_filter() -> None:
    store = llama_index.KinsplitVectorStore("memory:")
    assert store.count() == 0
    nodes = split("llama_index")
    for number, node in enumerate(nodes):
        node.embedding, node.metadata["year"] = HASH.embed([node.text])[0].tolist(), 2018 + number
    store.add(nodes)
    assert store.count(OLD_FILTERS) == await store.acount(OLD_FILTERS) == len(store.get_nodes(filters=OLD_FILTERS)) == 3
    store.delete_nodes(filters=OLD_FILTERS)
    assert store.count() == len(nodes) - 3


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_parents_and_documents_of_an_index_are_not_found_by_filter(framework: str, index: Index) -> None:
    if framework == "langchain":
        found: list[Any] = langchain.KinsplitVectorStore(HashEmbeddings(), index.store).find(OLD)
    else:
        found = llama_index.KinsplitVectorStore(index.store).get_nodes(filters=OLD_FILTERS)
    metadatas = [one.metadata for one in found]
    assert len(metadatas) == index.count(OLD)
    assert {metadata["level"] for metadata in metadatas} == {0}


# A threshold


async def test_langchain_takes_a_score_threshold() -> None:
    store = langchain.KinsplitVectorStore(HashEmbeddings(), "memory:")
    texts = ["red apple", "red pear", "blue sky"]
    store.add_texts(texts)
    scored = store.similarity_search_with_score("red apple", k=3)
    assert [document.page_content for document, _ in scored] == texts
    lowest = scored[1][1]
    for found in (
        store.similarity_search("red apple", k=3, score_threshold=lowest),
        await store.asimilarity_search("red apple", k=3, score_threshold=lowest),
        store.similarity_search_by_vector(HashEmbeddings().embed_query("red apple"), k=3, score_threshold=lowest),
        store.as_retriever(search_kwargs={"k": 3, "score_threshold": lowest}).invoke("red apple"),
    ):
        assert [document.page_content for document in found] == texts[:2]
    assert len(store.similarity_search("red apple", score_threshold=0.999)) == 1
    with pytest.raises(InvalidParameterError, match="score_threshold"):
        store.similarity_search("red apple", score_threshold=70)


# Slim metadata


def _search(framework: str, store: Any, slim: bool) -> list[Any]:
    if framework == "langchain":
        return langchain.KinsplitVectorStore(HashEmbeddings(), store, slim=slim).similarity_search("recursion", k=5)
    query = VectorStoreQuery(HASH.embed_query("recursion").tolist(), similarity_top_k=5)
    result = llama_index.KinsplitVectorStore(store, slim=slim).query(query)
    return list(result.nodes or [])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_slim_metadata_say_the_place_and_what_the_document_says(framework: str, index: Index) -> None:
    full, slim = (_search(framework, index.store, slim=slim) for slim in (False, True))
    assert [Hit(hit).id for hit in full] == [Hit(hit).id for hit in slim]
    for other in map(Hit, slim):
        kept = {
            "chunk_id",
            "source_id",
            "level",
            "chunk_index",
            "char_start",
            "char_end",
            "content_hash",
            "year",
            "file_path",
        }
        assert other.metadata.keys() - {"context", "beside"} == kept
        assert LECTURE[other.metadata["char_start"] : other.metadata["char_end"]] == other.text
    sizes = [sum(len(json.dumps(hit.metadata)) for hit in hits) for hits in (slim, full)]
    assert sizes[0] < 0.55 * sizes[1]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_slim_hits_are_expanded_as_whole_ones_are(framework: str, index: Index) -> None:
    def passages(slim_hits: bool, **options: Any) -> list[tuple[str, str]]:
        hits = _search(framework, index.store, slim=slim_hits)
        given = [NodeWithScore(node=hit, score=0.5) for hit in hits] if framework == "llama_index" else hits
        return [(hit.id, hit.text) for hit in process(expansion(framework, index.store, **options), given)]

    for options in ({"window": 2}, {"parents": True}):
        assert passages(True, **options) == passages(False, **options)
        assert passages(True, slim=True, **options) == passages(False, **options)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_slim_passages_say_no_more_than_their_score_of_how_they_were_found(framework: str, index: Index) -> None:
    made: Any = (llama_index if framework == "llama_index" else langchain).KinsplitRetriever
    ask = "retrieve" if framework == "llama_index" else "invoke"
    whole, slim = (getattr(made(index, slim=slim), ask)("what is recursion") for slim in (False, True))
    for hit, other in zip(map(Hit, whole), map(Hit, slim), strict=True):
        assert (hit.id, hit.text, hit.score) == (other.id, other.text, other.score)
        assert other.details == {"score": hit.score}
        assert hit.details["scores"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_slim_chunks_are_split_again_at_their_place(framework: str, index: Index) -> None:
    (hit, *_) = _search(framework, index.store, slim=True)
    if framework == "llama_index":
        again = llama_index.node_parser("word", chunk_size=4)([hit])
    else:
        again = langchain.text_splitter("word", chunk_size=4).split_documents([hit])
    for part in map(Hit, again):
        assert part.metadata["source_id"] in YEARS
        assert LECTURE[part.metadata["char_start"] : part.metadata["char_end"]] == part.text


def test_what_is_no_chunk_keeps_its_metadata() -> None:
    assert slimmed({"start_index": 3, "strategy": "mine"}) == {"start_index": 3, "strategy": "mine"}

"""Retrievers, the same in both frameworks."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient

from kinsplit import Document, Index
from kinsplit.details import details, whole
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.retrieval.rankings import names
from tests.integrations.finding import (
    FRAMEWORKS,
    HASH,
    LECTURE,
    PARAMETERS,
    STRATEGY,
    ask,
)


class TestTheirSuite(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _index(self, index: Index) -> None:
        self.index = index

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return langchain.KinsplitRetriever  # type: ignore[return-value]

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "window": 0}

    @property
    def retriever_query_example(self) -> str:
        return "What does recursion mean?"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_retriever_returns_passages_with_their_place_and_scores(framework: str, index: Index) -> None:
    options: dict[str, Any] = {"window": 1, "where": {"subject": "cs"}, "budget": 60}
    hits = ask(framework, index, "What does sorting mean?", **options)
    passages = index.search("What does sorting mean?", **options)

    assert len(hits) == len(passages) > 1
    for hit, passage in zip(hits, passages, strict=True):
        metadata = hit.metadata
        assert hit.text == passage.text == LECTURE[metadata["char_start"] : metadata["char_end"]]
        assert metadata["source_id"] == "lecture"
        assert metadata["subject"] == "cs"
        assert (metadata["page_start"], metadata["page_end"]) == passage.pages
        assert hit.score == passage.score
        assert hit.details["scores"] == dict(passage.scores)
        assert [one["id"] for one in hit.details["hits"]] == [one.chunk.id for one in passage.hits]
        assert json.loads(json.dumps(metadata)) == metadata
    assert len({hit.id for hit in hits}) == len(hits)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_retriever_checks_its_options_when_it_is_made(framework: str, index: Index) -> None:
    made: Any = llama_index.KinsplitRetriever if framework == "llama_index" else langchain.KinsplitRetriever
    with pytest.raises(InvalidParameterError, match="window"):
        made(index, window=-1)
    with pytest.raises(InvalidParameterError, match="nonsense"):
        made(index, nonsense=1)


@pytest.mark.parametrize("options", [*({"ranking": name} for name in names()), {"diversity": 0.5}])
async def test_both_frameworks_rank_as_the_core_does(index: Index, options: Any) -> None:
    query, options = "What does sorting mean?", {"top_k": 3, **options}
    expected = [(passage.text, passage.score) for passage in index.search(query, **options)]
    retriever = llama_index.KinsplitRetriever(index, **options)
    for nodes in (retriever.retrieve(query), await retriever.aretrieve(query)):
        assert [(hit.node.get_content(), hit.score) for hit in nodes] == expected
    theirs = langchain.KinsplitRetriever(index, **options)
    for documents in (theirs.invoke(query), await theirs.ainvoke(query)):
        assert [(d.page_content, details(d)["score"]) for d in documents] == expected


async def test_every_option_counts_per_call_in_langchain(index: Index) -> None:
    retriever = langchain.KinsplitRetriever(index, k=2, window=0)
    query = "What does sorting mean?"
    assert len(retriever.invoke(query)) == len(await retriever.ainvoke(query)) == 2
    for options in ({"k": 4}, {"k": 1, "where": {"subject": "bio"}}, {"budget": 30}, {"window": 2}):
        expected = [
            p.text for p in index.search(query, **{"window": 0, "top_k": options.get("k", 2)} | {
                name: value for name, value in options.items() if name != "k"
            })
        ]  # fmt: skip
        assert [d.page_content for d in retriever.invoke(query, **options)] == expected
        assert [d.page_content for d in await retriever.ainvoke(query, **options)] == expected
    with pytest.raises(InvalidParameterError, match="nonsense"):
        retriever.invoke(query, nonsense=1)
    assert len(retriever.invoke(query, top_k=1)) == len(langchain.KinsplitRetriever(index, top_k=1).invoke(query)) == 1


def test_langchain_s_name_of_the_number_of_passages_is_that_of_its_errors(index: Index) -> None:
    retriever = langchain.KinsplitRetriever(index)
    for made in (lambda **counts: langchain.KinsplitRetriever(index, **counts), partial(retriever.invoke, "loops")):
        for name in ("k", "top_k"):
            with pytest.raises(InvalidParameterError, match=rf"^{name}: must be .*got 0\)"):
                made(**{name: 0})
        with pytest.raises(InvalidParameterError, match=r"^top_k: is the same as k .*got 2\)"):
            made(k=1, top_k=2)


async def test_a_query_engine_answers_from_passages(index: Index) -> None:
    engine = RetrieverQueryEngine.from_args(llama_index.KinsplitRetriever(index, top_k=1), llm=MockLLM())
    response, other = engine.query("What does sorting mean?"), await engine.aquery("What does sorting mean?")
    assert "sorting means" in str(response)
    assert str(response) == str(other)
    shown = response.source_nodes[0].node.get_content(MetadataMode.LLM)
    assert not any(word in shown for word in ("kinsplit", "char_start", "dense"))
    assert "subject: cs" in shown


class SlowIndex(Index):
    """An index with slow searches."""

    def search(self, query: str, **options: Any) -> Any:
        time.sleep(0.3)
        return super().search(query, **options)

    async def asearch(self, query: str, **options: Any) -> Any:
        return await asyncio.to_thread(self.search, query, **options)


async def test_an_asynchronous_search_does_not_keep_the_event_loop() -> None:
    with SlowIndex("memory:", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
        for call in (
            lambda: llama_index.KinsplitRetriever(index).aretrieve("loops"),
            lambda: langchain.KinsplitRetriever(index).ainvoke("loops"),
        ):
            ticks, task = 0, asyncio.ensure_future(call())
            while not task.done():
                await asyncio.sleep(0.02)
                ticks += 1
            assert ticks >= 5
            assert task.result()


def test_files_that_belong_to_an_unchunked_document_follow_it() -> None:
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("code.py", "print(1)", {"sibling_files": ["notes.md"]}))
        index.add(Document("notes.md", "It prints one.", {"sibling_files": ["code.py"]}))
        for framework in FRAMEWORKS:
            first, second = ask(framework, index, "print", top_k=1)
            assert {first.text, second.text} == {"print(1)", "It prints one."}
            assert second.details["related_to"] == first.id


# Sibling expansion


UNSEEN = {"absolute_path": "/home/ana/secret/lecture.md", "sibling_files": ["lecture_code.py"]}


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")
def test_no_model_gets_to_see_where_a_file_lies(tmp_path: Path) -> None:
    parser = llama_index.node_parser("sentence", **PARAMETERS)
    nodes: list[Any] = parser([LlamaIndexDocument(id_="lecture", text=LECTURE, metadata={**UNSEEN, "subject": "cs"})])
    with Index(f"qdrant:{tmp_path}", collection="c", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE, {**UNSEEN, "subject": "cs"}))
        nodes += [hit.node for hit in llama_index.KinsplitRetriever(index, top_k=3).retrieve("loops")]
        store = llama_index.KinsplitVectorStore(index.store)
        nodes += store.get_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="level", value=0)]))
    client = QdrantClient(path=str(tmp_path))
    theirs = LlamaIndexQdrant("c", client=client, dense_vector_name="dense", text_key="full_content")
    nodes += theirs.query(VectorStoreQuery(HASH.embed_query("x").tolist(), similarity_top_k=9)).nodes or []
    client.close()

    assert len(nodes) > 3 * 9
    for node in nodes:
        assert whole(node.metadata) | UNSEEN == whole(node.metadata)
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            text = node.get_content(mode)
            assert "subject: cs" in text
            assert "secret" not in text
            assert "lecture_code" not in text


def test_retrievers_say_that_nothing_was_indexed():
    with Index("memory:", collection="nope", embedder="hash") as index:
        for find in (llama_index.KinsplitRetriever(index).retrieve, langchain.KinsplitRetriever(index).invoke):
            with pytest.raises(CollectionNotFoundError, match="There is no collection 'nope'"):
                find("loops")

"""Reranking, the same in both frameworks, and all stages after their own retrievers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from kinsplit import Index
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.retrieval import Ranked, RerankWarning
from tests.integrations.finding import (
    FRAMEWORKS,
    LECTURE,
    Hit,
    found,
    process,
    split,
)
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding


class Backwards:
    """Ranks the last text first, and returns sorted scores, so that indices matter."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        self.seen = list(texts)
        return [Ranked(index, float(index)) for index in reversed(range(len(texts)))]


class Broken:
    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        raise RuntimeError("out of memory")


def reranking(framework: str, reranker: Any, **options: Any) -> Any:
    made: Any = llama_index.Rerank if framework == "llama_index" else langchain.Rerank
    return made(reranker, **options)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_rerankers_scores_land_on_what_it_judged(framework: str) -> None:
    chunks, reranker = split(framework)[:4], Backwards()
    given = [found(framework, chunk, 1 - n / 10) for n, chunk in enumerate(chunks)]

    hits = process(reranking(framework, reranker, top_n=3), given)

    assert [hit.text for hit in hits] == [Hit(one).text for one in given[:0:-1]]
    assert reranker.seen == [Hit(one).text for one in given]
    assert [hit.score for hit in hits] == [3.0, 2.0, 1.0]
    assert all(isinstance(hit.score, float) for hit in hits)
    before = "retrieval" if framework == "llama_index" else "dense"
    assert [hit.details["scores"] for hit in hits] == [
        {before: pytest.approx(1 - n / 10), "rerank": float(n)} for n in (3, 2, 1)
    ]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_reranker_that_fails_leaves_the_order_and_warns(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    with pytest.warns(RerankWarning, match="out of memory"):
        hits = process(reranking(framework, Broken()), given)
    assert [hit.id for hit in hits] == [Hit(one).id for one in given]
    assert [hit.score for hit in hits] == [0.5] * 3


class Slow(Backwards):
    def rerank(self, query: str, texts: Sequence[str]) -> list[Ranked]:
        time.sleep(0.3)
        return super().rerank(query, texts)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_slow_reranker_does_not_keep_the_event_loop(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    stage = reranking(framework, Slow())
    call = (
        stage.apostprocess_nodes(given, query_str="q")
        if framework == "llama_index"
        else (stage.acompress_documents(given, "q"))
    )
    ticks, task = 0, asyncio.ensure_future(call)
    while not task.done():
        await asyncio.sleep(0.02)
        ticks += 1
    assert ticks >= 5
    assert [Hit(one).id for one in task.result()] == [Hit(one).id for one in given[::-1]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_rerankers_by_name(framework: str) -> None:
    given = [found(framework, chunk, 0.5) for chunk in split(framework)[:3]]
    assert len(process(reranking(framework, "none", top_n=2), given)) == 2
    with pytest.raises(InvalidParameterError, match="rerank"):
        reranking(framework, "nonsense")
    with pytest.raises(InvalidParameterError, match="top_n"):
        reranking(framework, "none", top_n=0)


def test_nodes_keep_their_finding_out_of_every_text(index: Index) -> None:
    nodes = split("llama_index")
    (hit,) = llama_index.Rerank(Backwards()).postprocess_nodes([NodeWithScore(node=nodes[0], score=0.5)], query_str="q")
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert hit.node.get_content(mode) == nodes[0].get_content(mode)
    with pytest.raises(InvalidParameterError, match="query"):
        llama_index.Rerank(Backwards()).postprocess_nodes([NodeWithScore(node=nodes[0])])


# Together, in each framework's own chain


async def test_in_a_llama_index_query_engine(index: Index) -> None:
    base = VectorStoreIndex.from_vector_store(llama_index.KinsplitVectorStore(index.store), embed_model=HashEmbedding())
    engine = base.as_query_engine(
        similarity_top_k=5,
        llm=MockLLM(),
        node_postprocessors=[
            llama_index.Rerank("late", embedder=_Tokens()),
            llama_index.SiblingExpansion(index.store),
            llama_index.Rerank(Backwards(), top_n=2),
        ],
    )
    query = QueryBundle("It says what sorting means.")
    for response in (engine.query(query), await engine.aquery(query)):
        hits = [Hit(one) for one in response.source_nodes]
        assert len(hits) == 2
        assert set(hits[0].details["scores"]) == {"retrieval", "rerank", "rerank_passage"}
        assert hits[0].text == LECTURE[hits[0].metadata["char_start"] : hits[0].metadata["char_end"]]


async def test_in_a_langchain_compression_retriever(index: Index) -> None:
    store = langchain.KinsplitVectorStore(HashEmbeddings(), index.store)
    base: Any = store.as_retriever(search_kwargs={"k": 5})
    for stage in (langchain.SiblingExpansion(index.store), langchain.Rerank(Backwards(), top_n=2)):
        base = ContextualCompressionRetriever(base_compressor=stage, base_retriever=base)
    query = "It says what sorting means."
    for documents in (base.invoke(query), await base.ainvoke(query)):
        hits = [Hit(one) for one in documents]
        assert len(hits) == 2
        assert hits[0].details["scores"].keys() == {"rerank"}
        assert hits[0].text == LECTURE[hits[0].metadata["char_start"] : hits[0].metadata["char_end"]]


class _Tokens(HashEmbedder):
    """The hash embedder with a vector for each word."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Any]:
        return [self.embed(text.split()) for text in texts]

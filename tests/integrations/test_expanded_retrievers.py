"""Passages inside what takes a retriever, and the ids by which evaluators and document stores know them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.stores import InMemoryStore
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import PrevNextNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from kinsplit import Document, Index
from kinsplit.details import details
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from tests.integrations.finding import FRAMEWORKS, HASH, LECTURE, PARAMETERS, STRATEGY, Hit, ask, expansion
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding

OWLS = " ".join(f"Owl {number} flies." for number in range(30))
ONE: dict[str, Any] = {"max_sentences": 1, "chunk_overlap": 0}
QUESTION = "Owl 7 flies."


def chained(**search: Any) -> tuple[InMemoryVectorStore, LangChainRetriever]:
    store = InMemoryVectorStore(HashEmbeddings())
    whole = LangChainDocument(id="a", page_content=OWLS)
    store.add_documents(langchain.text_splitter("sentence", **ONE).split_documents([whole]))
    return store, store.as_retriever(search_kwargs=search)


@pytest.fixture
def engine_index() -> VectorStoreIndex:
    nodes = llama_index.node_parser("sentence", **ONE)([LlamaIndexDocument(id_="a", text=OWLS)])
    return VectorStoreIndex(nodes, embed_model=HashEmbedding())


async def test_documents_are_added_to_the_retriever_that_is_expanded() -> None:
    """As LangGraph's template of a retrieval agent adds what users upload, under other ids."""
    store, base = chained(k=1)
    retriever: Any = langchain.SiblingExpansion(store, window=1).as_retriever(base)
    for name, add in (("lark", retriever.add_documents), ("wren", retriever.aadd_documents)):
        text = " ".join(f"The {name} sings {number}." for number in range(5))
        chunks = langchain.text_splitter("sentence", **ONE).split_documents([LangChainDocument(page_content=text)])
        added = add([LangChainDocument(page_content=each.page_content, metadata=each.metadata) for each in chunks])
        assert len(added if isinstance(added, list) else await added) == 5
        (passage,) = retriever.invoke(f"The {name} sings 2.")
        assert passage.page_content == f"The {name} sings 1. The {name} sings 2. The {name} sings 3."


@pytest.mark.parametrize("window", [0, 1, 4])
async def test_langchain_chains_and_tools_take_the_retriever(window: int) -> None:
    chains = pytest.importorskip("langchain_classic.chains")
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    documents = pytest.importorskip("langchain_classic.chains.combine_documents")
    store, base = chained(k=3)
    stage = langchain.SiblingExpansion(store, window=window)
    retriever = stage.as_retriever(base)
    assert isinstance(retriever, LangChainRetriever)
    expected = (base | stage).invoke(QUESTION)
    assert retriever.invoke(QUESTION) == await retriever.ainvoke(QUESTION) == expected
    assert retriever.batch([QUESTION, QUESTION]) == [expected, expected]

    answer = FakeListChatModel(responses=["a"])
    stuff = documents.create_stuff_documents_chain(answer, ChatPromptTemplate.from_template("{context} {input}"))
    assert chains.create_retrieval_chain(retriever, stuff).invoke({"input": QUESTION})["context"] == expected
    several = retrievers.MultiQueryRetriever.from_llm(retriever, FakeListChatModel(responses=[QUESTION]))
    assert several.invoke(QUESTION) == expected
    tool = create_retriever_tool(retriever, "search", "Search.")
    assert expected[0].page_content in tool.invoke({"query": QUESTION})
    assert expected[0].page_content in await tool.ainvoke({"query": QUESTION})
    compressed = retrievers.ContextualCompressionRetriever(base_compressor=stage, base_retriever=base)
    assert compressed.invoke(QUESTION) == expected


def test_a_call_passes_its_arguments_to_the_other_retriever() -> None:
    store, base = chained(k=1)
    retriever = langchain.SiblingExpansion(store, window=0).as_retriever(base)
    counts = [
        sum(len(details(hit)["hits"]) for hit in found)
        for found in (retriever.invoke(QUESTION), retriever.invoke(QUESTION, k=5))
    ]
    assert counts == [1, 5]
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
        inner = langchain.KinsplitRetriever(index, window=0)
        outer = langchain.SiblingExpansion(index, window=0).as_retriever(inner)
        assert outer.invoke("loops", k=1) == inner.invoke("loops", k=1)


async def test_llama_index_engines_and_tools_take_the_retriever(engine_index: VectorStoreIndex) -> None:
    base, stage = engine_index.as_retriever(similarity_top_k=3), llama_index.SiblingExpansion(engine_index, window=2)
    retriever = stage.as_retriever(base)
    assert isinstance(retriever, LlamaIndexRetriever)
    expected = stage.postprocess_nodes(base.retrieve(QUESTION))
    assert retriever.retrieve(QUESTION) == await retriever.aretrieve(QUESTION) == expected
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert engine.query(QUESTION).source_nodes == (await engine.aquery(QUESTION)).source_nodes == expected
    chat = CondensePlusContextChatEngine.from_defaults(
        retriever, llm=MockLLM(), memory=ChatMemoryBuffer.from_defaults(llm=MockLLM())
    )
    assert chat.chat(QUESTION).source_nodes == expected
    assert (await chat.achat(QUESTION)).source_nodes
    tool = RetrieverTool.from_defaults(retriever, name="search", description="Search.")
    assert expected[0].node.get_content() in tool.call(QUESTION).content
    assert QueryEngineTool.from_defaults(engine).call(QUESTION).raw_output.source_nodes == expected


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_no_retriever_is_refused(framework: str, index: Index) -> None:
    for base in (index, "retriever", None):
        with pytest.raises(InvalidParameterError, match="base: must be a retriever of"):
            expansion(framework, index).as_retriever(base)


# Ids


@pytest.mark.parametrize("options", [{"window": 0}, {"window": 1}, {"window": 5}, {"budget": 40}], ids=str)
def test_an_evaluator_finds_no_fewer_hits(engine_index: VectorStoreIndex, options: dict[str, Any]) -> None:
    base, stage = engine_index.as_retriever(similarity_top_k=4), llama_index.SiblingExpansion(engine_index, **options)
    wanted = [hit.node.node_id for hit in base.retrieve(QUESTION)]
    for expected in (wanted, wanted[:1]):
        rates = []
        for retriever, stages in ((base, []), (base, [stage]), (stage.as_retriever(base), [])):
            evaluator = RetrieverEvaluator.from_metric_names(
                ["hit_rate", "mrr"], retriever=retriever, node_postprocessors=stages
            )
            rates.append(evaluator.evaluate(QUESTION, expected_ids=expected).metric_vals_dict)
        assert rates == [{"hit_rate": 1.0, "mrr": 1.0}] * 3


@pytest.mark.parametrize("options", [{"window": 0}, {"window": 1}, {"window": 5}], ids=str)
def test_a_document_store_knows_passages_and_their_chunks(
    engine_index: VectorStoreIndex, options: dict[str, Any]
) -> None:
    stage = llama_index.SiblingExpansion(engine_index, **options)
    hits = engine_index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    docstore = engine_index.docstore
    passages = stage.postprocess_nodes(hits)
    assert {passage.node.node_id for passage in passages} <= {hit.node.node_id for hit in hits}
    for passage in passages:
        assert docstore.get_node(passage.node.node_id).get_content() in passage.node.get_content()
        chunks = docstore.get_nodes(details(passage)["chunks"])
        assert " ".join(chunk.get_content() for chunk in chunks) == passage.node.get_content()
        found = details(passage)["hits"]
        assert found[0]["id"] == passage.node.node_id == passage.node.metadata["chunk_id"]
        assert {hit["id"] for hit in found} <= set(details(passage)["chunks"])
        for link, chunk in (
            (passage.node.prev_node, chunks[0].prev_node),
            (passage.node.next_node, chunks[-1].next_node),
        ):
            assert (link and link.node_id) == (chunk and chunk.node_id)
    (more,) = PrevNextNodePostprocessor(docstore=docstore, num_nodes=1, mode="next").postprocess_nodes(passages[:1])[1:]
    assert OWLS[passages[0].node.end_char_idx :].strip().startswith(more.node.get_content())


def test_langchain_retrievers_deduplicate_by_the_chunks_ids() -> None:
    retrievers = pytest.importorskip("langchain_classic.retrievers")
    store, base = chained(k=3)
    narrow, wide = (langchain.SiblingExpansion(store, window=n).as_retriever(base) for n in (0, 3))
    found = retrievers.EnsembleRetriever(retrievers=[base, narrow, wide], id_key="chunk_id").invoke(QUESTION)
    assert len(found) == len({hit.id for hit in found}) == 3
    assert {hit.metadata["chunk_id"] for hit in found} == {hit.id for hit in base.invoke(QUESTION)}

    summaries = InMemoryVectorStore(HashEmbeddings())
    chunks = [store.get_by_ids([id_])[0] for id_ in store.store]
    summaries.add_documents(
        [
            LangChainDocument(page_content=f"{text} {chunk.page_content}", metadata={"chunk_id": chunk.id})
            for chunk in chunks
            for text in ("Summary:", "Question:")
        ]
    )
    docstore = InMemoryStore()
    docstore.mset([(chunk.id, chunk) for chunk in chunks])
    multi = retrievers.MultiVectorRetriever(
        vectorstore=summaries, docstore=docstore, id_key="chunk_id", search_kwargs={"k": 4}
    )
    expanded = langchain.SiblingExpansion(docstore, window=1).as_retriever(multi).invoke(QUESTION)
    assert QUESTION in expanded[0].page_content
    assert docstore.mget([hit.id for hit in expanded]) != [None] * len(expanded)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("options", [{"window": 0}, {"window": 2}, {"parents": True}, {"level": 1}], ids=str)
def test_the_passages_of_an_index_have_the_ids_of_its_chunks(framework: str, options: dict[str, Any]) -> None:
    with Index("memory:", strategy="hierarchical", embedder=HASH) as index:
        index.add(Document("lecture", LECTURE * 3, {"chunk_id": "of the document"}))
        hits = ask(framework, index, "What does sorting mean?", top_k=3, **options)
        for hit in hits:
            (chunk,) = index.store.get([hit.id])
            assert hit.metadata["chunk_id"] == hit.id == hit.details["hits"][0]["id"]
            assert chunk.text in hit.text
            kept = index.store.get(hit.details["chunks"])
            assert (kept[0].start, kept[-1].end) == (hit.metadata["char_start"], hit.metadata["char_end"])
        assert len({hit.id for hit in hits}) == len(hits)


def test_ids_of_a_store_of_its_own_stay(engine_index: VectorStoreIndex) -> None:
    """LangChain's `index()` gives documents other ids, and LangChain's Qdrant store returns none."""
    store = InMemoryVectorStore(HashEmbeddings())
    chunks = langchain.text_splitter("sentence", **PARAMETERS).split_documents(
        [LangChainDocument(id="lecture", page_content=LECTURE)]
    )
    store.add_documents(chunks, ids=[f"other-{number}" for number in range(len(chunks))])
    hits = store.similarity_search("What does sorting mean?", k=3)
    for passage in map(Hit, langchain.SiblingExpansion(store, window=1).invoke(hits)):
        assert store.get_by_ids([passage.id])
        assert len(store.get_by_ids(passage.details["chunks"])) == len(passage.details["chunks"]) > 1
        assert passage.metadata["chunk_id"] in {chunk.id for chunk in chunks}
    without = [LangChainDocument(page_content=hit.page_content, metadata=hit.metadata) for hit in hits]
    with langchain.KinStore(":memory:") as kin:
        kin.add(chunks)
        found = langchain.SiblingExpansion(kin, window=0).invoke(without)
    assert {passage.id for passage in found} <= {chunk.id for chunk in chunks}

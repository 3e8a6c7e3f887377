"""How kin are looked up in a store: the number of reads, other ids, missing kin, and stores that can't be asked."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from llama_index.core import StorageContext, SummaryIndex, VectorStoreIndex
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import AsyncQdrantClient, QdrantClient

from kinsplit.details import details
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.integrations import llama_index
from kinsplit.integrations.langchain import SiblingExpansion, text_splitter
from kinsplit.parsers import Strategy
from tests.integrations.finding import FRAMEWORKS, LECTURE, expansion, found, process, split
from tests.integrations.kin_stores import documents, leaves, nodes
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import embedded

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


class Counting(InMemoryVectorStore):
    """A store that records its reads and the threads that make them."""

    def __init__(self, chunks: Sequence[Document], ids: list[str] | None = None) -> None:
        super().__init__(HashEmbeddings())
        self.reads: list[tuple[str, int]] = []
        self.threads: set[int] = set()
        self.add_documents(list(chunks), ids=ids)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.reads.append(("get_by_ids", len(ids)))
        return super().get_by_ids(ids)

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        self.reads.append(("aget_by_ids", len(ids)))
        self.threads.add(threading.get_ident())
        return super().get_by_ids(ids)


SPLITTER = text_splitter("word", chunk_size=6)


def fine() -> list[Document]:
    """Return the lecture in many chunks."""
    return SPLITTER.split_documents([Document(id="lecture", page_content=LECTURE)])


def span(chunks: Sequence[Any], first: int, last: int) -> str:
    return LECTURE[chunks[first].metadata["char_start"] : chunks[last].metadata["char_end"]]


# The number of reads


def test_all_kin_of_all_hits_cost_one_read_if_the_strategy_is_known() -> None:
    chunks = fine()
    store = Counting(chunks)
    stage = SiblingExpansion(store, window=3, strategy=SPLITTER.strategy)
    passages = stage.invoke([chunks[9], chunks[0], chunks[-1]])
    assert [name for name, _ in store.reads] == ["get_by_ids"]
    assert passages[0].page_content == span(chunks, 6, 12)
    assert passages[1].page_content == span(chunks, 0, 3)


@pytest.mark.parametrize("window", [1, 3])
def test_links_are_followed_with_one_read_per_step_if_it_is_not(window: int) -> None:
    chunks = fine()
    store = Counting(chunks)
    passages = SiblingExpansion(store, window=window).invoke([chunks[9], chunks[0], chunks[-1]])
    assert [name for name, _ in store.reads] == ["get_by_ids"] * window
    # Two siblings of the first hit, and one each of those at the ends.
    assert store.reads[0][1] == 4
    assert passages[0].page_content == span(chunks, 9 - window, 9 + window)


def test_parents_cost_one_read() -> None:
    chunks = documents()
    store = Counting(chunks)
    parents = SiblingExpansion(store, parents=True).invoke(leaves(chunks)[::2])
    assert [name for name, _ in store.reads] == ["get_by_ids"]
    assert [p.page_content for p in parents] == [c.page_content for c in chunks if c.metadata["level"]]


async def test_coroutines_await_the_stores_own_coroutines_in_the_event_loop() -> None:
    chunks = split("langchain")
    store = Counting(chunks)
    stage = SiblingExpansion(store)
    (passage,) = await stage.ainvoke([chunks[5]])
    (same,) = await stage.acompress_documents([chunks[5]], "q")
    assert passage == same
    assert [name for name, _ in store.reads] == ["aget_by_ids"] * 2
    assert store.threads == {threading.get_ident()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_is_not_in_the_vector_store_comes_from_the_docstore(framework: str) -> None:
    context = StorageContext.from_defaults()
    context.docstore.add_documents(nodes())
    given = leaves(nodes() if framework == "llama_index" else documents())
    (passage,) = process(expansion(framework, context, parents=True), [found(framework, given[3], 0.5)])
    assert passage.text in {node.text for node in nodes() if node.metadata["level"]}


async def test_llama_indexs_qdrant_store_reads_with_its_own_client_for_event_loops() -> None:
    blocking, awaiting = QdrantClient(":memory:"), AsyncQdrantClient(":memory:")
    store = QdrantVectorStore("c", client=blocking, aclient=awaiting)
    chunks = embedded(split("llama_index"))
    await store.async_add(chunks)  # In memory, the two clients have collections of their own.
    stage = llama_index.SiblingExpansion(store)
    (passage,) = await stage.apostprocess_nodes([found("llama_index", chunks[5], 0.5)])
    assert passage.node.get_content() == span(chunks, 4, 6)
    await awaiting.close()
    blocking.close()


def test_a_summary_index_has_a_docstore_alone() -> None:
    chunks = split("llama_index")
    stage = llama_index.SiblingExpansion(SummaryIndex(chunks))
    (passage,) = stage.postprocess_nodes([found("llama_index", chunks[5], 0.5)])
    assert passage.node.get_content() == span(chunks, 4, 6)


def test_parents_of_each_level_are_one_level_up() -> None:
    splitter = text_splitter("hierarchical", parent_size=(300, 150), child_size=60)
    chunks = splitter.split_documents([Document(id="lecture", page_content=LECTURE)])
    by_id = {chunk.id: chunk for chunk in chunks}
    low, middle = (next(chunk for chunk in chunks if chunk.metadata["level"] == level) for level in (0, 1))
    for hit, other in ((low, 1), (middle, 2)):
        (parent,) = SiblingExpansion(Counting(chunks), parents=True).invoke([hit])
        assert parent.page_content == by_id[hit.metadata["parent_id"]].page_content
        assert by_id[hit.metadata["parent_id"]].metadata["level"] == other


# Chunks under other ids, and missing ones


@pytest.mark.parametrize("parents", [False, True])
def test_chunks_under_other_ids_are_found_by_metadata(parents: bool) -> None:
    chunks = documents()
    store = Counting(chunks, ids=[f"id-{number}" for number in range(len(chunks))])
    found = store.similarity_search("why loops matter", k=99)
    hits = [hit for hit in found if hit.metadata["level"] == 0 and hit.metadata["chunk_index"]][:1]
    assert str(hits[0].id).startswith("id-")
    (passage,) = SiblingExpansion(store, parents=parents).invoke(hits)
    # In vain by id, and then all documents in one call.
    assert [number for _, number in store.reads] == [1 if parents else 2, len(chunks)]
    own, at = leaves(chunks), hits[0].metadata["chunk_index"]
    by_id = {chunk.id: chunk for chunk in chunks}
    expected = by_id[hits[0].metadata["parent_id"]].page_content if parents else span(own, max(0, at - 1), at + 1)
    assert passage.page_content == expected


def _two_of_one_name(*about: dict[str, str]) -> VectorStore:
    """Return a store of two documents that have the same id, and whose chunks have other ones."""
    store = InMemoryVectorStore(HashEmbeddings())
    for name, metadata in zip(("owl", "lark"), about, strict=True):
        text = " ".join(f"The {name} {number} flies over the {name}s." for number in range(9))
        chunks = SPLITTER.split_documents([Document(id="birds.md", page_content=text, metadata=metadata)])
        store.add_documents(chunks, ids=[f"{name}-{number}" for number in range(len(chunks))])
    return store


@pytest.mark.parametrize("strategy", [None, SPLITTER.strategy])
@pytest.mark.parametrize("name", ["owl", "lark"])
def test_documents_of_one_name_are_told_apart_by_their_metadata(name: str, strategy: Strategy | None) -> None:
    """A filter for a user's own documents would be no use otherwise."""
    store = _two_of_one_name({"user": "owl"}, {"user": "lark"})
    base = store.as_retriever(search_kwargs={"k": 2, "filter": lambda document: document.metadata["user"] == name})
    passages = SiblingExpansion(store, window=2, strategy=strategy).as_retriever(base).invoke(f"The {name} 5 flies")
    other = {"owl": "lark", "lark": "owl"}[name]
    assert not any(other in passage.page_content for passage in passages)
    assert any(len(details(passage)["chunks"]) > 1 for passage in passages)


def test_versions_that_nothing_tells_apart_are_not_mixed() -> None:
    store = _two_of_one_name({}, {})
    (hit,) = store.similarity_search("The owl 5 flies over", k=1)
    with pytest.warns(UserWarning, match="missing from the collection, or of another version"):
        (passage,) = SiblingExpansion(store, window=2).invoke([hit])
    assert passage.page_content == hit.page_content


@pytest.mark.parametrize("parents", [False, True])
def test_a_store_with_other_ids_and_no_known_filter_is_refused_with_the_remedy(parents: bool) -> None:
    chunks, store = documents(), InMemoryStore()
    store.mset([(str(number), chunk) for number, chunk in enumerate(chunks)])
    with pytest.raises(StoreError, match=r"None of the .* under its id. .*KinStore"):
        SiblingExpansion(store, parents=parents).invoke(leaves(chunks)[3:4])


def test_some_missing_kin_are_a_warning() -> None:
    chunks = split("langchain")
    store = InMemoryStore()
    store.mset([(chunk.id, chunk) for chunk in chunks if chunk is not chunks[6]])
    with pytest.warns(UserWarning, match="1 siblings of the hits, the first of them chunk 6 of 'lecture'") as warned:
        (passage,) = SiblingExpansion(store).compress_documents([chunks[5]], "q")
    assert warned[0].filename == __file__
    assert passage.page_content == span(chunks, 4, 5)


def test_a_document_of_one_chunk_and_the_ends_of_others_miss_nothing() -> None:
    whole = text_splitter("sentence").split_documents([Document(id="note", page_content="One sentence.")])
    assert SiblingExpansion(Counting(whole), window=5).invoke(whole)[0].page_content == "One sentence."
    chunks = split("langchain")
    for at in (0, len(chunks) - 1):
        (passage,) = SiblingExpansion(Counting(chunks), window=99).invoke([chunks[at]])
        assert passage.page_content == LECTURE


def test_hits_whose_numbers_are_not_unique_in_their_document_stay_apart() -> None:
    parts = text_splitter("structure", chunk_size=30, min_chunk_size=5).split_documents(
        [Document(id="lecture", page_content=LECTURE)]
    )
    splitter = text_splitter("word", chunk_size=5)
    chunks = [chunk for part in parts for chunk in splitter.split_documents([part])]
    hits = [chunk for chunk in chunks if chunk.metadata["chunk_index"] == 1][:2]
    with pytest.warns(UserWarning, match="1 hits have the number of another chunk") as warned:
        first, second = SiblingExpansion(Counting(chunks)).compress_documents(hits, "q")
    assert warned[0].filename == __file__
    assert second == hits[1]
    assert first.page_content in parts[0].page_content
    assert len(first.page_content) > len(hits[0].page_content)


# Stores that can't be asked


class Unknown(VectorStore):
    """A store that can only be searched."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return []

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        return cls()


class Refusing(Unknown):
    """A store that promises more than it does."""

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


def test_a_store_that_cannot_be_asked_is_refused_with_the_remedy() -> None:
    for framework, store in (
        ("langchain", Unknown()),
        ("langchain", object()),
        ("llama_index", SimpleVectorStore()),
        ("llama_index", None),
    ):
        with pytest.raises(InvalidParameterError, match=r"store: must be a store .*KinStore\('kin.db'\)"):
            expansion(framework, store)
    with pytest.raises(InvalidParameterError, match="parent_store: must be"):
        SiblingExpansion(Counting([]), parent_store=Unknown())


async def test_a_store_that_refuses_the_call_is_named_with_the_remedy() -> None:
    chunks = split("langchain")
    with pytest.raises(StoreError, match=r"KinStore\('kin.db'\)"):
        SiblingExpansion(Refusing()).invoke([chunks[5]])
    with pytest.raises(StoreError, match=r"KinStore\('kin.db'\)"):
        await SiblingExpansion(Refusing(), parents=True).ainvoke(leaves(documents())[3:4])


# In the frameworks


async def test_it_is_a_runnable_and_a_compressor() -> None:
    chunks = split("langchain")
    store = Counting(chunks)
    stage = SiblingExpansion(store, name="kin")
    retriever = store.as_retriever(search_kwargs={"k": 2})
    chain = retriever | stage | RunnableLambda(lambda documents: [document.page_content for document in documents])

    texts = chain.invoke("recursion")
    assert texts == await chain.ainvoke("recursion")
    assert chain.batch(["recursion", "loops"])[0] == (await chain.abatch(["recursion", "loops"]))[0] == texts
    assert all(text in LECTURE and text not in {chunk.page_content for chunk in chunks} for text in texts)
    assert [event["name"] async for event in chain.astream_events("recursion", version="v2")].count("kin") >= 2
    classic = ContextualCompressionRetriever(base_compressor=stage, base_retriever=retriever)
    for passages in (classic.invoke("recursion"), await classic.ainvoke("recursion")):
        assert [passage.page_content for passage in passages] == texts


def test_a_query_engine_of_llama_index_uses_it() -> None:
    from llama_index.core.llms import MockLLM

    from tests.integrations.test_llama_index_store import HashEmbedding

    index = VectorStoreIndex(split("llama_index"), embed_model=HashEmbedding())
    engine = index.as_query_engine(
        llm=MockLLM(), similarity_top_k=1, node_postprocessors=[llama_index.SiblingExpansion(index)]
    )
    (source,) = engine.query("What does recursion mean?").source_nodes
    assert len(details(source)["hits"]) == 1
    assert source.node.get_content() in LECTURE
    assert source.node.metadata["char_end"] - source.node.metadata["char_start"] > 100


@pytest.mark.parametrize("parent_splitter", [text_splitter("structure", chunk_size=30, min_chunk_size=5), None])
def test_parents_come_from_the_docstore_of_a_parent_document_retriever(parent_splitter: Any) -> None:
    """Which stores parents, or whole documents, under keys of its own."""
    store, docstore = InMemoryVectorStore(HashEmbeddings()), InMemoryStore()
    retriever = ParentDocumentRetriever(
        vectorstore=store,
        docstore=docstore,
        child_splitter=text_splitter("word", chunk_size=6),
        parent_splitter=parent_splitter,
    )
    retriever.add_documents([Document(id="lecture", page_content=LECTURE)])
    stage = SiblingExpansion(store, parents=True, parent_store=docstore, parent_key="doc_id")
    children = store.similarity_search("why recursion matters", k=4)
    passages = stage.invoke(children)

    stored = [document.page_content for document in docstore.mget(list(docstore.yield_keys()))]
    keys = dict.fromkeys(child.metadata["doc_id"] for child in children)
    assert len(passages) == len(keys)
    assert [p.page_content for p in passages] == [d.page_content for d in docstore.mget(list(keys))]
    assert {p.page_content for p in passages} <= set(stored)
    assert sum(len(details(p)["hits"]) for p in passages) == len(children)

"""A chunk store inside LangChain: the framework's own test suite, and further tests."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from kinsplit import Document as CoreDocument
from kinsplit import Index
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.integrations.langchain import ChunkKeys, KinsplitVectorStore, text_splitter
from kinsplit.integrations.llama_index import KinsplitVectorStore as LlamaIndexStore
from kinsplit.integrations.llama_index import node_parser
from kinsplit.stores import ChunkStore, Schema, open_store
from tests.integrations.helpers import TEXT

HASH = HashEmbedder()


class HashEmbeddings(Embeddings):
    """The hash embedder inside LangChain."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return HASH.embed(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        return HASH.embed_query(text).tolist()  # type: ignore[no-any-return]


class TestMemory(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> VectorStore:
        return KinsplitVectorStore(self.get_embeddings(), "memory:")


SCHEMA = Schema(
    "fake", 6, "bm25:english:256:forms+parts+acronyms+grams+names+short", '{"name": "given", "parameters": {}}', "given"
)


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChunkStore]:
    """A store that many tests share, since opening an embedded one takes longer than most of them."""
    store = open_store(f"edge:{tmp_path_factory.mktemp('edge')}", "c", SCHEMA)
    yield store
    store.close()


class TestEdge(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, edge: ChunkStore) -> Iterator[VectorStore]:
        store = KinsplitVectorStore(self.get_embeddings(), edge)
        yield store
        store.delete()


class TestQdrant(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> Iterator[VectorStore]:
        store = KinsplitVectorStore(self.get_embeddings(), "qdrant::memory:")
        yield store
        store.close()


@pytest.fixture
def store() -> KinsplitVectorStore:
    return KinsplitVectorStore(HashEmbeddings(), "memory:")


FRUIT = [
    Document(id="1", page_content="red apple", metadata={"kind": "fruit", "n": 1, "tags": ["a", "b"]}),
    Document(id="2", page_content="red cherry", metadata={"kind": "fruit", "n": 2}),
    Document(id="3", page_content="green bean", metadata={"kind": "other", "n": 3}),
]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("ids", [None, ["a", "b", "c"]])
def test_the_error_of_a_refused_document_names_it(ids: list[str] | None, *, awaited: bool) -> None:
    class Picky(HashEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("cherry" in text for text in texts):
                raise RuntimeError("413 input too large")
            if any("bean" in text for text in texts):
                return [[float("nan")] * HASH.dimension for _ in texts]
            return super().embed_documents(texts)

    store = KinsplitVectorStore(Picky(), "memory:")

    def add(documents: list[Document]) -> None:
        more = {} if ids is None else {"ids": ids[: len(documents)]}
        if awaited:
            asyncio.run(store.aadd_documents(documents, **more))
        else:
            store.add_documents(documents, **more)

    names = ids or ["1", "2", "3"]
    with pytest.raises(EmbeddingError, match=rf"^Nothing was stored\. {names[1]}: .*413.*Refused are 2 of 3"):
        add(FRUIT)
    with pytest.raises(EmbeddingError, match=rf"^Nothing was stored\. {names[1] if ids else 3}: .*NaN"):
        add([FRUIT[0], FRUIT[2]])
    with pytest.raises(EmbeddingError, match="413" if ids else r"documents\[0\]: .*413"):
        add([Document("red cherry")])
    assert store.count() == 0


def test_an_embedding_object_that_is_down_raises_its_own_exception() -> None:
    class Down(HashEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ConnectionError("is down")

    store = KinsplitVectorStore(Down(), "memory:")
    with pytest.raises(ConnectionError, match="is down"):
        store.add_documents(FRUIT)
    with pytest.raises(ConnectionError, match="is down"):
        asyncio.run(store.aadd_documents(FRUIT))


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
def test_filters(store: KinsplitVectorStore) -> None:
    store.add_documents(FRUIT)

    def found(where: dict[str, Any]) -> set[str | None]:
        return {document.id for document in store.similarity_search("red", k=9, filter=where)}

    assert found({"kind": "fruit"}) == {"1", "2"}
    assert found({"n": [1, 3]}) == {"1", "3"}
    assert found({"kind": "fruit", "n": [2, 3]}) == {"2"}
    assert found({"tags": "b"}) == {"1"}
    assert found({"n": {"$gte": 2}, "kind": {"$ne": "other"}}) == {"2"}
    assert found({"$or": [{"n": {"$lt": 2}}, {"kind": "other"}]}) == {"1", "3"}
    retriever = store.as_retriever(search_kwargs={"k": 9, "filter": {"kind": "other"}})
    assert [document.id for document in retriever.invoke("red")] == ["3"]
    assert found({"n": [0.5, 2.0]}) == {"2"}
    assert found({"n": 0.5}) == set()
    with pytest.raises(InvalidParameterError, match="must be a value"):
        found({"n": {"gte": 2}})
    assert found({"$or": [{"n": 2}, *({f"key{i}": i} for i in range(33))]}) == {"2"}
    assert found({"$or": [{"n": i} for i in range(3, 300)]}) == {"3"}


def test_scores_are_cosines_and_relevance_is_between_0_and_1(store: KinsplitVectorStore) -> None:
    store.add_documents(FRUIT)
    cosine = float(HASH.embed(["red cherry"])[0] @ HASH.embed_query("red apple"))

    (first, one), (second, other) = store.similarity_search_with_score("red apple", k=2)

    assert (first.id, second.id) == ("1", "2")
    assert (one, other) == pytest.approx((1.0, cosine), abs=1e-5)
    kept = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.99})
    assert [document.id for document in kept.invoke("red apple")] == ["1"]


@pytest.mark.parametrize("lambda_mult", [0.0, 0.3, 0.7, 1.0])
async def test_mmr_is_langchains_own(lambda_mult: float) -> None:
    documents = [Document(id=str(n), page_content=f"text {n}") for n in range(30)]
    embeddings = DeterministicFakeEmbedding(size=4)
    store, theirs = KinsplitVectorStore(embeddings, "memory:"), InMemoryVectorStore(embeddings)
    for one in (store, theirs):
        one.add_documents(documents)
    options: dict[str, Any] = {"k": 4, "fetch_k": 9, "lambda_mult": lambda_mult}

    expected = [document.id for document in theirs.max_marginal_relevance_search("red apple pie", **options)]

    assert [d.id for d in store.max_marginal_relevance_search("red apple pie", **options)] == expected
    assert [d.id for d in await store.amax_marginal_relevance_search("red apple pie", **options)] == expected
    retriever = store.as_retriever(search_type="mmr", search_kwargs=options)
    assert [d.id for d in retriever.invoke("red apple pie")] == expected


def test_mmr_reads_its_vectors_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    store = KinsplitVectorStore(DeterministicFakeEmbedding(size=4), "memory:")
    store.add_documents([Document(id=str(n), page_content=f"text {n}") for n in range(30)])
    kept: Any = store.client
    calls: list[str] = []

    def count(name: str, method: Any) -> None:
        monkeypatch.setattr(kept, name, lambda *arguments: (calls.append(name), method(*arguments))[1])

    for name in ("search", "get", "export", "vectors"):
        count(name, getattr(kept, name))
    assert len(store.max_marginal_relevance_search("red apple pie", k=4, fetch_k=9)) == 4
    assert calls == ["search", "vectors"]


def test_nothing_is_mutated_and_metadata_come_back_as_they_were(store: KinsplitVectorStore) -> None:
    metadata = {"level": "hard", "context": {"a": [1, None, 2.5]}, "full_content": "mine", "gap": 3, "é": "ü"}
    documents = [Document(id="x", page_content="text", metadata=metadata), Document(page_content="no id")]
    before = copy.deepcopy(documents)

    ids = store.add_documents(documents)

    assert documents == before
    assert store.get_by_ids(ids) == [documents[0], Document(id=ids[1], page_content="no id")]
    found = store.similarity_search("text", k=1)[0]
    found.metadata["level"] = "changed"
    assert store.get_by_ids(["x"])[0].metadata["level"] == "hard"


async def test_texts_from_a_generator_are_all_added(store: KinsplitVectorStore) -> None:
    assert len(store.add_texts(text for text in ("one", "two", "three"))) == 3
    assert len(await store.aadd_texts(text for text in ("four", "five"))) == 2
    assert len(store.add_documents(iter(FRUIT))) == 3  # type: ignore[arg-type]
    assert len(store.similarity_search("one", k=9)) == 8


def test_made_of_texts() -> None:
    store = KinsplitVectorStore.from_texts(["a b", "c d"], HashEmbeddings(), [{"n": 1}, {"n": 2}], store="memory:")
    assert store.similarity_search("c d", k=1)[0].metadata == {"n": 2}


def test_deleting_without_ids_deletes_all(store: KinsplitVectorStore) -> None:
    store.add_documents(FRUIT)
    store.delete(["2", "nobody"])
    assert {document.id for document in store.similarity_search("red", k=9)} == {"1", "3"}
    store.delete()
    assert store.similarity_search("red", k=9) == []


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda store: store.add_documents(FRUIT, ids=["1"]), "ids"),
        (lambda store: store.add_documents(FRUIT[:1], ids=[1]), "ids"),
        (lambda store: store.add_documents(FRUIT[0]), "documents"),
        (lambda store: store.add_documents([Document(page_content="x", metadata={"when": object()})]), "metadata"),
        (lambda store: store.add_texts("red"), "texts"),
        (lambda store: store.add_texts(["a", "b"], ids=["1"]), "ids"),
        (lambda store: store.add_texts(["a", "b"], [{"n": 1}]), "metadatas"),
        (lambda store: store.add_embeddings(FRUIT, [[1.0]]), "embeddings"),
        (lambda store: store.get_by_ids("1"), "ids"),
        (lambda store: store.delete("1"), "ids"),
        (lambda store: store.similarity_search("red", nonsense=1), "nonsense"),
        (lambda store: store.similarity_search("red", k=0), "k"),
        (lambda store: store.similarity_search("red", k="2"), "k"),
        (lambda store: store.max_marginal_relevance_search("red", fetch_k=0), "fetch_k"),
        (lambda store: store.similarity_search_by_vector([float("nan")] * HASH.dimension), "vector"),
    ],
)
def test_bad_arguments_are_named(
    store: KinsplitVectorStore, call: Callable[[KinsplitVectorStore], object], field: str
) -> None:
    store.add_documents(FRUIT)
    with pytest.raises(InvalidParameterError, match=f"^{field}"):
        call(store)
    assert len(store.find({})) == len(FRUIT)


def test_chunks_come_back_equal_and_index_skips_what_has_not_changed(store: KinsplitVectorStore) -> None:
    chunks = text_splitter("sentence", chunk_size=20).split_documents([Document(id="d", page_content=TEXT)])
    store.add_documents(chunks)
    assert store.get_by_ids([str(chunk.id) for chunk in chunks]) == chunks
    store.delete()

    records = InMemoryRecordManager(namespace="n")
    records.create_schema()
    added = []
    for text in (TEXT, TEXT, TEXT + "More."):
        chunks = text_splitter("sentence", chunk_size=20).split_documents([Document(id="d", page_content=text)])
        done = index(
            chunks,
            records,
            store,
            cleanup="incremental",
            source_id_key="source_id",
            key_encoder=ChunkKeys(records, store),
        )
        added.append(done["num_added"])
    assert added[0] > 1
    assert added[1:] == [0, 1], "the new chunk; the one before it, which is linked to it, keeps its vector"
    assert len(store.similarity_search("x", k=99)) == len(chunks)


def test_it_reads_what_an_index_and_what_llama_index_wrote() -> None:
    document = Document(id="d", page_content=TEXT, metadata={"subject": "cs"})
    with Index("memory:", strategy="sentence", embedder=HASH) as made:
        made.add(CoreDocument("d", TEXT, {"subject": "cs"}))
        store = KinsplitVectorStore(HashEmbeddings(), made.store)
        found = store.similarity_search(TEXT, k=99)
        expected = text_splitter("sentence", add_start_index=False).split_documents([document])
        for one, other in zip(sorted(found, key=lambda d: d.metadata["chunk_index"]), expected, strict=True):
            # An index gives its chunks parents.
            assert one.id == other.id
            assert one.page_content == other.page_content
            assert {**one.metadata, "parent_id": ""} == other.metadata

    other_store = LlamaIndexStore("memory:")
    from llama_index.core import Document as Theirs

    nodes = node_parser("sentence", chunk_size=20)([Theirs(id_="d", text=TEXT)])
    for node in nodes:
        node.embedding = HASH.embed([node.text])[0].tolist()
    other_store.add(nodes)
    assert other_store.client is not None
    shared = KinsplitVectorStore(HashEmbeddings(), other_store.client)
    assert [(d.id, d.page_content, d.metadata) for d in shared.get_by_ids([n.id_ for n in nodes])] == [
        (n.id_, n.text, n.metadata) for n in nodes
    ]
    chunks = text_splitter("sentence", chunk_size=12).split_documents([Document(id="e", page_content=TEXT)])
    shared.add_documents([*chunks, FRUIT[0]])
    back = other_store.get_nodes([*[str(chunk.id) for chunk in chunks], "1"])
    assert [node.get_content() for node in back] == [*[chunk.page_content for chunk in chunks], "red apple"]
    assert back[1].ref_doc_id == "e"
    assert back[1].prev_node is not None
    assert back[1].prev_node.node_id == back[0].node_id
    assert back[-1].metadata == FRUIT[0].metadata


async def test_a_slow_store_does_not_keep_the_event_loop() -> None:
    with Index("memory:", embedder=HASH) as made:
        store = KinsplitVectorStore(HashEmbeddings(), made.store)
        store.add_documents(FRUIT)
        search, threads = made.store.search, []

        def slow(queries: Any) -> Any:
            threads.append(threading.current_thread())
            time.sleep(0.3)
            return search(queries)

        made.store.search = slow  # type: ignore[method-assign]
        ticks, task = 0, asyncio.ensure_future(store.asimilarity_search("red"))
        while not task.done():
            await asyncio.sleep(0.02)
            ticks += 1
        assert ticks >= 5
        assert threads != [threading.main_thread()]

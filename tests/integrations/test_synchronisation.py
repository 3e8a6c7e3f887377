"""An edited document embeds only its new texts, in both frameworks."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import IndexingResult, InMemoryRecordManager, aindex, index
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from llama_index.core import Document as LlamaDocument
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.storage.docstore import SimpleDocumentStore

from kinsplit.embedding import create
from kinsplit.embedding.cached import VectorFolder
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.integrations import langchain, llama_index

HASH = create("hash")
SPLIT: dict[str, Any] = {"chunk_size": 3, "unit": "word", "chunk_overlap": 0}

ORIGINAL = "".join(f"Sentence number {number:02}. " for number in range(25))
EDITED = ORIGINAL.replace("Sentence number 12", "Something entirely different")
#: Another text of the document, the number of texts to embed, and the number of chunks.
EDITS = {
    "nothing": (ORIGINAL, 0, 25),
    "a sentence": (EDITED, 1, 25),
    "a longer first sentence": (ORIGINAL.replace("number 00", "00000000000"), 1, 25),
    "a sentence put before all others": (f"One sentence more. {ORIGINAL}", 1, 26),
    "the first sentence deleted": (ORIGINAL[len("Sentence number 00. ") :], 0, 24),
    "the last sentences deleted": (ORIGINAL[: ORIGINAL.index("Sentence number 22")], 0, 22),
}


class Counted(Embeddings):
    """Embeds by hashing, and counts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [vector.tolist() for vector in HASH.embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(number) for number in HASH.embed([text])[0]]


class CountedEmbedding(BaseEmbedding):
    """The same for LlamaIndex."""

    texts: list[str] = []  # noqa: RUF012

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.texts.extend(texts)
        return [vector.tolist() for vector in HASH.embed(texts)]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(number) for number in HASH.embed([query])[0]]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def check(kept: Sequence[Any], fetch: Callable[[str], Any], text_of: Callable[[Any], str], text: str) -> None:
    """Check that the chunks are those of a text, and that all links lead to neighbours."""
    kept = sorted(kept, key=lambda each: each.metadata["chunk_index"])
    assert [text_of(each) for each in kept] == langchain.text_splitter("sentence", **SPLIT).split_text(text)
    for position, each in enumerate(kept):
        metadata = each.metadata
        assert text[metadata["char_start"] : metadata["char_end"]] == text_of(each)
        before = kept[position - 1] if position else None
        after = kept[position + 1] if position + 1 < len(kept) else None
        for key, neighbour in (("prev_id", before), ("next_id", after)):
            linked = text_of(fetch(metadata[key])) if metadata[key] else None
            assert linked == (neighbour and text_of(neighbour))


class Chain:
    """LangChain's `index()` on a store."""

    def __init__(self, make: Callable[[Embeddings], VectorStore], embeddings: Embeddings, **options: Any) -> None:
        self.store = make(embeddings)
        self.records = InMemoryRecordManager(namespace="test")
        self.records.create_schema()
        self.options: dict[str, Any] = {"cleanup": "scoped_full", "source_id_key": "source_id", **options}
        refuses = type(self.store).__name__ == "FAISS"
        self.options["key_encoder"] = langchain.ChunkKeys(self.records, self.store, delete_first=refuses)

    def update(self, text: str, *, asynchronous: bool = False, **options: Any) -> IndexingResult:
        splitter = langchain.text_splitter("sentence", **SPLIT)
        chunks = splitter.split_documents([Document(id="d", page_content=text)])
        options = {**self.options, **options}
        if asynchronous:
            return asyncio.run(aindex(chunks, self.records, self.store, **options))
        return index(chunks, self.records, self.store, **options)

    def check(self, text: str) -> None:
        kept = self.store.similarity_search("x", k=99)
        check(kept, lambda id_: self.store.get_by_ids([id_])[0], lambda document: document.page_content, text)


def ours(embeddings: Embeddings) -> VectorStore:
    return langchain.KinsplitVectorStore(embeddings, "memory:")


def qdrant(embeddings: Embeddings) -> VectorStore:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    client.create_collection("c", models.VectorParams(size=HASH.dimension, distance=models.Distance.COSINE))
    return QdrantVectorStore(client, "c", embeddings, validate_collection_config=False)


def faiss(embeddings: Embeddings) -> VectorStore:
    library = pytest.importorskip("faiss")
    pytest.importorskip("langchain_community")
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    return FAISS(embeddings, library.IndexFlatL2(HASH.dimension), InMemoryDocstore(), {})


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("cleanup", ["scoped_full", "full", "incremental"])
def test_langchain_embeds_only_new_texts_in_our_store(edit: str, cleanup: str) -> None:
    text, embedded, _ = EDITS[edit]
    counted = Counted()
    chain = Chain(ours, counted, cleanup=cleanup)
    chain.update(ORIGINAL)
    assert len(counted.texts) == 25
    counted.texts.clear()

    done = chain.update(text, asynchronous=edit == "a sentence")

    assert (len(counted.texts), done["num_added"]) == (embedded, embedded)
    chain.check(text)
    counted.texts.clear()
    assert chain.update(text)["num_added"] == 0
    assert counted.texts == []
    chain.update(ORIGINAL)
    chain.check(ORIGINAL)
    assert len(counted.texts) <= 3


@pytest.mark.parametrize("make", [InMemoryVectorStore, qdrant, faiss])
@pytest.mark.parametrize("edit", ["a sentence", "a sentence put before all others"])
def test_langchain_embeds_only_new_texts_in_any_store(
    make: Callable[[Embeddings], VectorStore], edit: str, tmp_path: Path
) -> None:
    text, embedded, _ = EDITS[edit]
    counted = Counted()
    chain = Chain(make, langchain.CachedEmbeddings(counted, model="hash", folder=tmp_path))
    chain.update(ORIGINAL)
    assert len(counted.texts) == 25
    counted.texts.clear()
    chain.update(text, asynchronous=make is InMemoryVectorStore)
    assert len(counted.texts) == embedded
    chain.check(text)


def test_small_batches_and_a_forced_update() -> None:
    counted = Counted()
    chain = Chain(ours, counted, batch_size=4)
    chain.update(ORIGINAL)
    counted.texts.clear()
    text, embedded, _ = EDITS["a sentence put before all others"]
    chain.update(text)
    assert len(counted.texts) == embedded
    chain.check(text)
    counted.texts.clear()
    chain.update(EDITED, force_update=True)
    assert len(counted.texts) == 25, "a forced update embeds everything"


def test_vectors_of_another_writer_are_not_taken() -> None:
    counted = Counted()
    chain = Chain(ours, counted)
    chain.update(ORIGINAL)
    parser = llama_index.node_parser("sentence", **SPLIT)
    assert isinstance(chain.store, langchain.KinsplitVectorStore)
    assert chain.store.client is not None
    other = llama_index.KinsplitVectorStore(chain.store.client)
    nodes = parser([LlamaDocument(id_="d", text=ORIGINAL, metadata={"by": "me"})])
    for node in nodes:
        node.embedding = HASH.embed([node.get_content()])[0].tolist()
    other.add(nodes)
    counted.texts.clear()
    chain.update(EDITS["a longer first sentence"][0])
    assert len(counted.texts) == 25


class Pipeline:
    """LlamaIndex's `IngestionPipeline` with a docstore."""

    def __init__(self, embed_model: BaseEmbedding, strategy: DocstoreStrategy) -> None:
        self.store = llama_index.KinsplitVectorStore("memory:")
        self.pipeline = IngestionPipeline(
            transformations=[llama_index.node_parser("sentence", **SPLIT), embed_model],
            docstore=SimpleDocumentStore(),
            docstore_strategy=strategy,
            vector_store=self.store,
            disable_cache=True,
        )

    def update(self, text: str, *, asynchronous: bool = False) -> None:
        documents = [LlamaDocument(id_="d", text=text), LlamaDocument(id_="other", text="Another document here.")]
        if asynchronous:
            asyncio.run(self.pipeline.arun(documents=documents))
        else:
            self.pipeline.run(documents=documents)

    def check(self, text: str) -> None:
        nodes = [node for node in self.store.get_nodes() if node.ref_doc_id == "d"]
        check(nodes, lambda id_: self.store.get_nodes([id_])[0], lambda node: node.get_content(), text)
        for node in nodes:
            for linked, key in ((node.prev_node, "prev_id"), (node.next_node, "next_id")):
                assert (linked.node_id if linked else "") == node.metadata[key]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("strategy", [DocstoreStrategy.UPSERTS, DocstoreStrategy.UPSERTS_AND_DELETE])
def test_a_pipeline_embeds_only_new_texts(edit: str, strategy: DocstoreStrategy, tmp_path: Path) -> None:
    text, embedded, _ = EDITS[edit]
    counted = CountedEmbedding(texts=[])
    pipeline = Pipeline(llama_index.CachedEmbedding(counted, model_name="hash", folder=tmp_path), strategy)
    pipeline.update(ORIGINAL)
    assert len(counted.texts) == 26
    counted.texts.clear()
    pipeline.update(text, asynchronous=edit == "a sentence")
    assert len(counted.texts) == embedded
    pipeline.check(text)


def test_cached_embeddings_give_the_vectors_of_the_model(tmp_path: Path) -> None:
    counted = Counted()
    cached = langchain.CachedEmbeddings(counted, model="hash", folder=tmp_path)
    texts = ["one", "two", "one", ""]
    first = cached.embed_documents(texts)
    assert first == cached.embed_documents(texts) == asyncio.run(cached.aembed_documents(texts))
    assert np.array_equal(np.asarray(first, dtype=np.float32), HASH.embed(texts))
    assert counted.texts == ["one", "two", ""]
    assert cached.embed_query("two") == asyncio.run(cached.aembed_query("two")) == counted.embed_query("two")
    assert cached.embed_documents([]) == []
    other = langchain.CachedEmbeddings(counted, model="hash of 2 numbers", folder=tmp_path)
    other.embed_documents(["one"])
    assert counted.texts[3:] == ["one"], "another model has vectors of its own"


def test_a_cached_model_can_be_sent_to_another_process(tmp_path: Path) -> None:
    cached = llama_index.CachedEmbedding(CountedEmbedding(), model_name="hash", folder=tmp_path)
    cached.get_text_embedding("one")
    sent = pickle.loads(pickle.dumps(cached))
    assert sent.get_text_embedding("one") == cached.get_text_embedding("one")
    assert sent.embed_model.texts == ["one"]
    again = pickle.loads(pickle.dumps(langchain.CachedEmbeddings(Counted(), model="hash", folder=tmp_path)))
    again.embed_documents(["one"])
    assert again.embeddings.texts == []


def test_cached_embeddings_reject_what_would_mix_vectors(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="model: must name the model whose vectors are cached"):
        langchain.CachedEmbeddings(Counted(), model=" ")
    with pytest.raises(InvalidParameterError, match="model: must name"):
        llama_index.CachedEmbedding(CountedEmbedding(), model_name="")

    class Short(Counted):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return super().embed_documents(texts)[1:]

    with pytest.raises(EmbeddingError, match="other than one vector per text"):
        VectorFolder("uneven", tmp_path).vectors(["a", "b"], lambda _: [[1.0], [1.0, 2.0]])
    with pytest.raises(EmbeddingError, match=r"returned an array of shape \(1, \d+\) for 2 texts"):
        langchain.CachedEmbeddings(Short(), model="short", folder=tmp_path).embed_documents(["a", "b"])

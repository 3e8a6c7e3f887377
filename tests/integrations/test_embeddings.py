"""Embedding models of kinsplit as models of both frameworks, and what is no model at all."""

from __future__ import annotations

import pickle
from collections import UserDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.unit_tests import EmbeddingsUnitTests
from llama_index.core import Document as LlamaDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, LlamaDebugHandler
from llama_index.core.callbacks.schema import CBEventType
from llama_index.core.ingestion import IngestionPipeline

from kinsplit import Index, embedding
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.langchain import KinsplitEmbeddings, text_splitter
from kinsplit.integrations.llama_index import KinsplitEmbedding, node_parser

TEXTS = ["An owl hunts at night.", "A lark sings in the morning.", ""]
MODELS = ["bundled", "hash", embedding.create("hash:32")]


class TestKinsplitEmbeddings(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[KinsplitEmbeddings]:
        return KinsplitEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": "hash"}


@pytest.mark.parametrize("model", MODELS, ids=["bundled", "hash", "object"])
async def test_both_frameworks_get_the_models_vectors(model: Any) -> None:
    own = embedding.resolve(model)
    texts, query = own.embed(TEXTS), own.embed_query("owl")
    chain, llama = KinsplitEmbeddings(model), KinsplitEmbedding(model, embed_batch_size=2)
    for vectors in (
        chain.embed_documents(TEXTS),
        await chain.aembed_documents(TEXTS),
        llama.get_text_embedding_batch(TEXTS),
        await llama.aget_text_embedding_batch(TEXTS),
        [llama.get_text_embedding(text) for text in TEXTS],
        [await llama.aget_text_embedding(text) for text in TEXTS],
    ):
        np.testing.assert_allclose(vectors, texts, atol=1e-5)
        assert type(vectors[0][0]) is float
    for vector in (
        chain.embed_query("owl"),
        await chain.aembed_query("owl"),
        llama.get_query_embedding("owl"),
        await llama.aget_query_embedding("owl"),
    ):
        np.testing.assert_allclose(vector, query, atol=1e-5)


def test_any_store_of_the_frameworks_takes_the_model() -> None:
    store = InMemoryVectorStore(KinsplitEmbeddings())
    store.add_texts(TEXTS[:2])
    assert store.similarity_search("When does the lark sing?", k=1)[0].page_content == TEXTS[1]
    own = langchain.KinsplitVectorStore(KinsplitEmbeddings(), "memory:")
    own.add_documents([Document(page_content=text) for text in TEXTS[:2]])
    assert own.similarity_search("When does the lark sing?", k=1)[0].page_content == TEXTS[1]
    documents = [LlamaDocument(text=text) for text in TEXTS[:2]]
    found = VectorStoreIndex.from_documents(documents, embed_model=KinsplitEmbedding()).as_retriever(similarity_top_k=1)
    assert found.retrieve("When does the lark sing?")[0].text == TEXTS[1]


def test_the_model_survives_serialisation() -> None:
    model = KinsplitEmbedding(embedding.create("hash:32"), embed_batch_size=7)
    for again in (KinsplitEmbedding.from_dict(model.to_dict()), pickle.loads(pickle.dumps(model))):
        assert again.embed_batch_size == 7
        assert again.model_name == "hash:32"
        assert again.get_text_embedding("owl") == model.get_text_embedding("owl")
    chain = KinsplitEmbeddings("hash:32")
    assert pickle.loads(pickle.dumps(chain)).embed_query("owl") == chain.embed_query("owl")


def test_the_model_sends_events_and_serves_pipelines_and_strategies() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    model = KinsplitEmbedding("hash", embed_batch_size=2, callback_manager=CallbackManager([debug]))
    nodes = IngestionPipeline(transformations=[node_parser("sentence"), model]).run(
        documents=[LlamaDocument(text=text) for text in ("One.", "Two.", "Three.")]
    )
    assert all(len(node.embedding or ()) == 64 for node in nodes)
    assert len(debug.get_event_pairs(CBEventType.EMBEDDING)) == 2
    text = "Owls hunt mice at night in the woods. " * 9 + "Sorting algorithms compare the keys of a list. " * 9
    expected = text_splitter("semantic", embedder="hash").split_text(text)
    for model_ in (KinsplitEmbeddings("hash"), KinsplitEmbedding("hash")):
        assert text_splitter("semantic", embedder=model_).split_text(text) == expected


@pytest.mark.parametrize("value", ["bundled", 42, None, len, embedding.create("hash"), KinsplitEmbeddings])
def test_what_is_no_embedding_model_is_refused_at_once(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match="embedding: must be an embedding model of LangChain"):
        langchain.KinsplitVectorStore(value, "memory:")
    with pytest.raises(InvalidParameterError, match=r"embedding: .*KinsplitEmbeddings"):
        langchain.KinsplitVectorStore.from_texts(["a"], value, store="memory:")
    with pytest.raises(InvalidParameterError, match="embeddings: "):
        langchain.CachedEmbeddings(value, model="m")
    with pytest.raises(InvalidParameterError, match=r"embed_model: .*KinsplitEmbedding"):
        llama_index.CachedEmbedding(value, model_name="m")


@pytest.mark.parametrize("model", ["bundled", "hash"])
def test_what_is_no_list_of_texts_is_refused(model: str) -> None:
    for texts in ("abc", ["a", None]):
        with pytest.raises(InvalidParameterError, match=r"^texts: must be a sequence of strings"):
            KinsplitEmbeddings(model).embed_documents(texts)


def test_texts_from_a_generator_are_all_cached(tmp_path: Path) -> None:
    cached = langchain.CachedEmbeddings(KinsplitEmbeddings("hash"), model="hash", folder=tmp_path)
    assert cached.embed_documents(text for text in "aba") == KinsplitEmbeddings("hash").embed_documents([*"aba"])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [KinsplitEmbeddings, KinsplitEmbedding])
@pytest.mark.parametrize("value", ["nonsense", 42, None, len, KinsplitEmbeddings])
def test_what_is_no_embedder_is_refused_at_once(kind: Any, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match="embedder"):
        kind(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: KinsplitEmbedding("hash", **options),
        lambda **options: llama_index.CachedEmbedding(KinsplitEmbedding("hash"), model_name="m", **options),
        lambda **options: llama_index.KinsplitVectorStore("memory:", **options),
        lambda **options: llama_index.Rerank("none", **options),
    ],
)
def test_an_unknown_field_is_refused_and_the_known_ones_are_named(make: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^misspelt: is not known here \(got 1\)\. Known here: .*, \w+\.$"):
        make(misspelt=1)


@pytest.mark.parametrize("value", [42, None, Index, "nonsense", "nonsense:x", ""])
def test_what_is_no_store_is_refused_at_once(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^store: "):
        langchain.KinsplitVectorStore(KinsplitEmbeddings("hash"), value)
    with pytest.raises(InvalidParameterError, match=r"^store: "):
        llama_index.KinsplitVectorStore(value)


@pytest.mark.parametrize("framework", [langchain, llama_index])
def test_what_is_no_index_is_refused_at_once(framework: Any) -> None:
    for make in (framework.KinsplitRetriever, framework.search_tool):
        with pytest.raises(InvalidParameterError, match=r"^index: must be an "):
            make("memory:")


class NoReranker:
    rerank = None


@pytest.mark.parametrize("framework", [langchain, llama_index])
@pytest.mark.parametrize("value", [42, None, lambda query, texts: [1.0], NoReranker(), "nonsense"])
def test_what_is_no_reranker_is_refused_at_once(framework: Any, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"^rerank"):
        framework.Rerank(value, top_n=1)


def _batch(text: str) -> UserDict[str, Any]:
    """Answer like a tokenizer of transformers that has no fast form: a mapping of two keys."""
    return UserDict(input_ids=text.split(), attention_mask=[1] * len(text.split()))


@pytest.mark.parametrize("value", [42, len, str.upper, _batch])
def test_what_is_no_tokenizer_is_refused_at_once(value: Any) -> None:
    for make in (node_parser, text_splitter):
        with pytest.raises(InvalidParameterError, match="tokenizer"):
            make("sentence", tokenizer=value).split_text("An owl hunts at night.")


@pytest.mark.parametrize("value", [42, None, object()])
def test_what_is_no_language_model_is_refused_at_once(value: Any) -> None:
    for make in (node_parser, text_splitter):
        with pytest.raises(InvalidParameterError, match="model"):
            make("llm", model=value)

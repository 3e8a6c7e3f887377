"""Traps of LlamaIndex that users fall into with any parser."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import (
    Document,
    MockEmbedding,
    Settings,
    StorageContext,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import ImageNode, IndexNode, TextNode

from kinsplit import Index
from kinsplit.errors import KinsplitWarning
from kinsplit.integrations import langchain
from kinsplit.integrations.llama_index import KinsplitVectorStore, node_parser
from tests.integrations.test_langchain_store import HashEmbeddings

TEXT = "An owl hunts at night. A lark sings. " * 20
PARSER = node_parser("sentence", chunk_size=20, chunk_overlap=0)


def _index(store: KinsplitVectorStore, **options: Any) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [Document(id_="a", text=TEXT)],
        embed_model=MockEmbedding(4),
        storage_context=StorageContext.from_defaults(vector_store=store),
        store_nodes_override=True,
        **options,
    )


def test_a_loaded_index_that_splits_with_another_parser_warns(tmp_path: Path) -> None:
    store = KinsplitVectorStore(f"edge:{tmp_path}/store")
    index = _index(store, transformations=[PARSER])
    index.storage_context.persist(str(tmp_path / "index"))
    store.close()
    store = KinsplitVectorStore(f"edge:{tmp_path}/store")
    context = StorageContext.from_defaults(persist_dir=str(tmp_path / "index"), vector_store=store)
    changed = [Document(id_="a", text=f"{TEXT} A cat sleeps.")]
    # With its parser again, nothing warns.
    load_index_from_storage(context, embed_model=MockEmbedding(4), transformations=[PARSER]).refresh_ref_docs(changed)
    assert {node.metadata["strategy"] for node in store.get_nodes()} == {"sentence"}
    forgetful = load_index_from_storage(context, embed_model=MockEmbedding(4))
    with pytest.warns(KinsplitWarning, match=r"of 'a' was not split by kinsplit.* \"sentence\" made.*transformations"):
        forgetful.refresh_ref_docs([Document(id_="a", text=f"{TEXT} A dog barks.")])
    store.close()


def test_settings_take_the_parser_as_a_transformation_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_embed_model", MockEmbedding(4)), ("_node_parser", None), ("_transformations", None)):
        monkeypatch.setattr(Settings, name, value)

    def chunks() -> int:
        return len(VectorStoreIndex.from_documents([Document(id_="a", text=TEXT)]).docstore.docs)

    assert chunks() == 1
    Settings.node_parser = PARSER
    assert chunks() == 1, "LlamaIndex has kept the transformations of the first index"
    Settings.transformations = [PARSER]
    assert chunks() == 10


def test_nodes_of_others_in_a_collection_of_an_index_warn() -> None:
    with Index("memory:", embedder="hash") as index:
        index.add([])
        store = KinsplitVectorStore(index.store)
        parts = SentenceSplitter()([Document(id_="a", text=TEXT)])
        for part in parts:
            part.embedding = [0.5] * 64
        with pytest.warns(KinsplitWarning, match="was not split by kinsplit"):
            store.add(parts)


def test_a_collection_that_began_otherwise_does_not_warn() -> None:
    store = KinsplitVectorStore("memory:")
    _index(store, transformations=[SentenceSplitter()])
    _index(store, transformations=[PARSER])
    _index(store, transformations=[SentenceSplitter()])


def test_whole_documents_and_chunks_that_are_split_again_do_not_warn() -> None:
    store = KinsplitVectorStore("memory:")
    _index(store, transformations=[PARSER])
    _index(store, transformations=[PARSER, SentenceSplitter()])
    store.add([TextNode(id_="summary", text="Birds.", embedding=[1.0, 0, 0, 0])])
    chain = langchain.KinsplitVectorStore(HashEmbeddings(), "memory:")
    chain.add_documents(langchain.text_splitter("sentence").create_documents([TEXT]))
    chain.add_texts(["Birds."])


@pytest.mark.parametrize("mode", ["default", "sparse", "hybrid", "mmr"])
@pytest.mark.parametrize("override", [False, True])
def test_index_and_image_nodes_hide_no_text_nodes(mode: str, override: bool) -> None:
    nodes = PARSER([Document(id_="a", text=TEXT)])
    others = [
        IndexNode(id_="3c2f2709-cd88-5628-9c8b-e78f71d872c1", text="Summary of owl and lark", index_id="birds"),
        ImageNode(id_="picture", text="An owl", image_url="https://example.org/owl.png"),
    ]
    store = KinsplitVectorStore("memory:")
    index = VectorStoreIndex(
        [*nodes, *others],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=MockEmbedding(4),
        store_nodes_override=override,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LlamaIndex's own about a missing query engine.
        found = index.as_retriever(similarity_top_k=30, vector_store_query_mode=mode).retrieve("owl lark summary")
    assert {hit.node_id for hit in found} == {node.node_id for node in (*nodes, *others)}

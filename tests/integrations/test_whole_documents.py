"""Searches in a collection of a course search that embedded every file whole, with its own payload."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kinsplit_testing import SCHEMA
from langchain_core.documents import Document as LangChainDocument
from langchain_qdrant import QdrantVectorStore as LangChainQdrant
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient, models

from kinsplit import Document, Index
from kinsplit.details import details
from kinsplit.integrations import langchain, llama_index
from kinsplit.stores import open_store

from .test_langchain_store import HashEmbeddings
from .test_llama_index_store import HashEmbedding

TEXTS = {
    "lecture_10.pdf": "A class is a kind of object, with data and methods of its own.",
    "lecture_10_code.py": "class Coordinate(object):\n    pass",
    "lecture_2.pdf": "A loop repeats what stands inside it.",
}
SIBLINGS = {"lecture_10.pdf": ["lecture_10_code.py"], "lecture_10_code.py": ["lecture_10.pdf"], "lecture_2.pdf": []}
FOLDER = "data/cs/6_0001"


def payload(name: str, **more: object) -> dict[str, Any]:
    """Return a payload in the format of the course search before it made chunks."""
    return {
        "file_path": f"{FOLDER}/{name}",
        "file_type": "reference",
        "group_id": name.split(".")[0].removesuffix("_code"),
        "course": "6.0001",
        "sibling_files": SIBLINGS.get(name, []),
        "content_preview": TEXTS[name][:300],
        "content_length": len(TEXTS[name]),
        **more,
    }


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    client = QdrantClient(":memory:")
    client.create_collection("cs", vectors_config=models.VectorParams(size=64, distance=models.Distance.COSINE))
    vectors = HashEmbedding().get_text_embedding_batch(list(TEXTS.values()))
    points = [
        models.PointStruct(id=str(uuid.UUID(int=number)), vector=vector, payload=payload(name))
        for number, (name, vector) in enumerate(zip(TEXTS, vectors, strict=True))
    ]
    # A chunk that the same course search added later.
    chunk = payload("lecture_10_code.py", is_chunked=True, chunk_index=0, total_chunks=9, full_content="class Coord")
    points.append(models.PointStruct(id=99, vector=vectors[2], payload=chunk))
    client.upsert("cs", points)
    yield client
    client.close()


def test_llama_index_finds_a_whole_document_and_the_files_beside_it(client: QdrantClient) -> None:
    store = LlamaIndexQdrant("cs", client=client, text_key="content_preview")
    base = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding()).as_retriever(similarity_top_k=1)
    expansion = llama_index.SiblingExpansion(client, "cs")

    found = base.retrieve(TEXTS["lecture_10.pdf"])
    hit, beside = expansion.postprocess_nodes(found)

    assert hit.node.get_content() == TEXTS["lecture_10.pdf"]
    assert (beside.node.get_content(), beside.score) == (TEXTS["lecture_10_code.py"], hit.score)
    assert beside.node.metadata["file_path"] == f"{FOLDER}/lecture_10_code.py"
    assert details(beside)["related_to"] == hit.node.node_id


def documents(*names: str) -> list[LangChainDocument]:
    return [LangChainDocument(id=name, page_content=TEXTS[name], metadata=payload(name)) for name in names]


def test_langchain_adds_each_file_once_and_none_that_was_found(client: QdrantClient) -> None:
    expansion = langchain.SiblingExpansion(client, "cs")

    both = expansion.compress_documents(documents("lecture_10_code.py", "lecture_2.pdf", "lecture_10.pdf"), "class")
    one = expansion.compress_documents(documents("lecture_2.pdf", "lecture_10.pdf"), "class")

    assert [document.id for document in both] == ["lecture_10_code.py", "lecture_2.pdf", "lecture_10.pdf"]
    assert [document.page_content for document in one] == [
        TEXTS["lecture_2.pdf"],
        TEXTS["lecture_10.pdf"],
        TEXTS["lecture_10_code.py"],
    ]


def test_a_window_of_none_and_chunks_add_nothing(client: QdrantClient) -> None:
    chunk = LangChainDocument(page_content="class", metadata=payload("lecture_10.pdf", is_chunked=True))
    nobody = LangChainDocument(page_content="x", metadata={"file_path": "a/b.pdf", "sibling_files": ["gone.py", 3]})

    assert langchain.SiblingExpansion(client, "cs").compress_documents([chunk, nobody], "x") == [chunk, nobody]
    none = langchain.SiblingExpansion(client, "cs", window=0)
    assert len(none.compress_documents(documents("lecture_10.pdf"), "x")) == 1


def test_paths_in_the_payload_are_taken_as_they_are(client: QdrantClient) -> None:
    (document,) = documents("lecture_2.pdf")
    document.metadata["sibling_files"] = [f"{FOLDER}/lecture_10.pdf"]

    expanded = langchain.SiblingExpansion(client, "cs").compress_documents([document], "x")

    assert [one.page_content for one in expanded] == [TEXTS["lecture_2.pdf"], TEXTS["lecture_10.pdf"]]


@pytest.mark.parametrize("splitting", ["whole", "split, by path", "split, without an id"])
def test_files_beside_a_document_come_from_a_collection_that_langchain_qdrant_wrote(splitting: str) -> None:
    """The document was embedded whole or split into a single chunk, whose source need not be its path."""
    texts = documents(*TEXTS)
    for document, name in zip(texts, TEXTS, strict=True):
        document.id = None if "without" in splitting or splitting == "whole" else f"{FOLDER}/{name}"
    splitter = langchain.text_splitter("sentence")
    with contextlib.closing(QdrantClient(":memory:")) as client:
        client.create_collection("c", vectors_config=models.VectorParams(size=64, distance=models.Distance.COSINE))
        store = LangChainQdrant(client, "c", HashEmbeddings())
        store.add_documents(texts if splitting == "whole" else splitter.split_documents(texts))
        hits = store.similarity_search(TEXTS["lecture_10.pdf"], k=1)
        expanded = langchain.SiblingExpansion(client, "c").compress_documents(hits, "class")
        alone = langchain.SiblingExpansion(client, "c", window=0).compress_documents(hits, "class")
    assert [one.page_content for one in expanded] == [TEXTS["lecture_10.pdf"], TEXTS["lecture_10_code.py"]]
    assert [one.page_content for one in alone] == [TEXTS["lecture_10.pdf"]]


def test_files_beside_a_document_come_from_a_store_of_kinsplits_by_their_names() -> None:
    opened = open_store("memory:", "c", SCHEMA)
    store = langchain.KinsplitVectorStore(HashEmbeddings(), opened)
    store.add_documents(langchain.text_splitter("sentence").split_documents(documents(*TEXTS)))
    hits = store.similarity_search(TEXTS["lecture_10.pdf"], k=1)
    expanded = langchain.SiblingExpansion(opened).compress_documents(hits, "class")
    assert [one.page_content for one in expanded] == [TEXTS["lecture_10.pdf"], TEXTS["lecture_10_code.py"]]


def test_documents_of_one_chunk_in_a_store_of_kinsplits_are_expanded_alike() -> None:
    with Index("memory:", embedder="hash") as index:
        index.add(Document("code.py", "print(1)", {"sibling_files": ["notes.md"]}))
        index.add(Document("notes.md", "It prints one.", {"sibling_files": ["code.py"]}))
        (first, *_) = langchain.KinsplitRetriever(index, top_k=1, window=0).invoke("print")
        chunks = index.store.find({"source_id": "code.py"})
        node = TextNode(id_=chunks[0].id, text=chunks[0].text, metadata=dict(first.metadata))
        node.metadata["kinsplit"] = '{"sibling_files": ["notes.md"]}'
        node.metadata["chunk_index"] = chunks[0].index
        expansion = llama_index.SiblingExpansion(index.store)
        expanded = expansion.postprocess_nodes([NodeWithScore(node=node, score=1.0)])

    assert sorted(one.node.get_content() for one in expanded) == ["It prints one.", "print(1)"]

"""Kin are found by place under any ids, and a text that doesn't match its hash has no place."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_qdrant import QdrantVectorStore as LangChainQdrant
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient, models

from kinsplit import Index
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.stores.maintenance import verify
from tests.integrations.finding import FRAMEWORKS, HASH, LECTURE, STRATEGY, Hit, expansion, found, process, split
from tests.integrations.test_expanding import CountingStore
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding, embedded

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")

MIDDLE = 5


def renamed(framework: str, chunk: Any) -> Any:
    """Return a chunk under an id that kinsplit didn't compute."""
    other = str(uuid.uuid5(uuid.NAMESPACE_OID, chunk.node_id if framework == "llama_index" else chunk.id))
    if framework == "llama_index":
        return chunk.model_copy(update={"id_": other})
    return LangChainDocument(id=other, page_content=chunk.page_content, metadata=chunk.metadata)


def lost(framework: str, chunk: Any) -> Any:
    """Return a chunk without its id, after a round trip through JSON."""
    if framework == "llama_index":
        return TextNode(text=chunk.text, metadata=json.loads(json.dumps(chunk.metadata)))
    return LangChainDocument(page_content=chunk.page_content, metadata=json.loads(json.dumps(chunk.metadata)))


def kept(framework: str, engine: str, chunks: list[Any]) -> Any:
    """Return the client of a collection in which a framework's adapter or its own store keeps chunks."""
    return vector_store(framework, engine, "default", "memory:", chunks).client


def vector_store(framework: str, engine: str, collection: str, address: str, chunks: list[Any]) -> Any:
    """Return a framework's vector store with chunks."""
    store: Any
    if framework == "llama_index":
        if engine == "kinsplit":
            store = llama_index.KinsplitVectorStore(address, collection=collection)
        else:
            store = LlamaIndexQdrant(collection, client=QdrantClient(":memory:"))
        store.add(embedded(chunks))
        return store
    if engine == "kinsplit":
        store = langchain.KinsplitVectorStore(HashEmbeddings(), address, collection=collection)
    else:
        client = QdrantClient(":memory:")
        client.create_collection(collection, models.VectorParams(size=64, distance=models.Distance.COSINE))
        store = LangChainQdrant(client, collection, HashEmbeddings())
    store.add_documents(chunks)
    return store


def slim(framework: str, chunk: Any) -> Any:
    """Return a chunk without an id, and with the metadata for a prompt."""
    other = lost(framework, chunk)
    other.metadata = slimmed(other.metadata)
    return other


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("hit", ["renamed", "own", "lost", "slim"])
@pytest.mark.parametrize("engine", ["kinsplit", "qdrant"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_nearest_siblings_are_found_whatever_ids_the_store_gave(
    framework: str, engine: str, hit: str, window: int
) -> None:
    chunks = split(framework)
    store = kept(framework, engine, [renamed(framework, chunk) for chunk in chunks])
    given = {"renamed": renamed, "own": lambda _, chunk: chunk, "lost": lost, "slim": slim}[hit](
        framework, chunks[MIDDLE]
    )

    (passage,) = process(expansion(framework, store, window=window), [found(framework, given, 0.5)])

    start = chunks[MIDDLE - window].metadata["char_start"]
    end = chunks[MIDDLE + window].metadata["char_end"]
    assert (passage.metadata["char_start"], passage.metadata["char_end"]) == (start, end)
    assert "spans" not in passage.metadata
    assert passage.text == LECTURE[start:end]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_own_ids_that_lead_nowhere_are_looked_for_by_place(framework: str) -> None:
    chunks = split(framework)
    store = CountingStore(kept(framework, "kinsplit", [renamed(framework, chunk) for chunk in chunks]))

    (passage,) = process(
        expansion(framework, store, strategy=STRATEGY, window=2), [found(framework, chunks[MIDDLE], 0.5)]
    )

    assert store.reads == ["get", "find"]
    assert passage.text == LECTURE[chunks[3].metadata["char_start"] : chunks[7].metadata["char_end"]]


@pytest.mark.parametrize("engine", ["kinsplit", "qdrant"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_passage_ends_before_a_sibling_that_is_missing_and_says_so(framework: str, engine: str) -> None:
    chunks = split(framework)
    store = kept(framework, engine, [chunk for number, chunk in enumerate(chunks) if number != MIDDLE + 1])

    with pytest.warns(UserWarning, match=r"2 siblings .* chunk 6 of 'lecture', are missing from the collection"):
        (passage,) = process(expansion(framework, store, window=2), [found(framework, chunks[MIDDLE], 0.5)])

    assert passage.text == LECTURE[chunks[3].metadata["char_start"] : chunks[5].metadata["char_end"]]
    assert "spans" not in passage.metadata


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_versions_of_a_document_are_not_joined(framework: str) -> None:
    chunks = split(framework)
    older = split(framework, LECTURE.replace("It says what classes", "It said what classes"))
    hit = next(n for n, (old, new) in enumerate(zip(older, chunks, strict=True)) if Hit(old).text != Hit(new).text)
    store = kept(framework, "kinsplit", [*chunks[: hit + 1], *older[hit + 1 :]])
    assert Hit(older[hit + 1]).text.startswith("It said"), "the sentence that both have"

    with pytest.warns(UserWarning, match="of another version"):
        (passage,) = process(expansion(framework, store), [found(framework, chunks[hit], 0.5)])

    assert passage.text == LECTURE[chunks[hit - 1].metadata["char_start"] : chunks[hit].metadata["char_end"]]


def places(found: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(Hit(one).metadata.get(key) for key in ("source_id", "char_start", "char_end")) for one in found]


@pytest.mark.parametrize("by", ["retriever", "expansion"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_splitting_a_passage_again_keeps_the_documents_offsets(framework: str, by: str, index: Index) -> None:
    if by == "retriever":
        retriever: Any = (llama_index if framework == "llama_index" else langchain).KinsplitRetriever
        made = retriever(index, top_k=3, where={"subject": "cs"})
        passages = made.retrieve("classes") if framework == "llama_index" else made.invoke("classes")
    else:
        stage: Any = expansion(framework, index.store)
        hit = found(framework, split(framework)[MIDDLE], 0.5)
        passages = stage.postprocess_nodes([hit]) if framework == "llama_index" else stage.compress_documents([hit], "")
    if framework == "llama_index":
        again = llama_index.node_parser("word", chunk_size=4)([passage.node for passage in passages])
    else:
        again = langchain.text_splitter("word", chunk_size=4).split_documents(passages)

    assert len(again) > len(passages)
    for chunk in map(Hit, again):
        assert chunk.metadata["source_id"] == "lecture"
        assert chunk.text == LECTURE[chunk.metadata["char_start"] : chunk.metadata["char_end"]]
        assert "kinsplit" not in chunk.metadata


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_a_stock_splitter_cuts_out_of_a_chunk_has_no_place(framework: str) -> None:
    chunks = split(framework)
    words: Any
    if framework == "llama_index":
        cut = SentenceSplitter(chunk_size=12, chunk_overlap=0)(chunks)
        words = llama_index.node_parser("word", chunk_size=4)
    else:
        cut = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=0).split_documents(chunks)
        words = langchain.text_splitter("word", chunk_size=4).split_documents
    stale = [one for one in cut if Hit(one).text not in {Hit(chunk).text for chunk in chunks}]
    assert len(stale) > 9

    assert {(source, start) for source, start, _ in places(words(stale))} == {("lecture", None)}
    store = kept(framework, "kinsplit", [*chunks, *stale])
    given = [found(framework, stale[0], 0.9), found(framework, chunks[MIDDLE], 0.5)]
    own, passage = process(expansion(framework, store), given)
    assert own.text == Hit(stale[0]).text
    assert passage.text == LECTURE[chunks[4].metadata["char_start"] : chunks[6].metadata["char_end"]]
    problems = verify(store)
    assert len(problems) == len(stale)
    assert all("are those of a text that it was cut out of" in str(problem) for problem in problems)


@pytest.mark.parametrize("engine", ["kinsplit", "qdrant"])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_expansion_takes_any_vector_store(framework: str, engine: str) -> None:
    chunks = split(framework)
    store = vector_store(framework, engine, "lessons", "memory:", chunks)

    (passage,) = process(expansion(framework, store), [found(framework, chunks[MIDDLE], 0.5)])

    assert passage.text == LECTURE[chunks[4].metadata["char_start"] : chunks[6].metadata["char_end"]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_expansion_takes_an_index_and_nothing_that_is_no_store(framework: str, index: Index) -> None:
    chunks = split(framework)
    (passage,) = process(expansion(framework, index), [found(framework, chunks[MIDDLE], 0.5)])
    assert passage.text == LECTURE[chunks[4].metadata["char_start"] : chunks[6].metadata["char_end"]]
    for other in (SimpleVectorStore(), None):
        with pytest.raises(InvalidParameterError, match="store: must be a store that can be asked for chunks"):
            expansion(framework, other)


def test_expansion_takes_llama_indexs_index_over_any_vector_store() -> None:
    store = llama_index.KinsplitVectorStore("memory:")
    made = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding())
    stage = llama_index.SiblingExpansion(made)
    chunks = split("llama_index")
    made.insert_nodes(chunks)

    (passage,) = process(stage, [found("llama_index", chunks[MIDDLE], 0.5)])

    assert passage.text == LECTURE[chunks[4].metadata["char_start"] : chunks[6].metadata["char_end"]]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_vector_store_of_a_folder_has_a_client_and_siblings_before_its_first_use(
    framework: str, tmp_path: Path
) -> None:
    chunks = split(framework)
    vector_store(framework, "kinsplit", "c", f"edge:{tmp_path}", chunks).close()
    store: Any
    if framework == "llama_index":
        store = llama_index.KinsplitVectorStore(f"edge:{tmp_path}", collection="c")
    else:
        store = langchain.KinsplitVectorStore(HashEmbeddings(), f"edge:{tmp_path}", collection="c")

    (passage,) = process(expansion(framework, store), [found(framework, chunks[MIDDLE], 0.5)])

    assert passage.text == LECTURE[chunks[4].metadata["char_start"] : chunks[6].metadata["char_end"]]
    assert store.client.count() == len(chunks)
    store.close()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_parent_that_is_missing_is_said_to_be(framework: str) -> None:
    if framework == "llama_index":
        chunks: list[Any] = llama_index.node_parser("hierarchical", parent_size=150, child_size=60)(
            [LlamaIndexDocument(id_="lecture", text=LECTURE)]
        )
    else:
        splitter = langchain.text_splitter("hierarchical", parent_size=150, child_size=60)
        chunks = splitter.split_documents([LangChainDocument(id="lecture", page_content=LECTURE)])
    leaf, parent = (next(chunk for chunk in chunks if chunk.metadata["level"] == level) for level in (0, 1))
    store = kept(framework, "kinsplit", [renamed(framework, chunk) for chunk in chunks])
    (passage,) = process(expansion(framework, store, parents=True), [found(framework, leaf, 0.5)])
    assert passage.text == Hit(parent).text  # Under an id that kinsplit didn't compute.

    leaves = [renamed(framework, chunk) for chunk in chunks if chunk.metadata["level"] == 0]
    store = kept(framework, "kinsplit", leaves)
    with pytest.warns(UserWarning, match="1 parents .* chunk 0 of 'lecture', are missing from the collection"):
        (passage,) = process(expansion(framework, store, parents=True), [found(framework, leaf, 0.5)])

    assert passage.text == Hit(leaf).text


def test_an_index_finds_the_siblings_of_what_a_framework_keeps_under_other_ids() -> None:
    chunks = split("langchain")
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as index:
        store = langchain.KinsplitVectorStore(HashEmbeddings(), index.store)
        store.add_documents([renamed("langchain", chunk) for chunk in chunks])
        for window in (1, 2):
            (passage,) = index.search(chunks[MIDDLE].page_content, top_k=1, window=window)
            assert passage.text == LECTURE[passage.start : passage.end]
            around = range(passage.best.chunk.index - window, passage.best.chunk.index + window + 1)
            assert {chunk.index for chunk in passage.chunks} >= set(around)

"""One Qdrant collection, read and written by kinsplit and by both frameworks' own Qdrant stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge
from langchain_core.documents import Document as LangChainDocument
from langchain_qdrant import QdrantVectorStore as LangChainQdrant
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaIndexQdrant
from qdrant_client import QdrantClient, models

from kinsplit import Document, Index
from kinsplit.errors import CollectionNotFoundError, InvalidParameterError
from kinsplit.integrations import langchain, llama_index
from kinsplit.stores.payload import to_payload
from tests.integrations.finding import FRAMEWORKS, HASH, LECTURE, STRATEGY, Hit, expansion, found, process, split
from tests.integrations.test_langchain_store import FRUIT, HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding, embedded, foreign, without_vectors

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[QdrantClient]:
    """A client for a folder in which kinsplit has indexed the lecture."""
    with Index(f"qdrant:{tmp_path}", collection="c", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE, {"subject": "cs"}, pages=(0, 300)))
        index.add(Document("cells", "Cells divide.", {"subject": "bio"}))
    client = QdrantClient(path=str(tmp_path))
    yield client
    client.close()


def llama_index_store(client: QdrantClient) -> LlamaIndexQdrant:
    return LlamaIndexQdrant("c", client=client, dense_vector_name="dense", text_key="full_content")


def langchain_store(client: QdrantClient) -> LangChainQdrant:
    return LangChainQdrant(client, "c", HashEmbeddings(), vector_name="dense", content_payload_key="full_content")


def test_llama_indexs_own_store_reads_what_kinsplit_wrote(client: QdrantClient) -> None:
    store = llama_index_store(client)
    made = split("llama_index")
    retriever = VectorStoreIndex.from_vector_store(store, embed_model=HashEmbedding()).as_retriever(
        similarity_top_k=99,
        filters=MetadataFilters(filters=[MetadataFilter(key="source_id", value="lecture")]),
    )
    hits = {hit.node.metadata["chunk_index"]: hit.node for hit in retriever.retrieve(made[3].text)}

    assert len(hits) == len(made), "leaves alone"
    for node in made:
        read: Any = hits[node.metadata["chunk_index"]]
        assert (read.node_id, read.text, read.ref_doc_id) == (node.node_id, node.text, "lecture")
        assert (read.start_char_idx, read.end_char_idx) == (node.start_char_idx, node.end_char_idx)
        for kin in ("prev_node", "next_node"):
            assert getattr(getattr(read, kin), "node_id", None) == getattr(getattr(node, kin), "node_id", None)
        assert read.parent_node.node_id == read.metadata["parent_id"]
        shown = {key for key in read.metadata if key not in read.excluded_llm_metadata_keys}
        assert shown == {"subject", "page_start", "page_end"}
        assert read.get_content(MetadataMode.LLM).endswith(f"\n\n{node.text}")
        assert read.get_content(MetadataMode.LLM).count(node.text) == 1


def test_langchains_own_store_reads_what_kinsplit_wrote(client: QdrantClient) -> None:
    store = langchain_store(client)
    made = split("langchain")
    only = models.Filter(
        must=[models.FieldCondition(key="metadata.source_id", match=models.MatchValue(value="lecture"))]
    )
    read = {d.metadata["chunk_index"]: d for d in store.similarity_search(made[3].page_content, k=99, filter=only)}

    assert len(read) == len(made), "leaves alone"
    for document in made:
        same = read[document.metadata["chunk_index"]]
        assert same.page_content == document.page_content
        assert same.metadata["_id"] == document.id
        own = {key: value for key, value in same.metadata.items() if key in document.metadata and key != "parent_id"}
        for key in ("start_index", "end_index", "parent_id"):
            document.metadata.pop(key)
        assert own == document.metadata


@pytest.mark.parametrize("engine", ["qdrant", "edge"])
def test_a_plain_filter_of_anybody_finds_leaves_alone(engine: str, tmp_path: Path) -> None:
    """Parents and documents have none of a leaf's keys, at any level of the payload."""
    with Index(f"{engine}:{tmp_path / 'data'}", collection="c", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE, {"file_path": "a/lecture.md", "subject": "cs"}))
        leaves = {chunk.id for chunk in index.find({})}
        above = index.store.count() - len(leaves)
        paths = {key for chunk in index.find({}) for key in to_payload(chunk)}
        if engine == "edge":
            assert index.store.count(1) > 0
            with index.store._engine() as shard:  # type: ignore[attr-defined]
                request = qdrant_edge.ScrollRequest(limit=999, with_payload=True, with_vector=False)
                points = {str(record.id): record.payload for record in shard.scroll(request)[0]}
    if engine == "qdrant":
        client = QdrantClient(path=str(tmp_path / "data"))
        points = {str(record.id): record.payload for record in client.scroll("c", limit=999)[0]}
        for key in ("file_path", "metadata.file_path"):
            only = models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value="a/lecture.md"))])
            assert {str(record.id) for record in client.scroll("c", only, limit=999)[0]} == leaves
        (node,) = llama_index_store(client).get_nodes(
            filters=MetadataFilters(
                filters=[
                    MetadataFilter(key="file_path", value="a/lecture.md"),
                    MetadataFilter(key="chunk_index", value=0),
                ]
            )
        )
        assert node.get_content() == split("llama_index")[0].text
        client.close()
    others = [payload for id_, payload in points.items() if id_ not in leaves]
    assert len(others) == above > 1
    assert all(
        not payload.keys() & {*paths, "page_content", "metadata", "_node_content"} for payload in others if payload
    )


def test_both_read_what_both_adapters_wrote(tmp_path: Path) -> None:
    nodes = embedded(foreign())[:-1]  # LlamaIndex's own store gives a Document back as a TextNode.
    li = llama_index.KinsplitVectorStore(f"qdrant:{tmp_path}", collection="c")
    li.add(nodes)
    li.close()
    lc = langchain.KinsplitVectorStore(HashEmbeddings(), f"qdrant:{tmp_path}", collection="c")
    lc.add_documents(FRUIT)
    lc.close()

    client = QdrantClient(path=str(tmp_path))
    read = {}
    for node in nodes:
        result = llama_index_store(client).query(VectorStoreQuery(node.embedding, similarity_top_k=1))
        read[node.node_id] = result.nodes[0]  # type: ignore[index]
    assert without_vectors(list(read.values())) == without_vectors(nodes)
    for document in FRUIT:
        (same,) = langchain_store(client).similarity_search(document.page_content, k=1)
        assert same.page_content == document.page_content
        assert {k: v for k, v in same.metadata.items() if not k.startswith("_")} == document.metadata
    (fruit,) = (
        llama_index_store(client)
        .query(VectorStoreQuery(HASH.embed_query("red cherry").tolist(), similarity_top_k=1))
        .nodes
        or []
    )
    assert (fruit.node_id, fruit.get_content(), fruit.metadata) == ("2", "red cherry", FRUIT[1].metadata)
    client.close()


def test_kinsplit_reads_none_of_it_and_writes_it_again_with_a_changed_payload(tmp_path: Path) -> None:
    address = f"qdrant:{tmp_path}"
    for subject in ("cs", "it"):
        with Index(address, collection="c", strategy=STRATEGY, embedder=HASH) as index:
            report = index.add(Document("lecture", LECTURE, {"subject": subject}))
            assert report.embedded == (len(index.store.find({})) if subject == "cs" else 0)
            assert index.add(Document("lecture", LECTURE, {"subject": subject})).updated == 0
            assert all(
                chunk.metadata.keys() <= {"subject", "strategy", "gap", "_state"}
                for chunk in index.store.find({}, None)
            )
            with pytest.raises(InvalidParameterError, match="metadata"):
                index.add(Document("other", "Text.", {"metadata": "mine"}))
    client = QdrantClient(path=str(tmp_path))
    assert {d.metadata["subject"] for d in langchain_store(client).similarity_search("x", k=99)} == {"it"}
    nodes = llama_index_store(client).query(VectorStoreQuery(HASH.embed_query("x").tolist(), similarity_top_k=9)).nodes
    assert {node.metadata["subject"] for node in nodes or []} == {"it"}
    client.close()


def test_parents_hold_nothing_twice(tmp_path: Path) -> None:
    with Index(f"qdrant:{tmp_path}", collection="c", strategy=STRATEGY, embedder=HASH) as index:
        index.add(Document("lecture", LECTURE))
    client = QdrantClient(path=str(tmp_path))
    points, _ = client.scroll("c", limit=999)
    for point in points:
        assert ("_node_content" in str(point.payload)) == ("level" in point.payload)  # type: ignore[operator]
    client.close()


# Sibling expansion over collections that kinsplit's stores did not write


class CountingClient:
    """A client that records its reads."""

    def __init__(self, client: QdrantClient) -> None:
        self.client, self.reads = client, []

    def retrieve(self, *arguments: Any, **named: Any) -> Any:
        self.reads.append("retrieve")
        return self.client.retrieve(*arguments, **named)

    def scroll(self, *arguments: Any, **named: Any) -> Any:
        self.reads.append("scroll")
        return self.client.scroll(*arguments, **named)


def written_by(writer: str, chunks: list[Any] | None = None) -> QdrantClient:
    """Return a client for a collection that a framework's own store has written."""
    client = QdrantClient(":memory:")
    if writer == "llama_index":
        LlamaIndexQdrant("c", client=client).add(embedded(chunks or split("llama_index")))
    elif writer == "langchain":
        documents = chunks or split("langchain")
        client.create_collection("c", models.VectorParams(size=64, distance=models.Distance.COSINE))
        LangChainQdrant(client, "c", HashEmbeddings()).add_documents(documents)
    return client


def hits_of(framework: str, writer: str, client: QdrantClient, texts: list[str]) -> list[Any]:
    """Return the results of a framework's own store if it can read the collection, else chunks of kinsplit."""
    if framework != writer:
        chunks = {Hit(found(framework, chunk, None)).text: chunk for chunk in split(framework)}
        return [found(framework, chunks[text], 0.9 - n / 10) for n, text in enumerate(texts)]
    if framework == "langchain":
        store = LangChainQdrant(client, "c", HashEmbeddings())
        return [store.similarity_search(text, k=1)[0] for text in texts]
    base = VectorStoreIndex.from_vector_store(LlamaIndexQdrant("c", client=client), embed_model=HashEmbedding())
    retriever = base.as_retriever(similarity_top_k=1)
    nodes = {chunk.text: chunk for chunk in split("llama_index")}
    return [retriever.retrieve(nodes[text].get_content(MetadataMode.EMBED))[0] for text in texts]


@pytest.mark.parametrize("known", [True, False], ids=["strategy known", "strategy unknown"])
@pytest.mark.parametrize("writer", FRAMEWORKS)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_siblings_come_from_any_collection_in_one_read(framework: str, writer: str, known: bool) -> None:
    chunks = split("llama_index")
    with_client = written_by(writer)
    client = CountingClient(with_client)
    given = hits_of(framework, writer, with_client, [chunks[8].text, chunks[2].text])
    stage = expansion(framework, client, collection="c", window=1, strategy=STRATEGY if known else None)

    first, second = process(stage, given)

    assert client.reads == ["retrieve" if known else "scroll"]
    assert first.text == LECTURE[chunks[7].start_char_idx : chunks[9].end_char_idx]
    assert second.text == LECTURE[chunks[1].start_char_idx : chunks[3].end_char_idx]
    assert first.metadata["subject"] == "cs"
    with_client.close()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_siblings_come_from_a_collection_that_kinsplit_wrote(framework: str, client: QdrantClient) -> None:
    chunks = split(framework)
    for strategy in (STRATEGY, None):
        (hit,) = process(
            expansion(framework, client, collection="c", strategy=strategy), [found(framework, chunks[4], 0.5)]
        )
        spans = [chunk.metadata for chunk in chunks[3:6]]
        assert hit.text == LECTURE[spans[0]["char_start"] : spans[-1]["char_end"]]


@pytest.mark.parametrize("writer", FRAMEWORKS)
def test_chunks_with_ids_of_their_own_and_chunks_of_chunks_find_their_siblings(writer: str) -> None:
    framework = writer
    if framework == "llama_index":
        documents = [LlamaIndexDocument(id_="lecture", text=LECTURE)]
        coarse = llama_index.node_parser("structure", chunk_size=30, min_chunk_size=5)(documents)
        parser: Any = llama_index.node_parser("sentence", chunk_size=10, id_func=_own_id)
        chunks: list[Any] = parser(coarse)
    else:
        whole = [LangChainDocument(id="lecture", page_content=LECTURE)]
        chunks = langchain.text_splitter("structure", chunk_size=30, min_chunk_size=5).split_documents(whole)
        chunks = langchain.text_splitter("sentence", chunk_size=10).split_documents(chunks)
    client = CountingClient(written_by(writer, chunks))
    stage = expansion(framework, client, collection="c", window=2, strategy=STRATEGY)

    (hit,) = process(stage, [found(framework, chunks[6], 0.5)])

    assert client.reads == ["scroll"]
    start, end = chunks[4].metadata["char_start"], chunks[8].metadata["char_end"]
    assert (hit.metadata["char_start"], hit.metadata["char_end"]) == (start, end)
    assert len(hit.text) == end - start
    assert hit.text.split() == LECTURE[start:end].split()
    client.client.close()


@pytest.mark.parametrize("writer", FRAMEWORKS)
@pytest.mark.parametrize("known", [True, False], ids=["strategy known", "strategy unknown"])
def test_parents_come_from_any_collection_in_one_read(writer: str, known: bool) -> None:
    if writer == "llama_index":
        parser: Any = llama_index.node_parser("hierarchical", parent_size=150, child_size=60)
        chunks: list[Any] = parser([LlamaIndexDocument(id_="lecture", text=LECTURE)])
    else:
        parser = langchain.text_splitter("hierarchical", parent_size=150, child_size=60)
        chunks = parser.split_documents([LangChainDocument(id="lecture", page_content=LECTURE)])
    client = CountingClient(written_by(writer, chunks))
    leaves = [chunk for chunk in chunks if chunk.metadata["level"] == 0]
    strategy = parser.strategy if known else None

    hits = process(
        expansion(writer, client, collection="c", parents=True, strategy=strategy),
        [found(writer, leaf, 0.5) for leaf in (leaves[0], leaves[-1], leaves[1])],
    )

    assert client.reads == ["retrieve" if known else "scroll"]
    assert hits[0].metadata["char_start"] == 0
    assert hits[-1].metadata["char_end"] == len(LECTURE)
    assert all(hit.text == LECTURE[hit.metadata["char_start"] : hit.metadata["char_end"]] for hit in hits)
    assert max(len(hit.text) for hit in hits) > 60
    client.client.close()


def _own_id(index: int, node: BaseNode) -> str:
    return f"00000000-0000-4000-8000-{int(node.node_id[:4], 16):06d}{index:06d}"


def test_a_store_without_a_collection_is_named() -> None:
    for framework in FRAMEWORKS:
        with pytest.raises(CollectionNotFoundError):
            expansion(framework, "memory:nowhere")

"""Every strategy's chunks, with pages, times and several spans, in the stores of both frameworks and back."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery

from kinsplit import Index
from kinsplit.chunk import Document, Moment
from kinsplit.details import details, flat, whole
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import names
from tests.integrations.finding import FRAMEWORKS, HASH, expansion, process
from tests.integrations.helpers import TEXT, small
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import embedded

pytestmark = [
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*ORM-style PyMilvus API"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DIMENSION = len(HASH.embed_query("x"))
PAGES = ("An owl hunts at night. The owl and", "the lark are birds. A lark sings at dawn, and a cat sleeps.")
LINES = " ".join(f"Owl {number} flies over the wood." for number in range(9))
FLAT = {str, int, float, bool}


def chunks_of(framework: str) -> list[Any]:
    """Return chunks of every strategy, of pages and of a file with siblings, and those of an index with times."""
    found = []
    for name in names():
        about = {"file_path": f"{name}.pdf", "sibling_files": [f"{name}.py"]}
        if framework == "langchain":
            pages = [
                LangChainDocument(page_content=text, metadata={**about, "page": number})
                for number, text in enumerate(PAGES)
            ]
            text = LangChainDocument(id=f"{name}.md", page_content=TEXT + LINES)
            found += langchain.text_splitter(name, **small(name)).split_documents([*pages, text])
        else:
            leaves = [
                LlamaIndexDocument(text=text, metadata={**about, "page_label": str(number)})
                for number, text in enumerate(PAGES, 1)
            ]
            whole_text = LlamaIndexDocument(id_=f"{name}.md", text=TEXT + LINES)
            found += llama_index.node_parser(name, **small(name))([*leaves, whole_text])
    with Index("memory:", strategy="sentence", embedder=HASH) as index:
        index.add(Document("talk.vtt", LINES, times=(Moment(0, 0.0, 2.5), Moment(30, 2.5, 5.0))))
        if framework == "langchain":
            return found + langchain.KinsplitVectorStore(HashEmbeddings(), index.store).find({})
        return found + llama_index.KinsplitVectorStore(index.store).get_nodes()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_metadata_are_flat_and_nothing_is_lost(framework: str) -> None:
    chunks = chunks_of(framework)
    own = [details(chunk) for chunk in chunks]
    for key in ("beside", "spans", "page_breaks", "sibling_files"):
        assert any(key in each for each in own), key
    assert any("time_start" in chunk.metadata for chunk in chunks)
    for chunk in chunks:
        assert {type(value) for value in chunk.metadata.values()} <= FLAT
        assert flat(whole(chunk.metadata)).items() <= chunk.metadata.items()
        assert {"parent_id", "prev_id", "next_id"} <= chunk.metadata.keys()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("slim", [False, True])
def test_passages_are_flat(framework: str, slim: bool) -> None:
    chunks = chunks_of(framework)
    for options in ({"window": 1}, {"window": 0}, {"parents": True}):
        hits = chunks if framework == "langchain" else [NodeWithScore(node=chunk, score=0.5) for chunk in chunks]
        with Stored(framework, chunks) as store:
            for passage in process(expansion(framework, store, slim=slim, **options), hits[::7]):
                assert {type(value) for value in passage.given.items()} <= {tuple}
                assert {type(value) for value in passage.given.values()} <= FLAT


class Stored:
    """A KinStore of chunks, for which all their kin are known."""

    def __init__(self, framework: str, chunks: list[Any]) -> None:
        self._store = langchain.KinStore(":memory:")
        self._store.add(chunk for chunk in chunks if "char_start" in chunk.metadata)

    def __enter__(self) -> langchain.KinStore:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()


class Kept(NamedTuple):
    """What a store gives back, and what kin are read from: the store itself, or None if it can't be asked."""

    found: Iterable[Any]
    store: Any


Keep = Callable[[list[Any], Path, Callable[[], str]], Kept]
STORES: dict[str, tuple[str, str, Keep]] = {}


def stored_in(framework: str, module: str) -> Callable[[Keep], Keep]:
    def registered(keep: Keep) -> Keep:
        STORES[f"{framework}-{keep.__name__}"] = framework, module, keep
        return keep

    return registered


def searched(store: Any, chunks: list[Any]) -> list[Any]:
    """Add documents to a LangChain store in two calls, of which the first holds one chunk alone, and find them all."""
    store.add_documents(chunks[:1])
    store.add_documents(chunks[1:])
    return store.similarity_search("owl", k=len(chunks))  # type: ignore[no-any-return]


@stored_in("langchain", "langchain_core")
def in_memory(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    store = InMemoryVectorStore(HashEmbeddings())
    return Kept(searched(store, chunks), store)


@stored_in("langchain", "langchain_chroma")
def chroma(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    import chromadb
    from langchain_chroma import Chroma

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    store = Chroma(uuid4().hex, HashEmbeddings(), client=client)
    return Kept(searched(store, chunks), store)


@stored_in("langchain", "langchain_community")
def faiss(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from langchain_community.vectorstores import FAISS

    store = FAISS.from_documents(chunks, HashEmbeddings())
    return Kept(store.similarity_search("owl", k=len(chunks)), store)


@stored_in("langchain", "langchain_qdrant")
def qdrant(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    vectors = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    client.create_collection("lc", vectors_config=vectors)
    store = QdrantVectorStore(client, "lc", HashEmbeddings())
    return Kept(searched(store, chunks), store)


@stored_in("langchain", "langchain_postgres")
def pgvector(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from langchain_postgres import PGVector

    address = postgres().replace("://", "+psycopg://")
    store = PGVector(HashEmbeddings(), connection=address, collection_name=uuid4().hex)
    found = searched(store, chunks)
    return Kept(found, store)


@stored_in("langchain", "lancedb")
def lancedb(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    pytest.importorskip("langchain_community")
    from langchain_community.vectorstores import LanceDB

    store = LanceDB(embedding=HashEmbeddings(), uri=str(folder), table_name="t")
    store.add_documents(chunks)
    return Kept(store.similarity_search("owl", k=len(chunks)), None)


@stored_in("langchain", "duckdb")
def duckdb(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    pytest.importorskip("langchain_community")
    import duckdb as client
    from langchain_community.vectorstores import DuckDB

    store = DuckDB(connection=client.connect(":memory:"), embedding=HashEmbeddings())
    return Kept(searched(store, chunks), None)


@stored_in("langchain", "langchain_milvus")
def milvus(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    pytest.importorskip("milvus_lite")
    from langchain_milvus import Milvus

    store = Milvus(
        HashEmbeddings(),
        connection_args={"uri": str(folder / "milvus.db")},
        index_params={"index_type": "FLAT", "metric_type": "L2"},
        enable_dynamic_field=True,
        auto_id=True,
    )
    try:
        return Kept(searched(store, chunks), None)
    except Exception as error:
        if "should create connection first" in str(error):
            pytest.skip("this langchain-milvus doesn't work with this pymilvus")
        raise


def queried(store: Any, nodes: list[Any]) -> list[Any]:
    """Add nodes to a LlamaIndex store in two calls, and find them all."""
    nodes = embedded(nodes)
    store.add(nodes[:1])
    store.add(nodes[1:])
    return list(store.query(VectorStoreQuery(HASH.embed_query("owl").tolist(), similarity_top_k=len(nodes))).nodes)


@stored_in("llama_index", "llama_index.core")
def simple(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    store = SimpleVectorStore()
    store.add(embedded(chunks))
    again = SimpleVectorStore.from_dict(json.loads(json.dumps(store.to_dict())))
    ids = again.query(VectorStoreQuery(HASH.embed_query("owl").tolist(), similarity_top_k=len(chunks))).ids
    by_id = {chunk.node_id: chunk for chunk in chunks}
    return Kept([by_id[id_] for id_ in ids], None)  # It stores no texts.


@stored_in("llama_index", "llama_index.vector_stores.chroma")
def li_chroma(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    store = ChromaVectorStore(chroma_collection=client.get_or_create_collection(uuid4().hex))
    return Kept(queried(store, chunks), store)


@stored_in("llama_index", "llama_index.vector_stores.qdrant")
def li_qdrant(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    store = QdrantVectorStore("li", client=QdrantClient(":memory:"))
    return Kept(queried(store, chunks), store)


@stored_in("llama_index", "llama_index.vector_stores.postgres")
def li_pgvector(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from llama_index.vector_stores.postgres import PGVectorStore

    address = postgres()
    store = PGVectorStore(
        connection_string=address.replace("://", "+psycopg2://"),
        async_connection_string=address.replace("://", "+asyncpg://"),
        table_name=f"t{uuid4().hex}",
        embed_dim=DIMENSION,
    )
    return Kept(queried(store, chunks), store)


@stored_in("llama_index", "llama_index.vector_stores.lancedb")
def li_lancedb(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from llama_index.vector_stores.lancedb import LanceDBVectorStore

    # Its columns are those of the first call.
    store = LanceDBVectorStore(uri=str(folder), table_name="t")
    store.add(embedded(chunks))
    found = store.query(VectorStoreQuery(HASH.embed_query("owl").tolist(), similarity_top_k=len(chunks))).nodes
    return Kept(found, None)


@stored_in("llama_index", "llama_index.vector_stores.duckdb")
def li_duckdb(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    from llama_index.vector_stores.duckdb import DuckDBVectorStore

    try:
        store = DuckDBVectorStore(embed_dim=DIMENSION)
    except Exception as error:
        if "Failed to download extension" in str(error):
            pytest.skip("DuckDB can't download its extension json")
        raise
    return Kept(queried(store, chunks), None)


@stored_in("llama_index", "llama_index.vector_stores.milvus")
def li_milvus(chunks: list[Any], folder: Path, postgres: Callable[[], str]) -> Kept:
    pytest.importorskip("milvus_lite")
    from llama_index.vector_stores.milvus import MilvusVectorStore

    store = MilvusVectorStore(uri=str(folder / "milvus.db"), dim=DIMENSION, overwrite=True)
    return Kept(queried(store, chunks), None)


@pytest.mark.parametrize("place", STORES)
def test_a_store_takes_every_chunk_and_its_siblings_are_found(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    framework, module, keep = STORES[place]
    try:
        importlib.import_module(module)
    except ImportError:
        pytest.skip(f"{module} is not installed")
    chunks = chunks_of(framework)
    kept = keep(chunks, tmp_path, lambda: request.getfixturevalue("postgres_server"))
    before = {chunk.metadata["chunk_id"]: whole(chunk.metadata) for chunk in chunks}
    found = {hit.metadata["chunk_id"]: hit for hit in kept.found}
    assert found.keys() == before.keys()
    for id_, hit in found.items():
        after = whole(hit.metadata)
        assert {key: after[key] for key in before[id_]} == before[id_]
    middles = [
        hit
        for hit in found.values()
        if hit.metadata["prev_id"] and hit.metadata["next_id"] and hit.metadata["strategy"] == "sentence"
    ]
    assert len(middles) > 3
    kin = langchain.KinStore(":memory:")
    kin.add(chunks)
    for hit in middles:
        given = hit if framework == "langchain" else NodeWithScore(node=hit, score=0.5)
        (passage,) = process(expansion(framework, kept.store or kin), [given])
        own = whole(hit.metadata)
        sides = [before[own[key]] for key in ("prev_id", "next_id")]
        assert passage.details["chunks"] == [own["prev_id"], own["chunk_id"], own["next_id"]]
        assert passage.id == own["chunk_id"]
        place_of = passage.metadata["char_start"], passage.metadata["char_end"]
        assert place_of == (sides[0]["char_start"], sides[1]["char_end"])
    kin.close()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_clients_of_servers_take_every_chunk(framework: str) -> None:
    """The rules of Pinecone are those of its documentation: strings, numbers, truth values and lists of strings."""
    chunks = chunks_of(framework)
    metadata = [chunk.metadata for chunk in chunks]
    assert all(type(value) in FLAT for each in metadata for value in each.values())
    # Elasticsearch gives each field the type of its first value.
    kinds: dict[str, type] = {}
    for each in metadata:
        for key, value in each.items():
            assert kinds.setdefault(key, type(value)) is type(value), key
    vectors = [([0.5, 0.5], each) for each in metadata]
    factory = pytest.importorskip("pinecone.db_data.vector_factory", reason="pinecone is not installed").VectorFactory
    serializer = pytest.importorskip("elasticsearch.serializer").JsonSerializer()
    for number, (vector, each) in enumerate(vectors):
        assert factory.build((str(number), vector, each), check_type=True).metadata == each
        assert json.loads(serializer.dumps(each)) == each


@pytest.mark.filterwarnings("ignore:metadata. .* are embedded with every chunk")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_floats_for_whole_numbers_and_emptied_keys_are_read(framework: str) -> None:
    """Pinecone returns every number as a float, and stores with columns None where a chunk has no value."""
    chunks = [chunk for chunk in chunks_of(framework) if chunk.metadata["strategy"] in ("sentence", "cluster")]
    returned = copy.deepcopy(chunks)
    for chunk in returned:
        own = {key: float(value) if type(value) is int else value for key, value in chunk.metadata.items()}
        chunk.metadata = {
            **dict.fromkeys(("context", "page_start", "page_end", "kinsplit", "prev_id", "next_id")),
            **own,
        }
    with Stored(framework, chunks) as store:
        for given, other in zip(chunks, returned, strict=True):
            one, two = (
                chunk if framework == "langchain" else NodeWithScore(node=chunk, score=0.5) for chunk in (given, other)
            )
            (expected,), (passage,) = (process(expansion(framework, store), [each]) for each in (one, two))
            assert (passage.id, passage.text, passage.details) == (expected.id, expected.text, expected.details)
            assert {key: passage.metadata[key] for key in expected.metadata} == expected.metadata
    again = [split_again(framework, [chunk]) for chunk in returned]
    assert [whole(chunk.metadata) for found in again for chunk in found] == [
        whole(chunk.metadata) for chunk in chunks for chunk in split_again(framework, [chunk])
    ]


def split_again(framework: str, chunks: list[Any]) -> list[Any]:
    if framework == "langchain":
        return langchain.text_splitter("word", chunk_size=3).split_documents(chunks)
    return llama_index.node_parser("word", chunk_size=3)(chunks)

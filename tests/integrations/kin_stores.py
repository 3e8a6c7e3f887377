"""The stores of both frameworks whose chunks are expanded, each with the real package."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.documents import Document as LangChainDocument
from langchain_core.load import dumps
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.kvstore import SimpleKVStore

from kinsplit.integrations import langchain, llama_index
from tests.integrations.finding import HASH, LECTURE
from tests.integrations.test_langchain_store import HashEmbeddings
from tests.integrations.test_llama_index_store import HashEmbedding

PARAMETERS: dict[str, Any] = {"parent_size": 150, "child_size": 60}
DIMENSION = len(HASH.embed_query("x"))


class Setting(NamedTuple):
    """Chunks in a store.

    Attributes:
        search: Returns the hits of a question.
        store: What is passed to `SiblingExpansion`.
        parent_store: Store of the parents, if it is another one.
        close: Closes what belongs to the event loop of the tests.
    """

    search: Callable[[str], list[Any]]
    store: Any
    parent_store: Any = None
    close: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Arrangement:
    """A way to store chunks.

    Attributes:
        name: Store, as the documentation names it.
        framework: Name of the framework.
        kin: How kin are read, as the documentation says it.
        module: Module without which the store can't be used.
        opened: Context manager of a setting, given a folder and a Postgres address.
    """

    name: str
    framework: str
    kin: str
    module: str
    opened: Callable[[Path, Callable[[], str]], contextlib.AbstractContextManager[Setting]]

    def __str__(self) -> str:
        return f"{self.framework}-{self.name}"


ARRANGEMENTS: list[Arrangement] = []
LANGCHAIN, LLAMA_INDEX = "LangChain", "LlamaIndex"


def arrangement(framework: str, name: str, kin: str, module: str = "json") -> Callable[..., Any]:
    """Register a generator of a setting as an arrangement."""

    def registered(make: Callable[[Path, Callable[[], str]], Iterator[Setting]]) -> Any:
        ARRANGEMENTS.append(Arrangement(name, framework, kin, module, contextlib.contextmanager(make)))
        return make

    return registered


def documents() -> list[Any]:
    """Return the lecture's leaves and parents as documents of LangChain."""
    whole = LangChainDocument(id="lecture", page_content=LECTURE, metadata={"subject": "cs"})
    return langchain.text_splitter("hierarchical", **PARAMETERS).split_documents([whole])


def nodes() -> list[Any]:
    """Return the lecture's leaves and parents as nodes of LlamaIndex."""
    whole = LlamaIndexDocument(id_="lecture", text=LECTURE, metadata={"subject": "cs"})
    return llama_index.node_parser("hierarchical", **PARAMETERS)([whole])


def leaves(chunks: list[Any]) -> list[Any]:
    return [chunk for chunk in chunks if chunk.metadata["level"] == 0]


def searched(store: Any, chunks: list[Any], kin: Any = None, parents: Any = None) -> Setting:
    """Return the setting of a LangChain vector store."""
    store.add_documents(chunks)
    return Setting(store.as_retriever(search_kwargs={"k": 12}).invoke, kin or store, parents)


def indexed(vector_store: Any, chunks: list[Any], kin: Any = None) -> Setting:
    """Return the setting of a LlamaIndex vector store."""
    context = None if vector_store is None else StorageContext.from_defaults(vector_store=vector_store)
    index = VectorStoreIndex(chunks, storage_context=context, embed_model=HashEmbedding())
    return Setting(index.as_retriever(similarity_top_k=12).retrieve, kin or index)


@arrangement(LANGCHAIN, "`InMemoryVectorStore`", "id, metadata")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    yield searched(InMemoryVectorStore(HashEmbeddings()), documents())


@arrangement(LANGCHAIN, "`FAISS`", "id, metadata", "langchain_community")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    yield searched(FAISS(HashEmbeddings(), faiss.IndexFlatL2(DIMENSION), InMemoryDocstore(), {}), documents())


@arrangement(LANGCHAIN, "`Chroma`", "id, metadata", "langchain_chroma")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    import chromadb
    from langchain_chroma import Chroma

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    yield searched(Chroma("lectures", HashEmbeddings(), client=client), documents())


@arrangement(LANGCHAIN, "`QdrantVectorStore`, any content key", "id, metadata", "langchain_qdrant")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    with contextlib.closing(QdrantClient(":memory:")) as client:
        vectors = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
        client.create_collection("lc", vectors_config=vectors)
        keys = {"content_payload_key": "body", "metadata_payload_key": "about"}
        yield searched(QdrantVectorStore(client, "lc", HashEmbeddings(), **keys), documents())


@arrangement(LANGCHAIN, "`PGVector`", "id, metadata", "langchain_postgres")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    from langchain_postgres import PGVector

    store = PGVector(HashEmbeddings(), connection=postgres().replace("://", "+psycopg://"), collection_name="lc")
    yield searched(store, documents())
    store._engine.dispose()  # type: ignore[union-attr]


@arrangement(LANGCHAIN, "`PGVectorStore`", "id", "langchain_postgres")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    from langchain_postgres import PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(postgres().replace("://", "+psycopg://"))
    engine.init_vectorstore_table("lc_v2", DIMENSION)
    yield searched(PGVectorStore.create_sync(engine, HashEmbeddings(), "lc_v2"), documents())._replace(
        close=engine.close
    )


@arrangement(LANGCHAIN, "docstore of parents, beside any vector store", "id")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    chunks, docstore = documents(), InMemoryStore()
    docstore.mset([(chunk.id, chunk) for chunk in chunks if chunk.metadata["level"]])
    yield searched(InMemoryVectorStore(HashEmbeddings()), leaves(chunks), parents=docstore)


@arrangement(LANGCHAIN, "`ByteStore` of documents, beside any vector store", "id")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    chunks, store = documents(), InMemoryByteStore()
    store.mset([(chunk.id, dumps(chunk).encode()) for chunk in chunks])
    yield searched(InMemoryVectorStore(HashEmbeddings()), leaves(chunks), kin=store)


@arrangement(LANGCHAIN, "`KinsplitVectorStore`", "id, metadata")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    yield searched(langchain.KinsplitVectorStore(HashEmbeddings(), "memory:"), documents())


@arrangement(LANGCHAIN, "any other, with a `KinStore` in SQLite", "`KinStore`")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    with langchain.KinStore(folder / "langchain.db") as kin:
        kin.add(documents())
        yield searched(InMemoryVectorStore(HashEmbeddings()), leaves(documents()), kin=kin)


@arrangement(LANGCHAIN, "any other, with a `KinStore` in a `ByteStore`", "`KinStore`")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    kin = langchain.KinStore(InMemoryByteStore())
    kin.add(documents())
    yield searched(InMemoryVectorStore(HashEmbeddings()), leaves(documents()), kin=kin)


@arrangement(LLAMA_INDEX, "`SimpleVectorStore` and its docstore", "id")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    yield indexed(None, nodes())


@arrangement(LLAMA_INDEX, "`SimpleDocumentStore`", "id")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes())
    yield indexed(None, leaves(nodes()), kin=docstore)


@arrangement(LLAMA_INDEX, "`QdrantVectorStore`", "id, metadata", "llama_index.vector_stores.qdrant")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    from llama_index.vector_stores.qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

    with contextlib.closing(QdrantClient(":memory:")) as client:
        store = QdrantVectorStore("li", client=client)
        yield indexed(store, nodes(), kin=store)


@arrangement(LLAMA_INDEX, "`FaissVectorStore` and its docstore", "id", "llama_index.vector_stores.faiss")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    import faiss
    from llama_index.vector_stores.faiss import FaissVectorStore

    yield indexed(FaissVectorStore(faiss.IndexFlatL2(DIMENSION)), nodes())


@arrangement(LLAMA_INDEX, "`ChromaVectorStore`", "id, metadata", "llama_index.vector_stores.chroma")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    import chromadb
    from llama_index.vector_stores.chroma import ChromaVectorStore

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    store = ChromaVectorStore(chroma_collection=client.get_or_create_collection("nodes"))
    yield indexed(store, nodes(), kin=store)


@arrangement(LLAMA_INDEX, "`PGVectorStore`", "id, metadata", "llama_index.vector_stores.postgres")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    from llama_index.vector_stores.postgres import PGVectorStore

    address = postgres()
    store = PGVectorStore(
        connection_string=address.replace("://", "+psycopg2://"),
        async_connection_string=address.replace("://", "+asyncpg://"),
        table_name="li",
        embed_dim=DIMENSION,
    )
    yield indexed(store, nodes(), kin=store)._replace(close=store.close)


@arrangement(LLAMA_INDEX, "`KinsplitVectorStore`", "id, metadata")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    yield indexed(llama_index.KinsplitVectorStore("memory:"), nodes())


@arrangement(LLAMA_INDEX, "any other, with a `KinStore` in SQLite", "`KinStore`")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    with llama_index.KinStore(folder / "llama_index.db") as kin:
        kin.add(nodes())
        yield indexed(None, leaves(nodes()), kin=kin)


@arrangement(LLAMA_INDEX, "any other, with a `KinStore` in a `KVStore`", "`KinStore`")
def _(folder: Path, postgres: Callable[[], str]) -> Iterator[Setting]:
    kin = llama_index.KinStore(SimpleKVStore())
    kin.add(nodes())
    yield indexed(None, leaves(nodes()), kin=kin)

"""A chat application in the shape that create-llama generates, with kinsplit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core import Document, Settings, SimpleDirectoryReader, StorageContext, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from kinsplit.integrations import llama_index as kin
from tests.applications import llama_index_models as models

DATA = "data"
STORAGE = "storage"
TOP_K = 3


def init_settings() -> None:
    Settings.llm = MockLLM()
    Settings.embed_model = kin.CachedEmbedding(models.embed_model, model_name="words", folder="vectors")
    Settings.chunk_size = 100
    Settings.chunk_overlap = 20


def get_vector_store() -> BasePydanticVectorStore:
    return kin.KinsplitVectorStore("edge:kinsplit-data", collection="documents")


def get_docstore() -> SimpleDocumentStore:
    if Path(STORAGE).exists():
        return SimpleDocumentStore.from_persist_dir(STORAGE)
    return SimpleDocumentStore()


def get_documents() -> list[Document]:
    reader = SimpleDirectoryReader(DATA, recursive=True, filename_as_id=True, raise_on_error=True)
    documents = kin.join_pages(reader.load_data())
    for document in documents:
        document.metadata["private"] = "false"
        # A parser counts the metadata that models see, and a path may have any length.
        document.excluded_embed_metadata_keys.append("file_path")
        document.excluded_llm_metadata_keys.append("file_path")
    return documents


def generate() -> None:
    """Index the files of the data folder: those that changed since the last run."""
    init_settings()
    documents = get_documents()
    docstore, vector_store = get_docstore(), get_vector_store()
    pipeline = IngestionPipeline(
        transformations=[
            kin.KinsplitSentenceNodeParser(
                chunk_size=Settings.chunk_size,
            ),
            Settings.embed_model,
        ],
        docstore=docstore,
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
        vector_store=vector_store,
    )
    pipeline.run(documents=documents)
    StorageContext.from_defaults(docstore=docstore, vector_store=vector_store).persist(STORAGE)


def get_index() -> VectorStoreIndex:
    return VectorStoreIndex.from_vector_store(get_vector_store())


def upload(name: str, text: str) -> list[str]:
    """Index a private file of a user, and return the ids under which it is found."""
    documents = [Document(text=text, metadata={"file_name": name, "private": "true"})]
    nodes = IngestionPipeline(transformations=[kin.KinsplitSentenceNodeParser()]).run(documents=documents)
    index = get_index()
    index.insert_nodes(nodes)
    index.storage_context.persist(STORAGE)
    return [document.doc_id for document in documents]


class NodeCitation(BaseNodePostprocessor):
    """Writes the id of a node into its metadata, by which the language model cites it."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        for found in nodes:
            found.node.metadata["node_id"] = found.node.node_id
        return nodes


def get_filters(doc_ids: Sequence[str]) -> MetadataFilters:
    """Return the filter for all public files and these private ones."""
    public = MetadataFilter(key="private", value="true", operator=FilterOperator.NE)
    selected = MetadataFilter(key="doc_id", value=list(doc_ids), operator=FilterOperator.IN)
    return MetadataFilters(filters=[public, selected] if doc_ids else [public], condition=FilterCondition.OR)


def get_chat_engine(doc_ids: Sequence[str] = ()) -> CondensePlusContextChatEngine:
    index = get_index()
    return CondensePlusContextChatEngine(
        llm=Settings.llm,
        memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
        system_prompt="Answer from the files, and cite them.",
        retriever=index.as_retriever(similarity_top_k=TOP_K, filters=get_filters(doc_ids)),
        node_postprocessors=[kin.SiblingExpansion(index), NodeCitation()],
    )

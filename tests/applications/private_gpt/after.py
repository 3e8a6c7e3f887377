"""Ingestion and chat in the shape of PrivateGPT, with kinsplit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.indices.vector_store import VectorIndexRetriever
from llama_index.core.ingestion import run_transformations
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.storage.index_store import SimpleIndexStore

from kinsplit.integrations import llama_index as kin
from tests.applications import llama_index_models as models

DATA = "local_data"


class Components:
    """The model and the stores, which everything shares."""

    def __init__(self) -> None:
        self.embed_model = kin.CachedEmbedding(models.embed_model, model_name="words", folder="vectors")
        self.vector_store = kin.KinsplitVectorStore("edge:kinsplit-data", collection="documents")
        try:
            self.index_store = SimpleIndexStore.from_persist_dir(DATA)
            self.docstore = SimpleDocumentStore.from_persist_dir(DATA)
        except FileNotFoundError:
            self.index_store, self.docstore = SimpleIndexStore(), SimpleDocumentStore()

    def storage_context(self) -> StorageContext:
        return StorageContext.from_defaults(
            vector_store=self.vector_store, docstore=self.docstore, index_store=self.index_store
        )

    def index(self) -> VectorStoreIndex:
        return VectorStoreIndex.from_vector_store(
            self.vector_store, storage_context=self.storage_context(), embed_model=self.embed_model
        )


def read(name: str, file: Path) -> list[Document]:
    """Return the pages of a file, or the whole text of one without pages."""
    pages = file.read_text().split("\f")
    documents = [Document(text=page) for page in pages]
    for number, document in enumerate(documents, 1):
        document.metadata["file_name"] = name
        if pages[1:]:
            document.metadata["page_label"] = str(number)
    documents = kin.join_pages(documents)
    for document in documents:
        document.metadata["doc_id"] = document.doc_id
        document.excluded_embed_metadata_keys = ["doc_id"]
        document.excluded_llm_metadata_keys = ["file_name", "doc_id", "page_label"]
    return documents


class IngestComponent:
    """Splits documents, embeds them, and writes them into index, docstore and vector store."""

    def __init__(
        self, storage_context: StorageContext, embed_model: BaseEmbedding, transformations: list[TransformComponent]
    ) -> None:
        self.transformations = transformations
        self._lock = threading.Lock()
        options: dict[str, Any] = {
            "storage_context": storage_context,
            "store_nodes_override": True,
            "embed_model": embed_model,
            "transformations": transformations,
        }
        try:
            self._index: Any = load_index_from_storage(**options)
        except ValueError:
            self._index = VectorStoreIndex.from_documents([], **options)
            self._save()

    def ingest(self, name: str, file: Path) -> list[Document]:
        """Insert the documents of a file one by one."""
        documents = read(name, file)
        with self._lock:
            for document in documents:
                self._index.insert(document)
            self._save()
        return documents

    def bulk_ingest(self, files: Sequence[tuple[str, Path]]) -> list[Document]:
        """Split and embed the documents of all files, and insert their nodes at once."""
        documents = [document for name, file in files for document in read(name, file)]
        nodes = run_transformations(documents, self.transformations)
        with self._lock:
            self._index.insert_nodes(nodes)
            for document in documents:
                self._index.docstore.set_document_hash(document.doc_id, document.hash)
            self._save()
        return documents

    def delete(self, doc_id: str) -> None:
        with self._lock:
            self._index.delete_ref_doc(doc_id, delete_from_docstore=True)
            self._save()

    def _save(self) -> None:
        self._index.storage_context.persist(DATA)


class IngestService:
    """Ingests, lists and deletes documents."""

    def __init__(self, components: Components) -> None:
        self.storage_context = components.storage_context()
        node_parser = kin.KinsplitSentenceNodeParser(max_sentences=1)
        self.component = IngestComponent(
            self.storage_context, components.embed_model, [node_parser, components.embed_model]
        )

    def list_ingested(self) -> dict[str, dict[str, Any]]:
        """Return the metadata of each document."""
        found = self.storage_context.docstore.get_all_ref_doc_info() or {}
        hidden = {"doc_id", "window", "original_text"}
        return {
            doc_id: {key: value for key, value in info.metadata.items() if key not in hidden}
            for doc_id, info in found.items()
        }


class ChatService:
    """Finds chunks, and answers from them."""

    def __init__(self, components: Components) -> None:
        self.storage_context = components.storage_context()
        self.index = components.index()

    def _retriever(self, doc_ids: list[str] | None, limit: int) -> VectorIndexRetriever:
        return VectorIndexRetriever(index=self.index, similarity_top_k=limit, doc_ids=doc_ids)

    def chunks(
        self, text: str, doc_ids: list[str] | None = None, limit: int = 10, siblings: int = 0
    ) -> list[tuple[list[str], str, list[str]]]:
        """Return chunks, each between the texts of its neighbours."""
        found = self._retriever(doc_ids, limit).retrieve(text)
        return [
            (
                self._beside(hit.node, siblings, forward=False),
                hit.node.get_content(),
                self._beside(hit.node, siblings, forward=True),
            )
            for hit in sorted(found, key=lambda hit: hit.score or 0.0, reverse=True)
        ]

    def _beside(self, node: BaseNode, number: int, *, forward: bool) -> list[str]:
        texts = list[str]()
        for _ in range(number):
            other = node.next_node if forward else node.prev_node
            if other is None:
                break
            node = self.storage_context.docstore.get_node(other.node_id)
            texts.append(node.get_content())
        return texts

    def chat_engine(self, doc_ids: list[str] | None = None) -> ContextChatEngine:
        return ContextChatEngine.from_defaults(
            system_prompt="Answer from the documents.",
            retriever=self._retriever(doc_ids, 2),
            llm=MockLLM(),
            memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
            node_postprocessors=[
                kin.SiblingExpansion(self.index, window=3),
                SimilarityPostprocessor(similarity_cutoff=0.05),
            ],
        )

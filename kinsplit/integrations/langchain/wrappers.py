"""Rerankers and cached embeddings as LangChain's classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from pydantic import Field, PrivateAttr

from kinsplit import retrieval
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import require
from kinsplit.integrations.langchain.documents import to_found
from kinsplit.integrations.shared.collection import to_reranker
from kinsplit.integrations.shared.fields import FieldModel
from kinsplit.integrations.shared.results import text_to_rerank, with_rerank_score
from kinsplit.integrations.shared.vector_folder import VectorFolder
from kinsplit.retrieval import Reranker
from kinsplit.support.threads import call_either, with_awaiting


class Rerank(FieldModel, BaseDocumentCompressor):
    """Any kinsplit reranker as a LangChain document compressor.

    The reranker reads each document's text with its heading path. The scores of all stages are kept for the function
    `details`. If the reranker fails, the order stays unchanged, with one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Maximum number of documents to return; None for all.
        embedder: An embedder or its name, for "late".

    Raises:
        InvalidParameterError: The name is unknown, or `top_n` is below 1.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=Rerank("late", top_n=5), base_retriever=base)
    """

    reranker: Any = Field(exclude=True)
    top_n: int | None = Field(default=None, description="Maximum number of documents to return.")
    embedder: Any = Field(default="bundled", exclude=True)

    shared: ClassVar = {"_reranker": ("reranker", "embedder")}
    _reranker: Reranker | None = PrivateAttr()

    def __init__(
        self, reranker: str | Reranker, *, top_n: int | None = None, embedder: str | Embedder = "bundled"
    ) -> None:
        require(top_n is None or top_n >= 1, "top_n", "must be at least 1", top_n, "Leave it out for all documents.")
        super().__init__(reranker=reranker, top_n=top_n, embedder=embedder)
        self._reranker = to_reranker(reranker, embedder)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return documents in the order of the reranker's scores."""
        del callbacks
        if self._reranker is None:
            return documents[: self.top_n]
        return retrieval.rerank(self._reranker, query, documents, _READING)[: self.top_n]


def _text(document: Document) -> str:
    return text_to_rerank(document.page_content, document.metadata)


def _with_score(document: Document, score: float) -> Document:
    metadata = with_rerank_score(document.metadata, score, to_found(document).score)
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


_READING = retrieval.ItemReader[Document](_text, lambda document: to_found(document).score, _with_score)


@with_awaiting(embed_documents="aembed_documents", embed_query="aembed_query")
class CachedEmbeddings(Embeddings):
    """Embeddings with a cache of the documents' vectors on disk, for any vector store.

    When a document is edited, `index()` adds its changed chunks again, and those whose position has changed; only the
    new texts reach the model. Queries always do. Threads and processes can share a cache.

    Args:
        embeddings: Embeddings of the texts that are not in the cache.
        model: Name of the model, and of whatever else its vectors depend on, such as their dimension or an instruction.
            Vectors are cached under it: change it when they change.
        folder: Folder of the cache; None for `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name. A
            cache of 1 GiB drops the least recently used vectors.

    Raises:
        InvalidParameterError: The name is blank.

    Example:
        >>> store = InMemoryVectorStore(CachedEmbeddings(OpenAIEmbeddings(), model="text-embedding-3-small"))
    """

    def __init__(self, embeddings: Embeddings, *, model: str, folder: str | Path | None = None) -> None:
        self.embeddings = embeddings
        self._vectors = VectorFolder(model, folder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text; only texts without one reach the model, each once."""
        own = self.embeddings
        return self._vectors.vectors(texts, lambda new: call_either(own.embed_documents, own.aembed_documents, new))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return call_either(self.embeddings.embed_query, self.embeddings.aembed_query, text)

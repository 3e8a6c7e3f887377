"""Rerankers as LangChain's document compressors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import Field, PrivateAttr

from kinsplit import retrieval
from kinsplit.embedding.protocol import Embedder
from kinsplit.integrations.langchain.documents import to_found
from kinsplit.integrations.shared.collection import to_reranker
from kinsplit.integrations.shared.fields import FieldModel
from kinsplit.integrations.shared.results import text_to_rerank, with_rerank_score
from kinsplit.retrieval import Reranker


class Rerank(FieldModel, BaseDocumentCompressor):
    """Any kinsplit reranker as a LangChain document compressor.

    The reranker reads each document's text with its heading path. The scores of all stages are kept for the function
    `details`. If the reranker fails, the order stays unchanged, with one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Maximum number of documents to return; None for all.
        embedder: An embedder or its name, for "late".

    Raises:
        InvalidParameterError: The name is unknown, the object is no reranker, or `top_n` is below 1.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=Rerank("late", top_n=5), base_retriever=base)
    """

    reranker: Any = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1, description="Maximum number of documents to return.")
    embedder: Any = Field(default="bundled", exclude=True)

    shared: ClassVar = {"_reranker": ("reranker", "embedder")}
    _reranker: Reranker | None = PrivateAttr()

    def __init__(
        self, reranker: str | Reranker, *, top_n: int | None = None, embedder: str | Embedder = "bundled"
    ) -> None:
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

"""Any reranker as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import Field, PrivateAttr

from kinsplit import retrieval
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain.documents import found
from kinsplit.integrations.shared.arguments import to_reranker
from kinsplit.integrations.shared.results import judged, judged_text
from kinsplit.retrieval import Reranker


class Rerank(BaseDocumentCompressor):
    """Any kinsplit reranker as a LangChain document compressor.

    The reranker reads each document's text, with its heading path. Every stage's score stays under the metadata key
    "kinsplit". A reranker that fails leaves the order as it was and gives one warning.

    Args:
        reranker: A `kinsplit.retrieval.Reranker`, or its name: "late", "cross-encoder:NAME" or "none".
        top_n: Most documents to return; None for all.
        embedder: For "late": an embedder or its name.

    Raises:
        InvalidParameterError: An unknown name, or a `top_n` below 1.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=Rerank("late", top_n=5), base_retriever=base)
    """

    top_n: int | None = Field(default=None, description="Most documents to return.")

    _reranker: Reranker | None = PrivateAttr()

    def __init__(
        self, reranker: str | Reranker, *, top_n: int | None = None, embedder: str | Embedder = "bundled"
    ) -> None:
        if top_n is not None and top_n < 1:
            raise InvalidParameterError("top_n", "must be at least 1", top_n, "Leave it out for all documents.")
        super().__init__(top_n=top_n)
        self._reranker = to_reranker(reranker, embedder)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return documents in the order of the reranker's judgements."""
        del callbacks
        if self._reranker is None:
            return documents[: self.top_n]
        return retrieval.rerank(self._reranker, query, documents, _READING)[: self.top_n]


def _text(document: Document) -> str:
    return judged_text(document.page_content, document.metadata)


def _judged(document: Document, score: float) -> Document:
    metadata = judged(document.metadata, score, found(document).score)
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


_READING = retrieval.Reading[Document](_text, lambda document: found(document).score, _judged)

"""Sibling expansion as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import PrivateAttr

from kinsplit.integrations.langchain.documents import found, to_document
from kinsplit.integrations.shared.kin_readers import Opened, open_reader
from kinsplit.integrations.shared.siblings import expand_found
from kinsplit.parsers import Strategy
from kinsplit.retrieval import Expansion


class SiblingExpansion(BaseDocumentCompressor, AbstractContextManager[Any]):
    """Adds to each document its siblings, or takes its whole parent, and merges what touches into passages.

    All kin come in one read, from a kinsplit store or from any Qdrant collection that holds kinsplit's chunks, whoever
    wrote them: LangChain's or LlamaIndex's own Qdrant store will do. A passage takes the place of its best document;
    under the metadata key "kinsplit" it names all its documents, with their scores where an earlier stage left them
    there. No overlap is repeated, and no text stands in two passages. Documents that kinsplit didn't split stay as
    they are; one that a course search embedded whole is followed by the files that its `sibling_files` names.

    Args:
        store: Where the documents are: a `KinsplitVectorStore`, LangChain's own `QdrantVectorStore`, a
            `kinsplit.Index`, an open store, or a `QdrantClient`; or the address of a store, which is opened and closed
            with this object.
        collection: Name of the collection, for an address or a `QdrantClient`.
        window: Siblings to add on each side.
        parents: Whether to take the whole parent instead; a document without one gets siblings.
        within_sections: Whether siblings stop where the heading path changes.
        strategy: What split the documents, such as `splitter.strategy`. Where it is known, or the collection is one
            that `Index` made, kin are fetched by their ids, otherwise by a filter.
        slim: Whether passages carry only the keys of kinsplit's that their place needs, and their score (see
            `kinsplit.integrations.shared.metadata.slimmed`), for prompts that hold metadata.

    Raises:
        InvalidParameterError: A negative window, or a store that is none of these.
        StoreError: There is no such collection, or it can't be opened.

    Example:
        >>> ContextualCompressionRetriever(base_compressor=SiblingExpansion(client, "lectures"), base_retriever=base)
    """

    window: int = 1
    parents: bool = False
    within_sections: bool = False
    slim: bool = False

    _opened: Opened = PrivateAttr()
    _expansion: Expansion = PrivateAttr()

    def __init__(
        self,
        store: object,
        collection: str = "default",
        *,
        window: int = 1,
        parents: bool = False,
        within_sections: bool = False,
        strategy: Strategy | None = None,
        slim: bool = False,
    ) -> None:
        expansion = Expansion(window=window, parents=parents, within_sections=within_sections)
        super().__init__(window=window, parents=parents, within_sections=within_sections, slim=slim)
        self._expansion = expansion
        self._opened = open_reader(store, collection, strategy)

    def close(self) -> None:
        """Let go of the collection, if the store was given by its address. A second call does nothing."""
        if self._opened.store is not None:
            self._opened.store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return passages in the place of their best documents."""
        del query, callbacks
        hits = [found(document) for document in documents]
        expanded = expand_found(hits, self._expansion, self._opened.reader, slim=self.slim)
        return [documents[hit] if result is None else to_document(result) for hit, result, _ in expanded]

"""Any chunk store as a LangChain vector store."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain.documents import document_of, item_of
from kinsplit.integrations.shared.arguments import refuse_unknown
from kinsplit.integrations.shared.collection import Collection, clear, count, find, get, put, remove
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.stores import AsyncChunkStore, ChunkStore, Hit, Query, calls
from kinsplit.stores.protocol import Where

_Scored = list[tuple[Document, float]]


class KinsplitVectorStore(VectorStore):
    """Any kinsplit store as a LangChain vector store.

    Documents come back equal to what was added, whoever split them and whatever their ids; adding one whose id is
    known replaces it. What `Index.add` wrote is read too: its leaves are found, its parents fetched by id.

    Searches take `filter`, a mapping of metadata keys and the value, the list of values, or the operators that
    LangChain's stores know, such as {"year": {"$gte": 2020}} or {"$or": [...]}; see `kinsplit.stores.protocol.Where`.
    Metadata that have the name of a kinsplit key can be filtered by in kinsplit's own chunks only. Scores are cosines.

    Args:
        embedding: Embeds documents and questions.
        store: Address of a store (see `kinsplit.stores.open_store`), opened at first use, or an open one, such as
            `Index.store`.
        collection: Name of the collection at that address; a new one is made by the first documents.
        model: Name of the embedding model, kept in the schema of a new collection.
        language: Language of the stop words and the stemmer of a new collection, such as "german"; "any" takes words as
            they are.
        async_store: The same collection for an event loop, such as a Qdrant server that
            `kinsplit.stores.open_async_store` opened; without it coroutines ask `store` in threads.
        slim: Whether what a search finds carries only the keys of kinsplit's that its place and kin need (see
            `kinsplit.integrations.shared.metadata.slimmed`), for prompts that hold
            metadata. What is fetched by id has all.

    Example:
        >>> store = KinsplitVectorStore(embeddings, "edge:./kinsplit-data", collection="cs")
        >>> retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 3, "filter": {"subject": "cs"}})
    """

    def __init__(
        self,
        embedding: Embeddings,
        store: str | ChunkStore,
        *,
        collection: str = "default",
        model: str = "given",
        language: str | None = "english",
        async_store: AsyncChunkStore | None = None,
        slim: bool = False,
    ) -> None:
        self._embedding = embedding
        self._slim = slim
        self._kept = Collection(store, collection, model, language, async_store)

    @property
    def embeddings(self) -> Embeddings:
        """What embeds documents and questions."""
        return self._embedding

    @property
    def client(self) -> ChunkStore | None:
        """The chunk store, which is opened for it; None as long as there is no collection."""
        return self._kept.open()

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts.

        Args:
            texts: The texts.
            embedding: Embeds them.
            metadatas: The metadata of each.
            ids: The id of each.
            **kwargs: The other arguments of `KinsplitVectorStore`.
        """
        made = cls(embedding, **kwargs)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts; see `from_texts`."""
        made = cls(embedding, **kwargs)
        await made.aadd_texts(texts, metadatas, ids=ids)
        return made

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts, each with its metadata and its id; see `add_documents`."""
        # The base class reads an iterator twice, and so would lose it.
        return super().add_texts(list(texts), metadatas, ids=ids, **kwargs)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Add texts; see `add_texts`."""
        return await super().aadd_texts(list(texts), metadatas, ids=ids, **kwargs)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents, or replace those that have their ids.

        Args:
            documents: The documents; one without an id gets a random one.
            **kwargs: `ids`, instead of the documents' own. `batch_size`, which `index()` gives, has no effect, since
                documents are embedded and written together.

        Returns:
            The ids.

        Raises:
            InvalidParameterError: Metadata that can't be stored, or not as many ids as documents.
        """
        ids = _ids(documents, **kwargs)
        if documents:
            vectors = self._embedding.embed_documents([document.page_content for document in documents])
            self._kept.run(lambda: self._add(documents, ids, vectors), None, len(vectors[0]))
        return ids

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents; see `add_documents`."""
        ids = _ids(documents, **kwargs)
        if documents:
            vectors = await self._embedding.aembed_documents([document.page_content for document in documents])
            await self._kept.run_async(lambda: self._add(documents, ids, vectors), None, len(vectors[0]))
        return ids

    def delete(self, ids: list[str] | None = None, filter: Where | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, by filter, or by both; all documents if neither is given.

        Args:
            ids: Ids; those that are not stored are passed over.
            filter: See `KinsplitVectorStore`. Parents that `Index.add` wrote are deleted with their leaves, if they too
                have the metadata.
            **kwargs: None is known.

        Raises:
            InvalidParameterError: The filter is empty or not valid.
        """
        refuse_unknown(kwargs)
        self._kept.run(lambda: _delete(ids, filter), None)
        return True

    async def adelete(self, ids: list[str] | None = None, filter: Where | None = None, **kwargs: Any) -> bool:
        """Delete documents; see `delete`."""
        refuse_unknown(kwargs)
        await self._kept.run_async(lambda: _delete(ids, filter), None)
        return True

    def find(self, filter: Where) -> list[Document]:
        """Return all documents that a filter lets through, in order of source and place; {} lets all through."""
        return self._kept.run(lambda: _found(filter), [])

    async def afind(self, filter: Where) -> list[Document]:
        """Return all documents that a filter lets through; see `find`."""
        return await self._kept.run_async(lambda: _found(filter), [])

    def count(self, filter: Where | None = None) -> int:
        """Return the number of documents, or of those that a filter lets through."""
        return self._kept.run(lambda: count(filter), 0)

    async def acount(self, filter: Where | None = None) -> int:
        """Return the number of documents; see `count`."""
        return await self._kept.run_async(lambda: count(filter), 0)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id, in the order of the ids, without those that are not stored."""
        return self._kept.run(lambda: _by_ids(ids), [])

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id; see `get_by_ids`."""
        return await self._kept.run_async(lambda: _by_ids(ids), [])

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents that are most like a question, best first; see `similarity_search_with_score`."""
        return _documents(
            self.similarity_search_with_score(query, k, filter, score_threshold=score_threshold, **kwargs)
        )

    async def asimilarity_search(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents that are most like a question; see `similarity_search_with_score`."""
        return _documents(
            await self.asimilarity_search_with_score(query, k, filter, score_threshold=score_threshold, **kwargs)
        )

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> _Scored:
        """Return the documents that are most like a question with their cosines, best first.

        Args:
            query: The question.
            k: Most documents to return.
            filter: See `KinsplitVectorStore`.
            score_threshold: Lowest cosine of a document, from -1 to 1; None for any.
            **kwargs: None is known.
        """
        refuse_unknown(kwargs)
        vector = self._embedding.embed_query(query)
        return self._kept.run(lambda: self._similar(vector, k, filter, score_threshold), [])

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> _Scored:
        """Return documents with their cosines; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        vector = await self._embedding.aembed_query(query)
        return await self._kept.run_async(lambda: self._similar(vector, k, filter, score_threshold), [])

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents whose vectors are most like a vector; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        return _documents(self._kept.run(lambda: self._similar(embedding, k, filter, score_threshold), []))

    async def asimilarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents by vector; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        return _documents(await self._kept.run_async(lambda: self._similar(embedding, k, filter, score_threshold), []))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are like a question and unlike each other.

        Args:
            query: The question.
            k: Most documents to return.
            fetch_k: Documents to choose from, those most like the question.
            lambda_mult: 1 for the likest documents, 0 for the most diverse ones.
            filter: See `KinsplitVectorStore`.
            **kwargs: None is known.
        """
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter, **kwargs)

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents unlike each other; see `max_marginal_relevance_search`."""
        vector = await self._embedding.aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are like a vector and unlike each other; see `max_marginal_relevance_search`."""
        refuse_unknown(kwargs)
        return self._kept.run(lambda: self._diverse(embedding, k, fetch_k, lambda_mult, filter), [])

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents unlike each other; see `max_marginal_relevance_search`."""
        refuse_unknown(kwargs)
        return await self._kept.run_async(lambda: self._diverse(embedding, k, fetch_k, lambda_mult, filter), [])

    def close(self) -> None:
        """Let go of the collection, if the store was given by its address."""
        self._kept.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: (cosine + 1) / 2

    async def _add(self, documents: Sequence[Document], ids: Sequence[str], vectors: list[list[float]]) -> None:
        items = [item_of(document, id_) for document, id_ in zip(documents, ids, strict=True)]
        await put(self._kept, items, vectors)

    async def _similar(
        self, vector: list[float], k: int, where: Where | None, score_threshold: float | None
    ) -> _Scored:
        lowest = _check_threshold(score_threshold)
        hits = await _search(vector, k, where)
        return [(self._found(hit.chunk), hit.score) for hit in hits if hit.score >= lowest]

    async def _diverse(
        self, vector: list[float], k: int, fetch_k: int, lambda_mult: float, where: Where | None
    ) -> list[Document]:
        hits = await _search(vector, fetch_k, where)
        vectors = await calls.vectors([hit.chunk.id for hit in hits])
        hits = [hit for hit in hits if hit.chunk.id in vectors]  # Without those deleted meanwhile.
        embeddings: list[Any] = [vectors[hit.chunk.id].dense for hit in hits]
        chosen = maximal_marginal_relevance(np.asarray(vector, dtype=np.float32), embeddings, lambda_mult, k)
        return [self._found(hits[index].chunk) for index in chosen]

    def _found(self, chunk: Chunk) -> Document:
        document = document_of(chunk)
        if self._slim:
            document.metadata = slimmed(document.metadata)
        return document


def _ids(
    documents: Sequence[Document],
    ids: Sequence[str | None] | None = None,
    batch_size: int | None = None,
    **kwargs: Any,
) -> list[str]:
    del batch_size
    refuse_unknown(kwargs)
    if ids is not None and len(ids) != len(documents):
        rule = f"must be as many as documents ({len(documents)})"
        raise InvalidParameterError("ids", rule, len(ids), "Give one for each document, or none at all.")
    own = [document.id for document in documents] if ids is None else ids
    return [str(uuid.uuid4()) if id_ is None else id_ for id_ in own]


async def _delete(ids: Sequence[str] | None, where: Where | None) -> None:
    if where is None:
        await (clear() if ids is None else remove(ids))
        return
    if not where:
        raise InvalidParameterError("filter", "must not be empty", where, "To delete all documents, call delete().")
    await remove([chunk.id for chunk in await find(where, None, ids)])


async def _found(where: Where) -> list[Document]:
    return [document_of(chunk) for chunk in await find(where)]


async def _by_ids(ids: Sequence[str]) -> list[Document]:
    return [document_of(chunk) for chunk in await get(ids)]


def _check_threshold(score_threshold: float | None) -> float:
    if score_threshold is None:
        return -math.inf
    if not -1 <= score_threshold <= 1:
        raise InvalidParameterError(
            "score_threshold", "must be a cosine from -1 to 1", score_threshold, "Leave it out."
        )
    return score_threshold


async def _search(vector: list[float], limit: int, where: Where | None) -> list[Hit]:
    query = Query("dense", np.asarray(vector, dtype=np.float32), limit, where=where)
    (hits,) = await calls.search([query])
    return hits


def _documents(scored: _Scored) -> list[Document]:
    return [document for document, _ in scored]

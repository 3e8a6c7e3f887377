"""Any chunk store as a LangChain vector store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from kinsplit.embedding.foreign import finite_vectors
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, InvalidParameterError, KinsplitError
from kinsplit.indexing.refusals import PROBE, Division, asettle, settle
from kinsplit.integrations.langchain.documents import item_of
from kinsplit.integrations.langchain.queries import (
    Scored,
    delete,
    diverse,
    documents_by_ids,
    find_documents,
    similar,
)
from kinsplit.integrations.shared.collection import Collection, Work, count, put, refuse_unknown
from kinsplit.stores import AsyncChunkStore, ChunkStore
from kinsplit.stores.protocol import Where
from kinsplit.tokenizers import describe

Vectors = list[list[float]]


class KinsplitVectorStore(VectorStore):
    """Any kinsplit store as a LangChain vector store.

    Documents are returned as they were added, whoever split them and whatever their ids; adding one with a known id
    replaces it. Chunks written by `Index.add` can be read too: searches find its leaves, and parents are fetched by id.

    Searches take `filter`, a mapping of metadata keys to a value, a list of values, or the operators of LangChain's
    stores, such as {"year": {"$gte": 2020}} or {"$or": [...]}; see `kinsplit.stores.protocol.Where`. Metadata under
    one of kinsplit's own keys can be filtered in kinsplit's own chunks only. Scores are cosines.

    Args:
        embedding: Embeds documents and questions.
        store: Address of a store (see `kinsplit.stores.open_store`), opened at first use, or an open store, such as
            `Index.store`.
        collection: Name of the collection at that address, created with the first documents.
        model: Name of the embedding model, recorded in the schema of a new collection.
        language: Language of the stop words and the stemmer of a new collection, such as "german"; "any" leaves words
            unchanged.
        async_store: The same collection for an event loop, such as a Qdrant server that
            `kinsplit.stores.open_async_store` opened; without it coroutines call `store` in threads.
        slim: Whether searches return only the metadata for a prompt (see
            `kinsplit.integrations.shared.metadata.slimmed`). Documents fetched by id have all metadata.

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
        self._collection = Collection(store, collection, model, language, async_store)

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings of documents and questions."""
        return self._embedding

    @property
    def client(self) -> ChunkStore | None:
        """The chunk store, opened on access; None while the collection doesn't exist."""
        return self._collection.open()

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
        """Create a store of texts.

        Args:
            texts: The texts.
            embedding: The embeddings.
            metadatas: Metadata of each text.
            ids: Id of each text.
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
        """Create a store of texts; see `from_texts`."""
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
        # The base class would exhaust an iterator before using it.
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
        """Add documents, replacing those with the same ids.

        Args:
            documents: The documents; one without an id gets a random one.
            **kwargs: `ids` replaces the documents' own ids. `batch_size`, which `index()` passes, has no effect, since
                documents are embedded and written together.

        Returns:
            The ids.

        Raises:
            InvalidParameterError: Metadata can't be stored, or the numbers of ids and documents differ.
            EmbeddingError: The embedding object refuses documents, which the error names; nothing is stored then. If it
                fails with any text, its own exception is raised.
        """
        ids = _ids(documents, **kwargs)
        if documents:
            self.add_embeddings(documents, self._embed(documents, kwargs.get("ids")), ids=ids)
        return ids

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents; see `add_documents`."""
        ids = _ids(documents, **kwargs)
        if documents:
            await self.aadd_embeddings(documents, await self._aembed(documents, kwargs.get("ids")), ids=ids)
        return ids

    def _embed(self, documents: Sequence[Document], ids: Sequence[str | None] | None) -> Vectors:
        def embed(part: Sequence[tuple[str, str]]) -> Vectors:
            return self._checked(self._embedding.embed_documents([text for _, text in part]), len(part))

        with _own_exceptions():
            steps = self._division.steps(_named(documents, ids))
            found = settle(steps, embed, lambda: embed([("", PROBE)]))
        return _all(found)

    async def _aembed(self, documents: Sequence[Document], ids: Sequence[str | None] | None) -> Vectors:
        async def embed(part: Sequence[tuple[str, str]]) -> Vectors:
            return self._checked(await self._embedding.aembed_documents([text for _, text in part]), len(part))

        with _own_exceptions():
            steps = self._division.steps(_named(documents, ids))
            found = await asettle(steps, embed, lambda: embed([("", PROBE)]))
        return _all(found)

    @property
    def _division(self) -> Division[tuple[str, str], list[float]]:
        return Division(describe(self._embedding), lambda item: item[0])

    def _checked(self, vectors: Vectors, count: int) -> Vectors:
        finite_vectors(vectors, count, describe(self._embedding))
        return vectors

    def add_embeddings(
        self, documents: Sequence[Document], embeddings: Sequence[Sequence[float]], *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Add documents whose vectors are known, replacing those with the same ids.

        Args:
            documents: The documents; one without an id gets a random one.
            embeddings: Vector of each document.
            ids: Ids that replace the documents' own ids.

        Returns:
            The ids.

        Raises:
            InvalidParameterError: Metadata can't be stored, or the numbers of ids, vectors and documents differ.
        """
        own = _ids(documents, ids)
        if documents:
            self._collection.run(self._add(documents, own, embeddings), None, len(embeddings[0]))
        return own

    async def aadd_embeddings(
        self, documents: Sequence[Document], embeddings: Sequence[Sequence[float]], *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Add documents whose vectors are known; see `add_embeddings`."""
        own = _ids(documents, ids)
        if documents:
            await self._collection.run_async(self._add(documents, own, embeddings), None, len(embeddings[0]))
        return own

    def delete(self, ids: list[str] | None = None, filter: Where | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, by filter, or by both; all documents if neither is given.

        Args:
            ids: Ids; unknown ones are ignored.
            filter: See `KinsplitVectorStore`. Parents that `Index.add` wrote are deleted with their leaves if they
                match too.
            **kwargs: Rejected.

        Raises:
            InvalidParameterError: The filter is empty or invalid.
        """
        refuse_unknown(kwargs)
        self._collection.run(lambda: delete(ids, filter), None)
        return True

    async def adelete(self, ids: list[str] | None = None, filter: Where | None = None, **kwargs: Any) -> bool:
        """Delete documents; see `delete`."""
        refuse_unknown(kwargs)
        await self._collection.run_async(lambda: delete(ids, filter), None)
        return True

    def find(self, filter: Where) -> list[Document]:
        """Return all documents that match a filter, in order of source and index; {} matches all."""
        return self._collection.run(lambda: find_documents(filter), [])

    async def afind(self, filter: Where) -> list[Document]:
        """Return all documents that match a filter; see `find`."""
        return await self._collection.run_async(lambda: find_documents(filter), [])

    def count(self, filter: Where | None = None) -> int:
        """Return the number of documents, or of those that match a filter."""
        return self._collection.run(lambda: count(filter), 0)

    async def acount(self, filter: Where | None = None) -> int:
        """Return the number of documents; see `count`."""
        return await self._collection.run_async(lambda: count(filter), 0)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id, in the order of the ids, without those that are not stored."""
        return self._collection.run(lambda: documents_by_ids(ids), [])

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id; see `get_by_ids`."""
        return await self._collection.run_async(lambda: documents_by_ids(ids), [])

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents most similar to a question, best first; see `similarity_search_with_score`."""
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
        """Return the documents most similar to a question; see `similarity_search_with_score`."""
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
    ) -> Scored:
        """Return the documents most similar to a question with their cosines, best first.

        Args:
            query: The question.
            k: Maximum number of documents.
            filter: See `KinsplitVectorStore`.
            score_threshold: Minimum cosine, from -1 to 1; None for no minimum.
            **kwargs: Rejected.
        """
        refuse_unknown(kwargs)
        vector = self._embedding.embed_query(query)
        return self._collection.run(self._similar(vector, k, filter, score_threshold), [])

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> Scored:
        """Return documents with their cosines; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        vector = await self._embedding.aembed_query(query)
        return await self._collection.run_async(self._similar(vector, k, filter, score_threshold), [])

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Where | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents most similar to a vector; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        return _documents(self._collection.run(self._similar(embedding, k, filter, score_threshold), []))

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
        return _documents(await self._collection.run_async(self._similar(embedding, k, filter, score_threshold), []))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are similar to a question and differ from each other.

        Args:
            query: The question.
            k: Maximum number of documents.
            fetch_k: Number of most similar documents to choose from.
            lambda_mult: 1 for the most similar documents, 0 for the most diverse ones.
            filter: See `KinsplitVectorStore`.
            **kwargs: Rejected.
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
        """Return diverse documents; see `max_marginal_relevance_search`."""
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
        """Return documents similar to a vector and diverse; see `max_marginal_relevance_search`."""
        refuse_unknown(kwargs)
        return self._collection.run(self._diverse(embedding, k, fetch_k, lambda_mult, filter), [])

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return diverse documents; see `max_marginal_relevance_search`."""
        refuse_unknown(kwargs)
        return await self._collection.run_async(self._diverse(embedding, k, fetch_k, lambda_mult, filter), [])

    def close(self) -> None:
        """Close the collection, if the store was given by its address."""
        self._collection.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: (cosine + 1) / 2

    def _add(self, documents: Sequence[Document], ids: Sequence[str], vectors: Sequence[Sequence[float]]) -> Work[None]:
        if len(vectors) != len(documents):
            rule = f"must be as many as documents ({len(documents)})"
            raise InvalidParameterError("embeddings", rule, len(vectors), "Pass one for each document.")
        items = [item_of(document, id_) for document, id_ in zip(documents, ids, strict=True)]
        return lambda: put(self._collection, items, vectors)

    def _similar(self, vector: list[float], k: int, where: Where | None, score_threshold: float | None) -> Work[Scored]:
        return lambda: similar(vector, k, where, score_threshold, slim=self._slim)

    def _diverse(
        self, vector: list[float], k: int, fetch_k: int, lambda_mult: float, where: Where | None
    ) -> Work[list[Document]]:
        return lambda: diverse(vector, k, fetch_k, lambda_mult, where, slim=self._slim)


def _named(documents: Sequence[Document], ids: Sequence[str | None] | None) -> list[tuple[str, str]]:
    """Return the texts of documents with their names for errors: their ids, or else their positions."""
    own = ids or [document.id for document in documents]
    return [
        (f"documents[{at}]" if id_ is None else id_, document.page_content)
        for at, (id_, document) in enumerate(zip(own, documents, strict=True))
    ]


def _all(found: Sequence[list[float] | KinsplitError]) -> Vectors:
    """Return the vectors of documents, all of which have one."""
    refused = [str(each) for each in found if isinstance(each, KinsplitError)]
    if refused:
        more = f" Refused are {len(refused):,} of {len(found):,} documents." if refused[1:] else ""
        raise EmbeddingError(f"Nothing was stored. {refused[0]}{more}")
    return [each for each in found if not isinstance(each, KinsplitError)]


@contextmanager
def _own_exceptions() -> Iterator[None]:
    """Raise the exceptions of an embedding object that fails with any text, as the framework's callers expect."""
    try:
        yield
    except EmbedderUnavailableError as error:
        raise error.__cause__ or error from None


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
        raise InvalidParameterError("ids", rule, len(ids), "Pass one for each document, or none.")
    own = [document.id for document in documents] if ids is None else ids
    return [str(uuid.uuid4()) if id_ is None else id_ for id_ in own]


def _documents(scored: Scored) -> list[Document]:
    return [document for document, _ in scored]

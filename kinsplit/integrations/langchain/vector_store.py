"""Any chunk store as a LangChain vector store, and the filters that LangChain's users write."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeAlias, TypeVar, cast

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.structured_query import (
    Comparator,
    Comparison,
    FilterDirective,
    Operation,
    Operator,
    StructuredQuery,
    Visitor,
)
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from kinsplit.chunk import Chunk
from kinsplit.embedding.protocol import finite_vectors
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, KinsplitError, require
from kinsplit.indexing.vectors import PROBE, Division
from kinsplit.integrations.langchain.documents import document_of, item_of
from kinsplit.integrations.langchain.embeddings import checked_embeddings
from kinsplit.integrations.shared.collection import (
    Collection,
    check_cosine,
    check_number,
    checked_ids,
    clear,
    counted,
    get,
    refuse_unknown,
    remove,
    stored_ids,
    with_vectors,
)
from kinsplit.integrations.shared.filters import containing, is_of_qdrant, of_qdrant, with_matches
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.integrations.shared.pages import checked_documents
from kinsplit.stores import ChunkStore, Hit, Query
from kinsplit.stores.store import warn_of_unmatched
from kinsplit.stores.values import Where
from kinsplit.support.threads import awaiting, call_either, in_thread, with_awaiting
from kinsplit.tokenizers import describe

T = TypeVar("T")
Vectors = list[list[float]]
Scored = list[tuple[Document, float]]


@with_awaiting(
    add_texts="aadd_texts",
    add_documents="aadd_documents",
    delete="adelete",
    get_by_ids="aget_by_ids",
    similarity_search="asimilarity_search",
    similarity_search_with_score="asimilarity_search_with_score",
    similarity_search_by_vector="asimilarity_search_by_vector",
    max_marginal_relevance_search="amax_marginal_relevance_search",
    max_marginal_relevance_search_by_vector="amax_marginal_relevance_search_by_vector",
)
class KinsplitVectorStore(VectorStore):
    """Any kinsplit store as a LangChain vector store.

    Documents are returned as they were added, whoever split them and whatever their ids; adding one with a known id
    replaces it. Chunks written by `Index.add` can be read too: searches find its leaves, and parents are fetched by id.

    Searches take `filter`, a mapping of metadata keys to a value, a list of values, or the operators of LangChain's
    stores, such as {"year": {"$gte": 2020}} or {"$or": [...]}; see `kinsplit.stores.values.Where`. Besides, `$like` and
    `$ilike` compare texts with a pattern and read all documents; the key "full_content" is the document's text. A
    `models.Filter` of Qdrant's client is translated, and so is the filter of a structured query; see
    `kinsplit.integrations.langchain.StructuredQueryTranslator`. Metadata under one of kinsplit's own keys can be
    filtered in kinsplit's own chunks only. Scores are cosines.

    Args:
        embedding: Embeds documents and questions.
        store: Address of a store (see `kinsplit.stores.open_store`), opened at first use, or an open store, such as
            `Index.store`.
        collection: Name of the collection at that address, created with the first documents.
        model: Name of the embedding model, recorded in the schema of a new collection.
        language: Language of the stop words and the stemmer of a new collection, such as "german"; "any" leaves words
            unchanged.
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
        slim: bool = False,
    ) -> None:
        self._embedding = checked_embeddings(embedding, "embedding")
        self._slim = slim
        self._collection = Collection(store, collection, model, language)

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
        cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> Self:
        """Create a store of texts; see `from_texts`."""
        return await in_thread(cls.from_texts, texts, embedding, metadatas, **kwargs)

    def add_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Add texts, each with its metadata and its id; see `add_documents`."""
        require(not isinstance(texts, str), "texts", "must be several", texts, "Pass a list.")
        given = list(texts)
        own = _as_many("metadatas", metadatas or [{}] * len(given), "texts", given)
        documents = [Document(page_content=text, metadata=each) for text, each in zip(given, own, strict=True)]
        return self.add_documents(documents, **kwargs)

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        """Add documents, replacing those with the same ids.

        Args:
            documents: The documents; one without an id gets a random one.
            **kwargs: `ids` replaces the documents' own ids. `batch_size`, which `index()` passes, has no effect, since
                documents are embedded and written together.

        Returns:
            The ids.

        Raises:
            InvalidParameterError: Metadata can't be stored, an id is not a string, or the numbers of ids and documents
                differ.
            EmbeddingError: The embedding object refuses documents, which the error names; nothing is stored then. If it
                fails with any text, its own exception is raised.
        """
        documents = checked_documents(documents, Document, otherwise="call add_texts")
        ids = _ids(documents, **kwargs)
        if documents:
            self.add_embeddings(documents, self._embed(documents, kwargs.get("ids")), ids=ids)
        return ids

    def _embed(self, documents: Sequence[Document], ids: Sequence[str | None] | None) -> Vectors:
        def embed(part: Sequence[tuple[str, str]]) -> Vectors:
            vectors: Vectors = self._either("embed_documents", [text for _, text in part])
            finite_vectors(vectors, len(part), describe(self._embedding))
            return vectors

        division = Division[tuple[str, str], list[float]](
            describe(self._embedding), embed, lambda: embed([("", PROBE)]), name_of=lambda item: item[0]
        )
        try:
            return _all(division.settle(_named(documents, ids)))
        except EmbedderUnavailableError as error:  # Of an object that fails with any text, callers expect its own.
            raise error.__cause__ or error from None

    def _either(self, method: str, argument: object) -> Any:
        """Call a method of the embeddings, in its form for event loops if this thread works for one."""
        own = self._embedding
        return call_either(getattr(own, method), getattr(own, f"a{method}", None), argument)

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
        documents = checked_documents(documents, Document, otherwise="call add_texts")
        own = _ids(documents, ids)
        _as_many("embeddings", embeddings, "documents", documents)
        if documents:
            items = [item_of(document, id_) for document, id_ in zip(documents, own, strict=True)]
            self._collection.put(items, embeddings)
        return own

    aadd_embeddings = awaiting(add_embeddings)

    def delete(self, ids: list[str] | None = None, filter: Filter | None = None, **kwargs: Any) -> bool:
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
        require(filter is None or filter, "filter", "must not be empty", filter, "To delete all, call delete().")

        def work(store: ChunkStore) -> None:
            if filter is not None:
                wanted = None if ids is None else stored_ids(ids)
                found = store.find(to_where(store, filter) or {}, None)
                store.remove([chunk.id for chunk in found if wanted is None or chunk.id in wanted])
            elif ids is not None:
                remove(store, ids)
            else:
                clear(store)

        self._collection.run(work, None)
        return True

    def find(self, filter: Filter) -> list[Document]:
        """Return all documents that match a filter, in order of source and index; {} matches all."""
        return self._collection.run(lambda store: _of_chunks(store.find(to_where(store, filter) or {})), [])

    afind = awaiting(find)

    def count(self, filter: Filter | None = None) -> int:
        """Return the number of documents, or of those that match a filter."""
        return self._collection.run(lambda store: counted(store, to_where(store, filter)), 0)

    acount = awaiting(count)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id, in the order of the ids, without those that are not stored."""
        return self._collection.run(lambda store: _of_chunks(get(store, ids)), [])

    def similarity_search(self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any) -> list[Document]:
        """Return the documents most similar to a question, best first; see `similarity_search_with_score`."""
        return _documents(self.similarity_search_with_score(query, k, filter, **kwargs))

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Filter | None = None,
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
        return self._similar(self._either("embed_query", query), k, filter, score_threshold)

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Filter | None = None,
        *,
        score_threshold: float | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents most similar to a vector; see `similarity_search_with_score`."""
        refuse_unknown(kwargs)
        return _documents(self._similar(embedding, k, filter, score_threshold))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
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
        vector = self._either("embed_query", query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents similar to a vector and diverse; see `max_marginal_relevance_search`."""
        refuse_unknown(kwargs)
        for name, number in (("k", k), ("fetch_k", fetch_k)):
            check_number(name, number)
        chunks = self._collection.run(
            lambda store: _diverse(store, embedding, k, fetch_k, lambda_mult, filter), list[Chunk]()
        )
        return [self._document(chunk) for chunk in chunks]

    def close(self) -> None:
        """Close the collection, if the store was given by its address."""
        self._collection.close()

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda cosine: (cosine + 1) / 2

    def _similar(self, vector: list[float], k: int, where: Filter | None, score_threshold: float | None) -> Scored:
        check_number("k", k)
        check_cosine(score_threshold)
        hits = self._collection.run(lambda store: _search(store, vector, k, where), list[Hit]())
        return [
            (self._document(hit.chunk), hit.score)
            for hit in hits
            if score_threshold is None or hit.score >= score_threshold
        ]

    def _document(self, chunk: Chunk) -> Document:
        document = document_of(chunk)
        if self._slim:
            document.metadata = slimmed(document.metadata)
        return document


def _search(store: ChunkStore, vector: list[float], limit: int, where: Filter | None) -> list[Hit]:
    dense = np.asarray(vector, dtype=np.float32)
    wanted = to_where(store, where)
    (hits,) = store.search([Query("dense", dense, limit, where=wanted)])
    if not hits:
        warn_of_unmatched(store, wanted)
    return hits


def _diverse(
    store: ChunkStore, vector: list[float], limit: int, fetch: int, lambda_mult: float, where: Filter | None
) -> list[Chunk]:
    """Return chunks that are similar to a vector and differ from each other, by LangChain's own rule."""
    hits, embeddings = with_vectors(store, _search(store, vector, fetch, where))
    chosen = maximal_marginal_relevance(np.asarray(vector, dtype=np.float32), embeddings, lambda_mult, limit)
    return [hits[index].chunk for index in chosen]


def _of_chunks(chunks: Sequence[Chunk]) -> list[Document]:
    return [document_of(chunk) for chunk in chunks]


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


def _ids(
    documents: Sequence[Document], ids: Sequence[str | None] | None = None, batch_size: int | None = None, **kwargs: Any
) -> list[str]:
    del batch_size
    refuse_unknown(kwargs)
    own = [document.id for document in documents] if ids is None else _as_many("ids", ids, "documents", documents)
    return [*checked_ids([str(uuid.uuid4()) if id_ is None else id_ for id_ in own])]


def _as_many(name: str, given: Sequence[T], others: str, all_: Sequence[object]) -> Sequence[T]:
    rule, remedy = f"must be as many as {others} ({len(all_)})", f"Pass one for each of the {others}."
    require(len(given) == len(all_), name, rule, len(given), remedy)
    return given


def _documents(scored: Scored) -> list[Document]:
    return [document for document, _ in scored]


#: A filter: a mapping, the filter of a structured query, or a `models.Filter` of Qdrant's client.
Filter: TypeAlias = Where | FilterDirective | object


def to_where(store: ChunkStore, given: Filter | None) -> Where | None:
    """Return a filter in the form that a store takes.

    Raises:
        InvalidParameterError: It has a condition that no engine supports.
    """
    if given is None:
        return None
    if isinstance(given, FilterDirective):
        given = given.accept(StructuredQueryTranslator())
    elif is_of_qdrant(given):
        given = of_qdrant(given, "metadata.")
    return with_matches(store, cast("Where", given))


class StructuredQueryTranslator(Visitor):
    """The translator for `SelfQueryRetriever` over a `KinsplitVectorStore`; all comparators and operators are allowed.

    Example:
        >>> StructuredQueryTranslator().visit_comparison(Comparison(Comparator.GTE, "year", 2020))
        {'year': {'$gte': 2020}}
    """

    allowed_comparators = tuple(Comparator)
    allowed_operators = tuple(Operator)

    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """Translate an operation on filters."""
        parts = [one.accept(self) for one in operation.arguments]
        if operation.operator is Operator.NOT:
            return {"$not": parts[0] if len(parts) == 1 else {"$or": parts}}
        return {f"${operation.operator.value}": parts}

    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """Translate a comparison of an attribute with a value."""
        value, comparator = comparison.value, comparison.comparator
        if isinstance(value, dict):  # Dates come with their type.
            value = value.get("date", value.get("datetime", value))
        if comparator is Comparator.CONTAIN:
            return {"$or": [{comparison.attribute: {"$eq": value}}, *_in_text(comparison.attribute, value)]}
        if comparator is Comparator.LIKE:
            is_pattern = not isinstance(value, str) or {*"%_"} & {*value}
            return {comparison.attribute: {"$like": value if is_pattern else containing(value)}}
        return {comparison.attribute: {f"${comparator.value}": value}}

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, Any]]:
        """Translate a query into its text and the keyword arguments of a search."""
        own = structured_query.filter
        return structured_query.query, {} if own is None else {"filter": own.accept(self)}


def _in_text(attribute: str, value: object) -> list[dict[str, Any]]:
    return [{attribute: {"$like": containing(value)}}] if isinstance(value, str) else []

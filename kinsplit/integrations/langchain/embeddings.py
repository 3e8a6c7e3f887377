"""Embedding models of kinsplit, and cached ones, as LangChain's class."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from langchain_core.embeddings import Embeddings

from kinsplit import embedding
from kinsplit.embedding.cached import VectorFolder
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError
from kinsplit.support.threads import call_either, with_awaiting


def checked_embeddings(given: object, field: str) -> Embeddings:
    """Return an object that has the methods of LangChain's embedding models.

    Raises:
        InvalidParameterError: It lacks them; also if it is a class instead of an object.
    """
    methods = (getattr(given, name, None) for name in ("embed_documents", "embed_query"))
    if isinstance(given, type) or not all(map(callable, methods)):
        remedy = 'For kinsplit\'s own model pass KinsplitEmbeddings("bundled").'
        raise InvalidParameterError(field, "must be an embedding model of LangChain", given, remedy)
    return cast("Embeddings", given)


@with_awaiting(embed_documents="aembed_documents", embed_query="aembed_query")
class KinsplitEmbeddings(Embeddings):
    """An embedding model of kinsplit, such as the bundled one, for any vector store.

    A text longer than the model's window is embedded as the mean of its windows. Batches are made by the model.

    Args:
        embedder: Name of a model; see `kinsplit.embedding.create`. Or an embedder.

    Raises:
        InvalidParameterError: No embedder has that name, or the object is not an embedder.

    Example:
        >>> len(KinsplitEmbeddings("hash").embed_query("owl"))
        64
    """

    def __init__(self, embedder: str | Embedder = "bundled") -> None:
        self.embedder = embedding.resolve(embedder)

    @property
    def max_length(self) -> int:
        """Maximum number of tokens of one input, including special tokens."""
        return self.embedder.window

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text."""
        vectors: list[list[float]] = self.embedder.embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, with the model's prompt for queries if it has one."""
        vector: list[float] = self.embedder.embed_query(text).tolist()
        return vector


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
        InvalidParameterError: The name is blank, or the object is no embedding model of LangChain.

    Example:
        >>> store = InMemoryVectorStore(CachedEmbeddings(OpenAIEmbeddings(), model="text-embedding-3-small"))
    """

    def __init__(self, embeddings: Embeddings, *, model: str, folder: str | Path | None = None) -> None:
        self.embeddings = checked_embeddings(embeddings, "embeddings")
        self._vectors = VectorFolder(model, folder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text; only texts without one reach the model, each once."""
        own = self.embeddings
        return self._vectors.vectors(texts, lambda new: call_either(own.embed_documents, own.aembed_documents, new))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return call_either(self.embeddings.embed_query, self.embeddings.aembed_query, text)

"""Embedding models of kinsplit, and cached ones, as LlamaIndex's class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import ConfigDict, Field, PlainSerializer, PrivateAttr, SerializeAsAny

from kinsplit import embedding
from kinsplit.embedding.cached import VectorFolder
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import require
from kinsplit.support.settings import CheckedModel
from kinsplit.support.threads import call_either, in_thread

# LlamaIndex's maximum, since the model makes batches of its own.
_BATCH = 2048


class _InThreads(CheckedModel, BaseEmbedding):
    """A model whose blocking methods are its asynchronous ones in a thread."""

    model_config = ConfigDict(extra="forbid")

    embed_batch_size: int = Field(default=_BATCH, gt=0, le=_BATCH)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the model is serialised."""
        return cls.__name__

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await in_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self._get_text_embeddings, texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await in_thread(self._get_query_embedding, query)


class KinsplitEmbedding(_InThreads):
    """An embedding model of kinsplit, such as the bundled one, for any index.

    A text longer than the model's window is embedded as the mean of its windows.

    Args:
        embedder: Name of a model; see `kinsplit.embedding.create`. Or an embedder.
        **data: The fields of LlamaIndex's `BaseEmbedding`, such as `embed_batch_size` and `callback_manager`.

    Raises:
        InvalidParameterError: No embedder has that name, the object is not an embedder, or a field is unknown.

    Example:
        >>> len(KinsplitEmbedding("hash").get_query_embedding("owl"))
        64
    """

    embedder: Annotated[Any, PlainSerializer(lambda given: given if isinstance(given, str) else given.name)]

    def __init__(self, embedder: str | Embedder = "bundled", **data: Any) -> None:
        own = embedding.resolve(embedder)
        given = embedder if isinstance(embedder, str) else own
        super().__init__(**{"model_name": own.name, **data, "embedder": given})

    @property
    def max_length(self) -> int:
        """Maximum number of tokens of one input, including special tokens."""
        return embedding.resolve(self.embedder).window

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = embedding.resolve(self.embedder).embed(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = embedding.resolve(self.embedder).embed_query(query).tolist()
        return vector


class CachedEmbedding(_InThreads):
    """An embedding model with a cache of the nodes' vectors on disk, for any vector store.

    An `IngestionPipeline` with a docstore deletes all nodes of an edited document, splits it again and embeds every
    chunk. With this as its last transformation, only chunks with a new text reach the model, also with `num_workers`.
    Queries always do. Threads and processes can share a cache.

    Args:
        embed_model: Model that embeds the texts that are not in the cache.
        model_name: Name of the model, and of whatever else its vectors depend on, such as their dimension or an
            instruction. Vectors are cached under it: change it when they change.
        folder: Folder of the cache; None for `vectors` in kinsplit's cache folder, which KINSPLIT_CACHE can name. A
            cache of 1 GiB drops the least recently used vectors.

    Raises:
        InvalidParameterError: The name is blank, or the object is no embedding model of LlamaIndex.

    Example:
        >>> embed_model = CachedEmbedding(OpenAIEmbedding(), model_name="text-embedding-3-small")
        >>> pipeline = IngestionPipeline(transformations=[parser, embed_model], docstore=docstore, vector_store=store)
    """

    embed_model: SerializeAsAny[BaseEmbedding]
    folder: str | None = None

    _vectors: VectorFolder = PrivateAttr()

    def __init__(
        self, embed_model: BaseEmbedding, *, model_name: str, folder: str | Path | None = None, **data: Any
    ) -> None:
        remedy = 'For kinsplit\'s own model pass KinsplitEmbedding("bundled").'
        rule = "must be an embedding model of LlamaIndex"
        require(isinstance(embed_model, BaseEmbedding), "embed_model", rule, embed_model, remedy)
        vectors = VectorFolder(model_name, folder)
        where = None if folder is None else str(folder)
        super().__init__(model_name=model_name, **{**data, "embed_model": embed_model, "folder": where})
        self._vectors = vectors

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        own = self.embed_model
        forms = own.get_text_embedding_batch, own.aget_text_embedding_batch
        return self._vectors.vectors(texts, lambda new: call_either(*forms, new))

    def _get_query_embedding(self, query: str) -> list[float]:
        return call_either(self.embed_model.get_query_embedding, self.embed_model.aget_query_embedding, query)

"""Embedding model that embeds each text once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import Field, PrivateAttr, SerializeAsAny

from kinsplit.integrations.shared.vector_folder import VectorFolder

# LlamaIndex's maximum, since the model behind the cache makes batches of its own.
_BATCH = 2048


class CachedEmbedding(BaseEmbedding):
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
        InvalidParameterError: The name is blank.

    Example:
        >>> embed_model = CachedEmbedding(OpenAIEmbedding(), model_name="text-embedding-3-small")
        >>> pipeline = IngestionPipeline(transformations=[parser, embed_model], docstore=docstore, vector_store=store)
    """

    embed_model: SerializeAsAny[BaseEmbedding]
    folder: str | None = None
    embed_batch_size: int = Field(default=_BATCH, gt=0, le=_BATCH)

    _vectors: VectorFolder = PrivateAttr()

    def __init__(
        self, embed_model: BaseEmbedding, *, model_name: str, folder: str | Path | None = None, **data: Any
    ) -> None:
        vectors = VectorFolder(model_name, folder)
        where = None if folder is None else str(folder)
        super().__init__(embed_model=embed_model, model_name=model_name, folder=where, **data)
        self._vectors = vectors

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the model is serialised."""
        return cls.__name__

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        known, missing = self._vectors.look_up(texts)
        new = self.embed_model.get_text_embedding_batch(missing) if missing else []
        return self._vectors.complete(texts, known, missing, new)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        known, missing = await asyncio.to_thread(self._vectors.look_up, texts)
        new = await self.embed_model.aget_text_embedding_batch(missing) if missing else []
        return await asyncio.to_thread(self._vectors.complete, texts, known, missing, new)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self.embed_model.get_query_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await self.embed_model.aget_query_embedding(query)

"""Embeddings that embed each text once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from langchain_core.embeddings import Embeddings

from kinsplit.integrations.shared.vector_folder import VectorFolder


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
        known, missing = self._vectors.look_up(texts)
        new = self.embeddings.embed_documents(missing) if missing else []
        return self._vectors.complete(texts, known, missing, new)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embeddings.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Do the same as `embed_documents` without blocking the event loop."""
        known, missing = await asyncio.to_thread(self._vectors.look_up, texts)
        new = await self.embeddings.aembed_documents(missing) if missing else []
        return await asyncio.to_thread(self._vectors.complete, texts, known, missing, new)

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return await self.embeddings.aembed_query(text)

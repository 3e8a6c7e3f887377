"""Models and clients of the applications on LlamaIndex, which need no network."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from llama_index.core.embeddings import BaseEmbedding
from qdrant_client import QdrantClient

from kinsplit.embedding.hashing import HashEmbedder

_HASH = HashEmbedder(512)


class CountedEmbedding(BaseEmbedding):
    """Embeds texts by their words, and remembers the texts of documents that it was given."""

    texts: ClassVar[list[str]] = []

    def _get_text_embedding(self, text: str) -> list[float]:
        self.texts.append(text)
        return self._get_query_embedding(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return _HASH.embed_query(query).tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def embedded(self) -> list[str]:
        """Return the texts since the last call."""
        found, self.texts[:] = list(self.texts), []
        return found


embed_model = CountedEmbedding()


@cache
def _client(folder: Path) -> QdrantClient:
    return QdrantClient(path=str(folder))


def qdrant_client(folder: str) -> Any:
    """Return the client of a folder, which a process can open only once."""
    return _client(Path(folder).resolve())

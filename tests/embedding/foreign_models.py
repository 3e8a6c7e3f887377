"""Embedding objects of LlamaIndex and LangChain that record what they are asked."""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from kinsplit.embedding.hashing import HashEmbedder

HASH = HashEmbedder(32, window=65_535)


def numbers(texts: list[str]) -> list[list[float]]:
    """Vectors that are not of length 1."""
    return (3 * HASH.embed(texts)).tolist()


class LlamaIndexModel(BaseEmbedding):
    """Of LlamaIndex, without an asynchronous method of its own."""

    max_length: int | None = None
    _seen: list[list[str]] = PrivateAttr(default_factory=list)
    _inside: Any = PrivateAttr(default=None)

    @property
    def seen(self) -> list[list[str]]:
        return self._seen

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._seen.append(texts)
        return numbers(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        self._seen.append([query])
        return numbers([f"question {query}"])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise AssertionError("would block the event loop")


class AsyncLlamaIndexModel(LlamaIndexModel):
    """Of LlamaIndex, asked over a network."""

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._seen.append(["awaited"])
        return self._get_text_embeddings(texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        self._seen.append(["awaited"])
        return self._get_query_embedding(query)


class LangChainModel(Embeddings):
    """Of LangChain."""

    def __init__(self, client: object = None, encode_kwargs: dict[str, Any] | None = None) -> None:
        self.seen: list[list[str]] = []
        self._client, self.encode_kwargs = client, encode_kwargs or {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.seen.append(texts)
        return numbers(texts)

    def embed_query(self, text: str) -> list[float]:
        self.seen.append([text])
        return numbers([f"question {text}"])[0]

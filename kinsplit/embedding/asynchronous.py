"""Embedding without blocking an event loop, with any embedder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import Embedder, Progress


@runtime_checkable
class AsyncEmbedder(Protocol):
    """An embedding model that is asked over a network, and awaited."""

    async def aembed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """See `Embedder.embed`."""

    async def aembed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedder.embed_query`."""


async def aembed(embedder: Embedder, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
    """Do as `Embedder.embed`: with the embedder's own asynchronous method where it has one, else in a thread.

    Args:
        embedder: Any embedder.
        texts: See `Embedder.embed`.
        progress: See `Embedder.embed`; called from a thread.
    """
    if isinstance(embedder, AsyncEmbedder):
        return await embedder.aembed(texts, progress)
    return await asyncio.to_thread(embedder.embed, texts, progress)


async def aembed_query(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """Do as `Embedder.embed_query`; see `aembed`."""
    if isinstance(embedder, AsyncEmbedder):
        return await embedder.aembed_query(text)
    return await asyncio.to_thread(embedder.embed_query, text)

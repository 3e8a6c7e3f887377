"""Texts to vectors: dense models behind one protocol, and BM25 for the sparse side."""

from __future__ import annotations

from kinsplit.embedding.asynchronous import AsyncEmbedder, aembed, aembed_query
from kinsplit.embedding.cached import CachedEmbedder, keeping_vectors
from kinsplit.embedding.foreign import ForeignEmbedder
from kinsplit.embedding.protocol import Embedder, Progress, SparseVector
from kinsplit.embedding.registry import create, names, resolve
from kinsplit.embedding.vector_cache import VectorCache

__all__ = [
    "AsyncEmbedder",
    "CachedEmbedder",
    "Embedder",
    "ForeignEmbedder",
    "Progress",
    "SparseVector",
    "VectorCache",
    "aembed",
    "aembed_query",
    "create",
    "keeping_vectors",
    "names",
    "resolve",
]

"""Embeddings of texts: dense models behind one protocol, and BM25 for sparse vectors."""

from __future__ import annotations

from kinsplit.embedding.cached import CachedEmbedder, VectorCache, use_vector_cache
from kinsplit.embedding.foreign import ForeignEmbedder
from kinsplit.embedding.protocol import Embedder, Progress, SparseVector
from kinsplit.embedding.registry import create, names, resolve, verify

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "ForeignEmbedder",
    "Progress",
    "SparseVector",
    "VectorCache",
    "create",
    "names",
    "resolve",
    "use_vector_cache",
    "verify",
]

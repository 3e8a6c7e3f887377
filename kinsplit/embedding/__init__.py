"""Texts to vectors: dense models behind one protocol, and BM25 for the sparse side."""

from __future__ import annotations

from kinsplit.embedding.asynchronous import AsyncEmbedder, aembed, aembed_query
from kinsplit.embedding.foreign import ForeignEmbedder
from kinsplit.embedding.protocol import Embedder, Progress, SparseVector
from kinsplit.embedding.registry import create, names, resolve

__all__ = [
    "AsyncEmbedder",
    "Embedder",
    "ForeignEmbedder",
    "Progress",
    "SparseVector",
    "aembed",
    "aembed_query",
    "create",
    "names",
    "resolve",
]

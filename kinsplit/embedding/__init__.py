"""Texts to vectors: dense models behind one protocol, and BM25 for the sparse side."""

from __future__ import annotations

from kinsplit.embedding.protocol import Embedder, Progress, SparseVector
from kinsplit.embedding.registry import create, names, resolve

__all__ = ["Embedder", "Progress", "SparseVector", "create", "names", "resolve"]

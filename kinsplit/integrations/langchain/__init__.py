"""LangChain: every strategy as a `TextSplitter`, every store as a `VectorStore`, an index as a retriever.

Documents have exact offsets, links to their neighbours and stable ids. Their kin are found through the store alone.

Example:
    >>> splitter = text_splitter("character", chunk_size=5, chunk_overlap=0)
    >>> [d.metadata["start_index"] for d in splitter.create_documents(["chunkchunk"])]
    [0, 5]
"""

from __future__ import annotations

from importlib import import_module

from kinsplit.integrations.shared.generated import explain_missing, former_names, generated_names
from kinsplit.parsers import strategy_class

try:
    from kinsplit.integrations.langchain.text_splitter import (
        KinsplitTextSplitter,
        join_pages,
        text_splitter,
        text_splitter_class,
    )
except ImportError as error:
    packages = {"langchain_core": "langchain-core", "langchain_text_splitters": "langchain-text-splitters"}
    explain_missing(error, packages, "langchain")
    raise

_GENERATED = generated_names("TextSplitter")
_FORMER = former_names("TextSplitter")

# Modules imported at first use, since they import the stores and the index.
_MODULES = {
    "CachedEmbeddings": "cached_embeddings",
    "KinStore": ".shared.kin.sidecar",
    "ChunkKeys": "keys",
    "KinsplitRetriever": "retriever",
    "KinsplitVectorStore": "vector_store",
    "Rerank": "rerank",
    "SiblingExpansion": "sibling_expansion",
    "search_tool": "tool",
}

__all__ = ["KinsplitTextSplitter", "join_pages", "text_splitter", *_MODULES, *_GENERATED]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    strategy = _GENERATED.get(name) or _FORMER.get(name)
    if strategy is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return text_splitter_class(strategy_class(strategy))


def __dir__() -> list[str]:
    return sorted(__all__)

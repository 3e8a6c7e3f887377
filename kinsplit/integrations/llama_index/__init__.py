"""LlamaIndex: every strategy as a `NodeParser`, every store as a vector store, an index as a retriever.

Nodes have exact offsets, links and stable ids. Their kin are found through the store alone.

Example:
    >>> from llama_index.core import Document
    >>> parser = node_parser("sentence", chunk_size=3, unit="word")
    >>> [n.start_char_idx for n in parser.get_nodes_from_documents([Document(id_="d", text="No. No. No. No.")])]
    [0, 12]
"""

from __future__ import annotations

from importlib import import_module

from kinsplit.integrations.shared.generated import explain_missing, former_names, generated_names
from kinsplit.parsers import strategy_class

try:
    from kinsplit.integrations.llama_index.node_parser import KinsplitNodeParser, node_parser, node_parser_class
    from kinsplit.integrations.llama_index.nodes import join_pages
except ImportError as error:
    explain_missing(error, {"llama_index": "llama-index-core"}, "llama-index")
    raise

_GENERATED = generated_names("NodeParser")
_FORMER = former_names("NodeParser")

# Modules imported at first use, since they import the stores and the index.
_MODULES = {
    "CachedEmbedding": "cached_embedding",
    "KinStore": ".shared.kin.sidecar",
    "KinsplitRetriever": "retriever",
    "KinsplitVectorStore": "vector_store",
    "Rerank": "rerank",
    "SiblingExpansion": "sibling_expansion",
    "search_tool": "tool",
}

__all__ = ["KinsplitNodeParser", "join_pages", "node_parser", *_MODULES, *_GENERATED]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    strategy = _GENERATED.get(name) or _FORMER.get(name)
    if strategy is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return node_parser_class(strategy_class(strategy))


def __dir__() -> list[str]:
    return sorted(__all__)

"""LlamaIndex: every strategy as a `NodeParser` that gives exact offsets, links and lasting ids.

Example:
    >>> from llama_index.core import Document
    >>> parser = node_parser("sentence", chunk_size=3, unit="word")
    >>> [n.start_char_idx for n in parser.get_nodes_from_documents([Document(id_="d", text="No. No. No. No.")])]
    [0, 12]
"""

from __future__ import annotations

from kinsplit.integrations.twins import explain_missing, twin_names
from kinsplit.parsers import strategy_class

try:
    from kinsplit.integrations.llama_index.factory import node_parser, node_parser_class
    from kinsplit.integrations.llama_index.node_parser import KinsplitNodeParser
    from kinsplit.integrations.llama_index.vector_store import KinsplitVectorStore
except ImportError as error:
    explain_missing(error, {"llama_index": "llama-index-core"}, "llama-index")
    raise

_TWINS = twin_names("NodeParser")

__all__ = ["KinsplitNodeParser", "KinsplitVectorStore", "node_parser", *_TWINS]


def __getattr__(name: str) -> object:
    if name not in _TWINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return node_parser_class(strategy_class(_TWINS[name]))


def __dir__() -> list[str]:
    return sorted(__all__)

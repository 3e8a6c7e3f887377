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
from typing import TYPE_CHECKING

from kinsplit.errors import require_names
from kinsplit.integrations import lazy
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from kinsplit.integrations.llama_index.parser import KinsplitNodeParser

with needs("llama-index"):
    import_module("llama_index.core")

# Modules imported at first use, since they import the strategies, the stores and the index.
_MODULES = {
    "KinsplitNodeParser": "parser",
    "CachedEmbedding": "embeddings",
    "KinsplitEmbedding": "embeddings",
    "KinStore": ".shared.kin.sidecar",
    "KinsplitRetriever": "retriever",
    "KinsplitVectorStore": "vector_store",
    "Rerank": "postprocessors",
    "SiblingExpansion": "postprocessors",
    "details": "..details",
    "join_pages": "nodes",
    "search_tool": "retriever",
}


def node_parser(name: str | None = None, *unnamed: object, **parameters: object) -> KinsplitNodeParser:
    """Return a strategy as a node parser.

    Args:
        name: One of `kinsplit.parsers.names()`; None for `kinsplit.parsers.default_strategy`, whole sentences up to
            160 tokens.
        *unnamed: Nothing; sizes need their names.
        **parameters: The strategy's parameters, and those of `KinsplitNodeParser`.

    Raises:
        InvalidParameterError: The name is unknown, or a parameter is unknown or invalid.
    """
    from kinsplit.integrations.llama_index.parser import node_parser_class
    from kinsplit.parsers import class_and_parameters

    kind, parameters = class_and_parameters(name, parameters)
    require_names(unnamed, "chunk_size")
    return node_parser_class(kind)(**parameters)


__getattr__, __dir__ = lazy(__name__, _MODULES, "node_parser", "NodeParser", "parser:node_parser_class")

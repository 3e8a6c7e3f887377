"""LangChain: every strategy as a `TextSplitter`, every store as a `VectorStore`, an index as a retriever.

Documents have exact offsets, links to their neighbours and stable ids. Their kin are found through the store alone.

Example:
    >>> splitter = text_splitter("character", chunk_size=5, chunk_overlap=0)
    >>> [d.metadata["start_index"] for d in splitter.create_documents(["chunkchunk"])]
    [0, 5]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kinsplit.errors import require_names
from kinsplit.integrations import lazy
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from kinsplit.integrations.langchain.splitter import KinsplitTextSplitter

with needs("langchain"):
    import_module("langchain_core.documents")
    import_module("langchain_text_splitters")

# Modules imported at first use, since they import the strategies, the stores and the index.
_MODULES = {
    "KinsplitTextSplitter": "splitter",
    "CachedEmbeddings": "embeddings",
    "ChunkKeys": "keys",
    "KinsplitEmbeddings": "embeddings",
    "KinStore": ".shared.kin.sidecar",
    "KinsplitRetriever": "retriever",
    "KinsplitVectorStore": "vector_store",
    "Rerank": "compressors",
    "SiblingExpansion": "compressors",
    "details": "..details",
    "StructuredQueryTranslator": "vector_store",
    "join_pages": "splitter",
    "search_tool": "retriever",
}


def text_splitter(
    name: str | None = None,
    *unnamed: object,
    add_start_index: bool = True,
    join_pages: bool = True,
    id_key: str | None = None,
    **parameters: object,
) -> KinsplitTextSplitter:
    """Return a strategy as a text splitter.

    Args:
        name: One of `kinsplit.parsers.names()`; None for `kinsplit.parsers.default_strategy`, whole sentences up to
            160 tokens.
        *unnamed: Nothing; sizes need their names.
        add_start_index: Whether to add offsets under LangChain's own key too.
        join_pages: Whether to join the pages of a file; see the function `join_pages`.
        id_key: Metadata key of the id of documents that have none, and of the file of pages, such as "source", so that
            chunks keep their ids when the text changes.
        **parameters: The strategy's parameters.

    Raises:
        InvalidParameterError: The name is unknown, or a parameter is unknown or invalid.
    """
    from kinsplit.integrations.langchain.splitter import text_splitter_class
    from kinsplit.parsers import class_and_parameters

    kind, parameters = class_and_parameters(name, parameters)
    require_names(unnamed, "chunk_size")
    own = {"add_start_index": add_start_index, "join_pages": join_pages, "id_key": id_key}
    return text_splitter_class(kind)(**own, **parameters)


__getattr__, __dir__ = lazy(__name__, _MODULES, "text_splitter", "TextSplitter", "splitter:text_splitter_class")

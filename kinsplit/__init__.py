"""Splitters whose chunks know their kin.

The public names are imported at their first use, so that `import kinsplit` stays light. docs/api.md has an example of
each.
"""

from __future__ import annotations

import sys

# Importing it from typing would take longer than everything else here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from kinsplit.chunk import Chunk, Document
    from kinsplit.errors import (
        CacheError,
        CacheWarning,
        CollectionNotFoundError,
        DiskFullError,
        EmbedderUnavailableError,
        EmbeddingError,
        FetchError,
        ForeignCollectionError,
        InvalidParameterError,
        KinsplitError,
        KinsplitWarning,
        LanguageModelError,
        LimitTooSmallError,
        LoadError,
        LockWarning,
        MemoryLimitError,
        MissingContentError,
        MissingExtraError,
        ModelUnavailableError,
        ResultSizeError,
        SchemaMismatchError,
        StoreError,
        StoreLockedError,
        TextRefusedError,
        TimeLimitError,
        TokenizerError,
        WorkerDiedError,
        WorkerError,
    )
    from kinsplit.frames import to_arrow, to_dataframe
    from kinsplit.index import Index
    from kinsplit.loaders import read
    from kinsplit.options import KinWeights, SearchOptions
    from kinsplit.parsers import create as create_strategy
    from kinsplit.parsers import names as strategy_names
    from kinsplit.parsers import split
    from kinsplit.retrieval import Passage
    from kinsplit.spans import Span
    from kinsplit.view import show

__version__ = "0.1.0"

__all__ = [
    "CacheError",
    "CacheWarning",
    "Chunk",
    "CollectionNotFoundError",
    "DiskFullError",
    "Document",
    "EmbedderUnavailableError",
    "EmbeddingError",
    "FetchError",
    "ForeignCollectionError",
    "Index",
    "InvalidParameterError",
    "KinWeights",
    "KinsplitError",
    "KinsplitWarning",
    "LanguageModelError",
    "LimitTooSmallError",
    "LoadError",
    "LockWarning",
    "MemoryLimitError",
    "MissingContentError",
    "MissingExtraError",
    "ModelUnavailableError",
    "Passage",
    "ResultSizeError",
    "SchemaMismatchError",
    "SearchOptions",
    "Span",
    "StoreError",
    "StoreLockedError",
    "TextRefusedError",
    "TimeLimitError",
    "TokenizerError",
    "WorkerDiedError",
    "WorkerError",
    "__version__",
    "create_strategy",
    "read",
    "show",
    "split",
    "strategy_names",
    "to_arrow",
    "to_dataframe",
]

# Module and name there; all others are exceptions and warnings.
_HOME = {
    "Chunk": ("kinsplit.chunk", "Chunk"),
    "Document": ("kinsplit.chunk", "Document"),
    "Index": ("kinsplit.index", "Index"),
    "KinWeights": ("kinsplit.options", "KinWeights"),
    "Passage": ("kinsplit.retrieval", "Passage"),
    "SearchOptions": ("kinsplit.options", "SearchOptions"),
    "Span": ("kinsplit.spans", "Span"),
    "create_strategy": ("kinsplit.parsers", "create"),
    "read": ("kinsplit.loaders", "read"),
    "show": ("kinsplit.view", "show"),
    "split": ("kinsplit.parsers", "split"),
    "strategy_names": ("kinsplit.parsers", "names"),
    "to_arrow": ("kinsplit.frames", "to_arrow"),
    "to_dataframe": ("kinsplit.frames", "to_dataframe"),
}


class _Guesses:
    """A finder of modules, asked after all others: for a name that isn't there, the error says what to write."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        del path, target
        if name.startswith("kinsplit."):
            from kinsplit.hints import check_module

            check_module(name)


sys.meta_path.append(_Guesses)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        from kinsplit.hints import MissingAttributeError

        raise MissingAttributeError(sys.modules[__name__], name, "kinsplit")
    from importlib import import_module

    module, attribute = _HOME.get(name, ("kinsplit.errors", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Splitters whose chunks know their kin.

The public names are imported when they are first used, so that `import kinsplit` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk, Document
    from kinsplit.index import Index
    from kinsplit.parsers import create, names
    from kinsplit.spans import Span

__version__ = "0.1.0"

__all__ = ["Chunk", "Document", "Index", "Span", "__version__", "create", "names"]

_HOME = {
    "Chunk": "kinsplit.chunk",
    "Document": "kinsplit.chunk",
    "Span": "kinsplit.spans",
    "Index": "kinsplit.index",
    "create": "kinsplit.parsers",
    "names": "kinsplit.parsers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kinsplit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

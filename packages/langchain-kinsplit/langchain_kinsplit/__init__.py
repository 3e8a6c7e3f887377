"""kinsplit for LangChain: text splitters, vector store, retriever and sibling expansion.

The names are those of `kinsplit.integrations.langchain`, which has the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinsplit.integrations import langchain as _integration

if TYPE_CHECKING:
    from kinsplit.integrations.langchain import *  # noqa: F403

__all__ = list(_integration.__all__)


def __getattr__(name: str) -> object:
    return getattr(_integration, name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Reads by id from the stores of both frameworks."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

from kinsplit.errors import StoreError
from kinsplit.integrations.shared.kin.reader import Found, Method


class ById(Protocol):
    """Reads documents or nodes by id, in one call to the store."""

    def __call__(self, ids: Sequence[str]) -> Coroutine[Any, Any, list[Found]]:
        """Return the stored ones, in any order."""
        ...


def by_id(store: Any) -> ById | None:
    """Return the read by id that a store offers, or None."""
    return next((way(store) for way in WAYS if way.offered(store)), None)


class VectorStoreDocuments:
    """The documents of a LangChain vector store with `get_by_ids`."""

    def __init__(self, store: Any) -> None:
        self._get = Method.of(store, "get_by_ids", "aget_by_ids")

    @staticmethod
    def offered(store: Any) -> bool:
        """Return whether a store can be read in this way."""
        method = getattr(store, "get_by_ids", None)
        return method is not None and method.__module__ != "langchain_core.vectorstores.base"

    async def __call__(self, ids: Sequence[str]) -> list[Found]:
        """Return documents by id; see `ById`."""
        return [Found.of(document) for document in await self._get(list(ids))]


class StoredDocuments:
    """The documents of a LangChain key-value store: a docstore, or the byte store below one."""

    def __init__(self, store: Any) -> None:
        self._get = Method.of(store, "mget", "amget")

    @staticmethod
    def offered(store: Any) -> bool:
        """Return whether a store can be read in this way."""
        return hasattr(store, "mget")

    async def __call__(self, ids: Sequence[str]) -> list[Found]:
        """Return documents by key, which replaces their own ids; see `ById`."""
        values = zip(ids, await self._get(list(ids)), strict=True)
        return [self._found(key, value) for key, value in values if value is not None]

    @staticmethod
    def _found(key: str, value: Any) -> Found:
        if not isinstance(value, bytes):
            return Found.of(value)._replace(id=key)
        try:  # As `create_kv_docstore` writes a document, read without creating objects of any class.
            fields = json.loads(value)["kwargs"]
            return Found(key, fields["page_content"], fields.get("metadata") or {})
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"The value of {key!r} is not a document of LangChain. Pass the docstore.") from error


class Nodes:
    """The nodes of a LlamaIndex vector store or docstore."""

    def __init__(self, store: Any) -> None:
        # A docstore fails on unknown ids by default, and a vector store doesn't know the argument.
        self._options = {"raise_error": False} if hasattr(type(store), "get_document") else {}
        self._get = Method.of(store, "get_nodes", "aget_nodes")

    @staticmethod
    def offered(store: Any) -> bool:
        """Return whether a store can be read in this way."""
        method = getattr(store, "get_nodes", None)
        is_base = getattr(method, "__module__", None) == "llama_index.core.vector_stores.types"
        return method is not None and not is_base and getattr(store, "stores_text", True)

    async def __call__(self, ids: Sequence[str]) -> list[Found]:
        """Return nodes by id; see `ById`."""
        return [Found.of(node) for node in await self._get(node_ids=list(ids), **self._options)]


#: The reads by id, of which the first that a store offers is used.
WAYS = (VectorStoreDocuments, StoredDocuments, Nodes)

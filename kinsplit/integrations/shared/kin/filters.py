"""Reads by metadata from the stores of both frameworks, each in the store's own filter language."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol

from kinsplit.integrations.shared.kin.reader import Found, Method

#: Allowed values by metadata key; all keys must match.
Values = Mapping[str, Sequence[str | int | bool]]

# LlamaIndex's store for Postgres puts values into SQL as they are.
_PLAIN = re.compile(r"[\w ./@#+=,~()-]*")


class ByMetadata(Protocol):
    """Reads documents or nodes by metadata, in one call to the store."""

    def __call__(self, values: Values) -> Coroutine[Any, Any, list[Found]]:
        """Return those that match, in any order."""
        ...


def by_metadata(store: Any) -> ByMetadata | None:
    """Return the read by metadata that is known for a store, or None."""
    names = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(store).__mro__)
    way = next((WAYS[name] for name in names if name in WAYS), None)
    return None if way is None else way(store)


def _chroma(store: Any) -> ByMetadata:
    """LangChain's store for Chroma."""
    get = Method.threaded(store.get)

    async def read(values: Values) -> list[Found]:
        conditions = [{key: {"$in": list(allowed)}} for key, allowed in values.items()]
        rows = await get(where=conditions[0] if len(conditions) == 1 else {"$and": conditions})
        texts, metadatas = rows["documents"], rows["metadatas"]
        return [Found(id_, text or "", metadata or {}) for id_, text, metadata in zip(rows["ids"], texts, metadatas)]  # noqa: B905

    return read


def _postgres(store: Any) -> ByMetadata:
    """LangChain's `PGVector`, which can only search; the query goes past the vectors and so past an index of them."""

    def statement(values: Values) -> Any:
        from sqlalchemy import select

        row = store.EmbeddingStore
        conditions = [row.cmetadata[key].astext.in_(list(map(_json, allowed))) for key, allowed in values.items()]
        named = row.collection.has(name=store.collection_name)
        return select(row.id, row.document, row.cmetadata).where(named, *conditions)

    def blocking(values: Values) -> Iterable[Any]:
        with store.session_maker() as session:
            return list(session.execute(statement(values)))

    async def awaiting(values: Values) -> Iterable[Any]:
        async with store.session_maker() as session:
            return list(await session.execute(statement(values)))

    query = Method(blocking, awaiting) if store.async_mode else Method.threaded(blocking)

    async def read(values: Values) -> list[Found]:
        return [Found(str(id_), text or "", metadata or {}) for id_, text, metadata in await query(values)]

    return read


def _json(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_memory(ids: Callable[[Any], Iterable[str]]) -> Callable[[Any], ByMetadata]:
    """A store of LangChain in this process, all of whose documents are read."""

    def way(store: Any) -> ByMetadata:
        get = Method.of(store, "get_by_ids", "aget_by_ids")

        async def read(values: Values) -> list[Found]:
            found = [Found.of(document) for document in await get(list(ids(store)))]
            return [one for one in found if all(one.metadata.get(key) in allowed for key, allowed in values.items())]

        return read

    return way


def _llama_index(store: Any) -> ByMetadata | None:
    """A vector store of LlamaIndex."""
    get = Method.of(store, "get_nodes", "aget_nodes")
    if not store.stores_text or get.blocking.__module__ == "llama_index.core.vector_stores.types":
        return None

    async def read(values: Values) -> list[Found]:
        from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

        safe = {key: [v for v in allowed if _PLAIN.fullmatch(str(v))] for key, allowed in values.items()}
        if not all(safe.values()):
            return []
        filters = MetadataFilters(
            filters=[MetadataFilter(key=key, value=v, operator=FilterOperator.IN) for key, v in safe.items()]
        )
        return [Found.of(node) for node in await get(node_ids=None, filters=filters)]

    return read


#: The known reads by metadata, by package and class of the store, of which the most specific is used.
WAYS: Mapping[str, Callable[[Any], ByMetadata | None]] = {
    "langchain_chroma.Chroma": _chroma,
    "langchain_community.FAISS": _in_memory(lambda store: store.index_to_docstore_id.values()),
    "langchain_core.InMemoryVectorStore": _in_memory(lambda store: store.store),
    "langchain_postgres.PGVector": _postgres,
    "llama_index.BasePydanticVectorStore": _llama_index,
}

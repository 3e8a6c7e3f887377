"""Rows of a `KinStore` in a key-value store of either framework."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from kinsplit.identity import chunk_id
from kinsplit.integrations.shared.kin.reader import Method, Place
from kinsplit.integrations.shared.kin.rows import Entry, Row, stale

# Collection of a `KVStore`, and prefixes of keys, which a store of files uses as names.
_COLLECTION = "kin"
_CHUNK, _SOURCE = "kin_chunk_", "kin_source_"


class KeyValues(Protocol):
    """Objects of JSON by key."""

    async def get(self, keys: Sequence[str]) -> list[Any]:
        """Return the value of each key; None without one."""
        ...

    async def put(self, values: Mapping[str, Any]) -> None:
        """Add or replace values."""
        ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete keys; unknown ones are ignored."""
        ...


class _ByteStore:
    """A LangChain `ByteStore`."""

    def __init__(self, store: Any) -> None:
        self._get = Method.of(store, "mget", "amget")
        self._set = Method.of(store, "mset", "amset")
        self._delete = Method.of(store, "mdelete", "amdelete")

    async def get(self, keys: Sequence[str]) -> list[Any]:
        return [None if value is None else json.loads(value) for value in await self._get(list(keys))]

    async def put(self, values: Mapping[str, Any]) -> None:
        await self._set([(key, json.dumps(value).encode()) for key, value in values.items()])

    async def delete(self, keys: Sequence[str]) -> None:
        await self._delete(list(keys))


class _KVStore:
    """A LlamaIndex `KVStore`, which has no call for several keys."""

    def __init__(self, store: Any) -> None:
        self._get = Method.of(store, "get", "aget")
        self._put = Method.of(store, "put_all", "aput_all")
        self._delete = Method.of(store, "delete", "adelete")

    async def get(self, keys: Sequence[str]) -> list[Any]:
        return [await self._get(key, collection=_COLLECTION) for key in keys]

    async def put(self, values: Mapping[str, Any]) -> None:
        await self._put(list(values.items()), collection=_COLLECTION)

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            await self._delete(key, collection=_COLLECTION)


def key_values(store: Any) -> KeyValues | None:
    """Return a key-value store of either framework, or None for anything else."""
    if hasattr(store, "mset"):
        return _ByteStore(store)
    return _KVStore(store) if hasattr(store, "put_all") else None


class KeyValueRows:
    """Rows in a key-value store, with one more value per document that lists them.

    Writes of one process wait for each other. Several processes must not write the same document at once.

    Args:
        values: The store.
    """

    def __init__(self, values: KeyValues) -> None:
        self._values = values
        lock = threading.Lock()
        self._acquire, self._release = Method(lock.acquire, _polled(lock)), lock.release

    async def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows; see `kinsplit.integrations.shared.kin.sidecar.Rows`."""
        sources = list({row.place.source_id for row in rows})
        async with self._alone():
            entries = await self._entries(sources)
            gone = set(stale(entries, rows))
            kept = {entry.id: entry for entry in entries if entry.id not in gone}
            kept.update((row.id, Entry(row.id, row.place)) for row in rows)
            written: dict[str, Any] = {_CHUNK + row.id: json.loads(row.written()) for row in rows}
            for source_id in sources:
                places = [(e.id, *e.place[1:]) for e in kept.values() if e.place.source_id == source_id]
                written[_source_key(source_id)] = {"source_id": source_id, "chunks": places}
            await self._values.put(written)
            await self._values.delete([_CHUNK + id_ for id_ in gone])

    async def get(self, ids: Sequence[str], places: Sequence[Place]) -> list[Row]:
        """Return rows by id and place."""
        wanted = set(places)
        entries = await self._entries(list({place.source_id for place in places}))
        return await self._read([*ids, *(entry.id for entry in entries if entry.place in wanted)])

    async def level(self, source_ids: Sequence[str], level: int) -> list[Row]:
        """Return the rows of a level of some documents."""
        return await self._read([entry.id for entry in await self._entries(source_ids) if entry.place.level == level])

    async def delete(self, source_ids: Sequence[str]) -> int:
        """Delete the rows of documents and return their number."""
        async with self._alone():
            entries = await self._entries(source_ids)
            known = {entry.place.source_id for entry in entries}
            await self._values.delete([*map(_source_key, known), *(_CHUNK + entry.id for entry in entries)])
        return len(entries)

    def close(self) -> None:
        """Do nothing: whose store it is closes it."""

    async def _entries(self, source_ids: Sequence[str]) -> list[Entry]:
        listed = await self._values.get([_source_key(source_id) for source_id in source_ids]) if source_ids else []
        return [
            Entry(id_, Place(value["source_id"], level, position))
            for value in listed
            if value is not None
            for id_, level, position in value["chunks"]
        ]

    async def _read(self, ids: Sequence[str]) -> list[Row]:
        keys = [_CHUNK + id_ for id_ in dict.fromkeys(ids)]
        return [Row.read(value) for value in await self._values.get(keys) if value is not None] if keys else []

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        await self._acquire()
        try:
            yield
        finally:
            self._release()


def _polled(lock: threading.Lock) -> Any:
    """Return a coroutine function that acquires a lock; waiting in one of the loop's threads could use up all."""

    async def acquire() -> None:
        while not lock.acquire(blocking=False):
            await asyncio.sleep(0.005)

    return acquire


def _source_key(source_id: str) -> str:
    return _SOURCE + chunk_id(source_id, "", 0, 0)

"""Reader of Qdrant collections, of kinsplit and of either framework."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kinsplit.chunk import ABOVE, Chunk
from kinsplit.integrations.shared.kin.reader import FoundNode, KinReader, Method, SiblingPlace
from kinsplit.integrations.shared.records import stored_id
from kinsplit.stores.engines.qdrant.payload import unwrapped

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient, models

# Prefix under which kinsplit's stores keep the metadata of parents.
_ABOVE = f"{ABOVE}."


class Keys(NamedTuple):
    """Keys of a payload."""

    texts: tuple[str, ...] = ("page_content", "full_content", "content_preview")
    metadata: str = "metadata"  # LangChain's; they may be at top level too.

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Prefixes of the metadata's keys."""
        return ("", f"{self.metadata}.")


class QdrantReader(KinReader):
    """Fetches kinsplit's chunks through a Qdrant client, without their vectors.

    Chunks are fetched by id if the strategy is known and they have kinsplit's ids; this needs no payload index.
    Otherwise they are fetched by source and index, for which a server needs payload indexes on `source_id` and
    `chunk_index`, or on `metadata.source_id` and `metadata.chunk_index` in LangChain's collections. Without an
    asynchronous client, event loops call the other one in threads.
    """

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        fingerprint: str | None = None,
        keys: Keys = Keys(),  # noqa: B008 - an immutable value
        async_client: AsyncQdrantClient | None = None,
    ) -> None:
        super().__init__(fingerprint)
        self._collection, self._keys = collection, keys
        self._lock = threading.Lock()  # The client's local mode is not thread-safe.
        self._retrieve, self._scroll = (self._method(client, async_client, name) for name in ("retrieve", "scroll"))

    def _method(self, client: QdrantClient, async_client: AsyncQdrantClient | None, name: str) -> Method:
        def blocking(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                return getattr(client, name)(*args, **kwargs)

        return Method(blocking, getattr(async_client, name, None))

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        records = self._retrieve(
            self._collection, [stored_id(id_) for id_ in ids], with_payload=True, with_vectors=False
        )
        return self._chunks(records)

    def find(self, places: Sequence[SiblingPlace], ids: Sequence[str] = ()) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        from qdrant_client import models

        prefixes = (*self._keys.prefixes, _ABOVE)
        wanted: list[Any] = [_within(prefix, run) for run in _runs(places) for prefix in prefixes]
        if ids:
            wanted.append(models.HasIdCondition(has_id=[stored_id(id_) for id_ in ids]))
        # There are further pages if chunks were written twice, under different ids.
        return self._chunks(self._pages(models.Filter(should=wanted), len(places) + len(ids)) if wanted else [])

    def level(self, source_ids: Sequence[str], level: int) -> list[Chunk]:
        """Return the chunks of a level; see `KinReader.level`."""
        from qdrant_client import models

        wanted: list[Any] = [
            models.Filter(must=[_among(f"{prefix}source_id", source_ids), _equal(f"{prefix}level", level)])
            for prefix in (*self._keys.prefixes, _ABOVE)
        ]
        return self._chunks(self._pages(models.Filter(should=wanted)))

    def whole_documents(self, paths: Sequence[str]) -> list[FoundNode]:
        """Return documents that were embedded whole or have a single chunk; see `KinReader.whole_documents`."""
        from qdrant_client import models

        if not paths:
            return []
        wanted = [_among(f"{prefix}file_path", paths) for prefix in self._keys.prefixes]
        chunked = [_equal(f"{prefix}is_chunked", True) for prefix in self._keys.prefixes]
        records = self._pages(models.Filter(should=wanted, must_not=chunked))
        return [self._found(record) for record in records]

    def _pages(self, wanted: models.Filter, limit: int = 256) -> list[models.Record]:
        """Return all matching records."""
        records: list[models.Record] = []
        offset = None
        while True:
            reading = {"limit": limit, "offset": offset, "with_payload": True, "with_vectors": False}
            page, offset = self._scroll(self._collection, scroll_filter=wanted, **reading)
            records += page
            if offset is None:
                return records

    def _chunks(self, records: Sequence[models.Record]) -> list[Chunk]:
        return [found.to_chunk() for found in map(self._found, records) if found.is_located]

    def _found(self, record: models.Record) -> FoundNode:
        return FoundNode(str(record.id), *self._content(unwrapped(record.payload)))

    def _content(self, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the text and the metadata of a payload."""
        if "_node_content" in payload:
            node = json.loads(payload["_node_content"])
            text = node.get("text") or (node.get("text_resource") or {}).get("text") or ""
            return text, node.get("metadata") or {}
        text = next((payload[key] for key in self._keys.texts if key in payload), "")
        return text, payload.get(self._keys.metadata) or payload


def _runs(places: Sequence[SiblingPlace]) -> Iterator[tuple[SiblingPlace, int]]:
    """Yield the first place of each run of consecutive siblings, with the last index of the run."""
    ordered = enumerate(sorted(set(places)))
    for _, group in groupby(ordered, key=lambda pair: (pair[1].source_id, pair[1].level, pair[1].position - pair[0])):
        run = [place for _, place in group]
        yield run[0], run[-1].position


def _equal(key: str, value: str | int | bool) -> Any:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _among(key: str, values: Sequence[str]) -> Any:
    from qdrant_client import models

    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def _within(prefix: str, run: tuple[SiblingPlace, int]) -> models.Filter:
    from qdrant_client import models

    first, last = run
    position = models.FieldCondition(key=f"{prefix}chunk_index", range=models.Range(gte=first.position, lte=last))
    place = [_equal(f"{prefix}source_id", first.source_id), _equal(f"{prefix}level", first.level), position]
    return models.Filter(must=place)

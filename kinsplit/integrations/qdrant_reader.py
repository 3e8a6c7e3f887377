"""Kin from a Qdrant collection that LlamaIndex's, LangChain's or kinsplit's store has written."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kinsplit.chunk import Chunk
from kinsplit.integrations.origins import is_located
from kinsplit.integrations.records import Item, to_chunk
from kinsplit.integrations.siblings import Found, Place
from kinsplit.stores.payload import ABOVE
from kinsplit.stores.qdrant_payload import unwrapped

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

# Where the frameworks' stores and kinsplit's keep metadata: at top level, and LangChain's under a key.
_PREFIXES = ("", "metadata.")
# And where kinsplit's keep those of parents.
_ABOVE = f"{ABOVE}."
# Where the text is: LangChain's, kinsplit's, and of documents that were embedded whole often no more than the last.
_TEXTS = ("page_content", "full_content", "content_preview")


class QdrantReader:
    """Fetches kinsplit's chunks through a Qdrant client, never with their vectors.

    By id where the strategy is known and the ids are those that kinsplit gave, which needs no payload index; otherwise
    by place, for which a server wants payload indexes on `source_id` and `chunk_index`, or on `metadata.source_id` and
    `metadata.chunk_index` in a collection of LangChain's.

    Args:
        client: The client.
        collection: Name of the collection.
        fingerprint: Of the strategy that made the chunks.
    """

    def __init__(self, client: QdrantClient, collection: str, fingerprint: str | None = None) -> None:
        self._client, self._collection = client, collection
        self.fingerprint = fingerprint
        self._lock = threading.Lock()  # The client's local mode suits one thread at a time.

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by id; see `KinReader.get`."""
        with self._lock:
            records = self._client.retrieve(self._collection, list(ids), with_payload=True, with_vectors=False)
        return list(_chunks(records))

    def find(self, places: Sequence[Place], ids: Sequence[str]) -> list[Chunk]:
        """Return chunks by place and id; see `KinReader.find`."""
        from qdrant_client import models

        wanted: list[Any] = [_within(prefix, run) for run in _runs(places) for prefix in (*_PREFIXES, _ABOVE)]
        if ids:
            wanted.append(models.HasIdCondition(has_id=list(ids)))
        records: list[models.Record] = []
        offset = None
        while wanted:
            with self._lock:
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=models.Filter(should=wanted),
                    limit=len(places) + len(ids),
                    offset=offset,
                    with_payload=True,
                    with_vectors=False,
                )
            records += page
            if offset is None:  # Further pages hold chunks that were written twice, under different ids.
                break
        return list(_chunks(records))

    def whole(self, paths: Sequence[str]) -> list[Found]:
        """Return documents that were embedded whole, or are a single chunk; see `KinReader.whole`."""
        from qdrant_client import models

        records: list[models.Record] = []
        offset = None
        wanted = [
            models.FieldCondition(key=f"{prefix}file_path", match=models.MatchAny(any=list(paths)))
            for prefix in _PREFIXES
        ]
        chunked = [
            models.FieldCondition(key=f"{prefix}is_chunked", match=models.MatchValue(value=True))
            for prefix in _PREFIXES
        ]
        while paths:
            with self._lock:
                page, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=models.Filter(should=list(wanted), must_not=list(chunked)),
                    offset=offset,
                    with_payload=True,
                    with_vectors=False,
                )
            records += page
            if offset is None:
                break
        contents = ((str(record.id), *_content(record.payload or {})) for record in records)
        return [Found(id_, text, metadata, None) for id_, text, metadata in contents]


def _runs(places: Sequence[Place]) -> Iterator[tuple[Place, int]]:
    """Yield the first place of each unbroken run of siblings with the last index."""
    ordered = enumerate(sorted(set(places)))
    for _, group in groupby(ordered, key=lambda pair: (pair[1].source_id, pair[1].level, pair[1].position - pair[0])):
        run = [place for _, place in group]
        yield run[0], run[-1].position


def _within(prefix: str, run: tuple[Place, int]) -> models.Filter:
    from qdrant_client import models

    first, last = run
    return models.Filter(
        must=[
            models.FieldCondition(key=f"{prefix}source_id", match=models.MatchValue(value=first.source_id)),
            models.FieldCondition(key=f"{prefix}level", match=models.MatchValue(value=first.level)),
            models.FieldCondition(key=f"{prefix}chunk_index", range=models.Range(gte=first.position, lte=last)),
        ]
    )


def _chunks(records: Sequence[models.Record]) -> Iterator[Chunk]:
    for record in records:
        text, metadata = _content(record.payload or {})
        if is_located(metadata, text):
            yield to_chunk(Item(str(record.id), text, metadata, metadata["source_id"]))


def _content(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text and the metadata of a payload."""
    payload = unwrapped(payload)
    if "_node_content" in payload:
        node = json.loads(payload["_node_content"])
        return node.get("text") or (node.get("text_resource") or {}).get("text") or "", node.get("metadata") or {}
    text = next((payload[key] for key in _TEXTS if key in payload), "")
    return text, payload.get("metadata") or payload

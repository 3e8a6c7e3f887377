"""Rows of a `KinStore`: chunks with their places."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from kinsplit.integrations.shared.kin.reader import Found, Place
from kinsplit.integrations.shared.records import stored_id


class Row(NamedTuple):
    """A chunk with its place.

    Attributes:
        id: Its id, as a UUID.
        place: Its place.
        found: The chunk.
    """

    id: str
    place: Place
    found: Found

    @classmethod
    def of(cls, found: Found) -> Self:
        """Return the row of a chunk."""
        metadata = found.metadata
        place = Place(metadata["source_id"], metadata["level"], metadata["chunk_index"])
        return cls(stored_id(found.id), place, found)

    def written(self) -> str:
        """Return the chunk as JSON."""
        found = self.found
        return json.dumps({"id": found.id, "text": found.text, "metadata": found.metadata})

    @classmethod
    def read(cls, written: str | bytes | dict[str, Any]) -> Self:
        """Return the row of a chunk that was written as JSON."""
        value = written if isinstance(written, dict) else json.loads(written)
        return cls.of(Found(value["id"], value["text"], value["metadata"]))


class Entry(NamedTuple):
    """The id of a stored row, and its place."""

    id: str
    place: Place


def stale(entries: Iterable[Entry], rows: Sequence[Row]) -> list[str]:
    """Return the ids of stored rows that new ones make obsolete.

    Those are other rows at the place of a new one, and rows past the end of a level that has become shorter.

    Args:
        entries: Stored rows.
        rows: New rows.
    """
    ids, places = {row.id for row in rows}, {row.place for row in rows}
    totals: defaultdict[tuple[str, int], int] = defaultdict(int)
    for row in rows:
        level = row.place[:2]
        totals[level] = max(totals[level], row.found.metadata["total_chunks"])
    return [
        id_
        for id_, place in entries
        if id_ not in ids and (place in places or place.position >= totals.get(place[:2], place.position + 1))
    ]

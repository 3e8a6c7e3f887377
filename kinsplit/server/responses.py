"""Chunks and passages -> what the service answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinsplit.chunk import FIELDS, Chunk, select
from kinsplit.errors import InvalidParameterError
from kinsplit.indexing.sources import ABSOLUTE_PATH
from kinsplit.retrieval import Candidate, Passage
from kinsplit.server.models.base import ChunkText, Place
from kinsplit.server.models.search import FoundChunk, FoundPassage, Related
from kinsplit.server.offsets import Places
from kinsplit.stores.payload import GAP

# Fields of a chunk that a `Place` shows.
_FIELDS = [field.shown for field in FIELDS if field.shown is not None and field.shown in Place.model_fields]


def is_hidden(key: str) -> bool:
    """Return whether a metadata key is about the machine that indexed, or kept for a framework."""
    return key in (ABSOLUTE_PATH, GAP) or key.startswith("_")


def metadata_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata without what is hidden."""
    return {key: value for key, value in metadata.items() if not is_hidden(key)}


def place_of(chunk: Chunk, places: Places) -> Place:
    """Return where a chunk stands.

    Args:
        chunk: The chunk.
        places: Of the text that the answer shows.
    """
    return Place(**_place(chunk, places))


def chunk_of(chunk: Chunk, places: Places) -> ChunkText:
    """Return a chunk with its text; see `place_of`."""
    return ChunkText(**_place(chunk, places), text=chunk.text, metadata=metadata_of(chunk.metadata))


def passage_of(rank: int, passage: Passage) -> FoundPassage:
    """Return a passage.

    Args:
        rank: From 1.
        passage: The passage.
    """
    places = Places(passage.spans, passage.text)
    return FoundPassage(
        rank=rank,
        score=passage.score,
        scores=dict(passage.scores),
        source_id=passage.source_id,
        start=passage.start,
        end=passage.end,
        spans=[tuple(span) for span in passage.spans],
        pages=passage.pages,
        context=passage.context,
        text=passage.text,
        hits=[_hit(hit, places) for hit in passage.hits],
        chunks=[chunk.id for chunk in passage.chunks],
        related=[Related(source_id=chunk.source_id, text=chunk.text) for chunk in passage.related],
        metadata=metadata_of(passage.metadata),
    )


def check_shown(where: object) -> None:
    """Make sure that a filter asks for nothing that is hidden.

    Raises:
        InvalidParameterError: It does.
    """
    if isinstance(where, Mapping):
        for key, value in where.items():
            if isinstance(key, str) and is_hidden(key):
                raise InvalidParameterError("where", "can't filter by this key", key, "Take another key.")
            check_shown(value)
    elif isinstance(where, list):
        for each in where:
            check_shown(each)


def _hit(hit: Candidate, places: Places) -> FoundChunk:
    return FoundChunk(**_place(hit.chunk, places), score=hit.score, scores=dict(hit.scores))


def _place(chunk: Chunk, places: Places) -> dict[str, Any]:
    first, last = chunk.metadata.get("page_start"), chunk.metadata.get("page_end")
    return {
        **select(chunk, _FIELDS),
        "ranges": places.find(chunk.spans),
        "pages": None if first is None or last is None else (first, last),
    }

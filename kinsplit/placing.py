"""Chunks of a document -> chunks that know their kin, and what the payload says of their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kinsplit.chunk import Chunk, Document, blank_before
from kinsplit.kin import with_kin
from kinsplit.parsers import Strategy
from kinsplit.stores.payload import GAP
from kinsplit.surroundings import Context, in_surroundings


def placed(document: Document, split: Sequence[Chunk], strategy: Strategy, context: Context) -> list[Chunk]:
    """Return the chunks of a document, of all levels, as they are stored.

    Args:
        document: The document.
        split: What the strategy made of it.
        strategy: The strategy.
        context: What is embedded of a leaf beside its text.
    """
    chunks = with_kin(document, split, strategy.fingerprint)
    if context == "late":
        chunks = in_surroundings(document, chunks)
    gathered = any(len(chunk.spans) > 1 for chunk in chunks)
    return [
        replace(
            chunk, metadata={**chunk.metadata, "strategy": strategy.name, **_place(document, chunk, before, gathered)}
        )
        for chunk, before in _with_previous(chunks)
    ]


def _place(document: Document, chunk: Chunk, previous: Chunk | None, gathered: bool) -> dict[str, Any]:
    place: dict[str, Any] = {}
    if pages := document.page_range(chunk.start, chunk.end):
        place["page_start"], place["page_end"] = pages
    if times := document.time_range(chunk.start, chunk.end):
        place["time_start"], place["time_end"] = times
    if gathered:  # What lies between siblings may belong to others.
        place[GAP] = blank_before(document.text, chunk.start)
    elif previous is not None and previous.end < chunk.start:
        place[GAP] = document.text[previous.end : chunk.start]
    return place


def _with_previous(chunks: Sequence[Chunk]) -> Iterator[tuple[Chunk, Chunk | None]]:
    previous: Chunk | None = None
    for chunk in chunks:
        yield chunk, previous if previous is not None and previous.level == chunk.level else None
        previous = chunk

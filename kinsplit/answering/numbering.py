"""Passages -> numbered sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from kinsplit.answering.values import Source
from kinsplit.retrieval import Passage


def number(passages: Iterable[Passage]) -> list[Source]:
    """Return passages as sources with numbers from 1, each followed by the whole files that belong beside it."""
    numbers = count(1)
    return [source for passage in passages for source in _sources(passage, numbers)]


def _sources(passage: Passage, numbers: Iterator[int]) -> Iterator[Source]:
    yield Source(
        next(numbers),
        passage.best.chunk,
        passage.chunks,
        passage.spans,
        passage.text,
        passage.pages,
        passage.score,
        str(passage.metadata.get("file_path", passage.source_id)),
    )
    for chunk in passage.related:
        file = str(chunk.metadata.get("file_path", chunk.source_id))
        yield Source(next(numbers), chunk, (chunk,), chunk.spans, chunk.text, None, passage.score, file)

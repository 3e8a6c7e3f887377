"""Batches of items that are of about the same size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# Items that are put together, however small they are.
_MOST_TOGETHER = 1000


def by_size(items: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in batches that are at least this large together, or of 1,000 that are smaller."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if total >= most or len(batch) == _MOST_TOGETHER:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch

"""Limits of a Qdrant collection, which its strict mode states, and patience with a server that asks for a pause."""

from __future__ import annotations

import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

from qdrant_client import models

from kinsplit.errors import KinsplitWarning, StoreError
from kinsplit.stores.engines.qdrant.errors import is_passing, words_of
from kinsplit.stores.store import batches

T = TypeVar("T")
R = TypeVar("R")

#: Points per read, and sources requested at first; searches per request; operations per write.
PAGE, _SEARCHES, _OPERATIONS = 10_000, 1000, 500
#: Values of one condition.
_VALUES = 10_000
#: Seconds that a request waits in all for the server's rate limit before it fails, and after which a warning says so.
PATIENCE, _SILENCE = 300, 5
#: Seconds before a write that failed is sent again; what it has written already is written once more.
_PAUSES = (1, 2, 4)
_RETRY = re.compile(r"Retry after (\d+)s")
_TOO_LARGE = "larger than rate limiter capacity"


class RateWarning(KinsplitWarning):
    """A server's rate limit is waited for."""


@dataclass(frozen=True, slots=True)
class CollectionLimits:
    """Limits of a single request.

    Attributes:
        page: Number of points that it reads.
        ids: Number of points that it reads by their ids, each of which counts as a read.
        searches: Number of searches.
        operations: Number of points, or of other operations, that it writes.
        values: Number of values in one condition of a filter.
        exact: Whether exact counts are allowed.
        indexed: Whether filters need an index of each key.
        indexes: Number of payload indexes that the collection may have; None for any.
    """

    page: int = PAGE
    ids: int = PAGE
    searches: int = _SEARCHES
    operations: int = _OPERATIONS
    values: int = _VALUES
    exact: bool = True
    indexed: bool = False
    indexes: int | None = None

    @classmethod
    def of(cls, info: models.CollectionInfo | None) -> Self:
        """Return the limits of a collection; those of the client's local mode are kinsplit's own."""
        strict = info and info.config.strict_mode_config
        if not strict or not strict.enabled:
            return cls()
        page, reads = strict.max_query_limit or PAGE, strict.read_rate_limit or PAGE
        return cls(
            min(PAGE, page),
            min(PAGE, reads),
            min(_SEARCHES, strict.search_max_batchsize or _SEARCHES, reads),
            min(_OPERATIONS, strict.write_rate_limit or _OPERATIONS, strict.upsert_max_batchsize or _OPERATIONS),
            min(_VALUES, strict.condition_max_size or _VALUES),
            strict.search_allow_exact is not False,
            False in (strict.unindexed_filtering_retrieve, strict.unindexed_filtering_update),
            strict.max_payload_index_count,
        )


def in_turn(
    name: str, items: Iterable[T], size: int, send: Callable[[list[T]], R], *, is_write: bool = False
) -> Iterator[R]:
    """Send items in batches, one after the other, and yield the answers.

    If the server's rate limit is exceeded, a batch is sent in halves, after the time that the server asks for. A write
    that fails for a passing reason is sent up to three times more.

    Args:
        name: Name of the collection, for errors.
        items: The items, each of which can be sent twice.
        size: Largest number of items that are sent together.
        send: Function that sends a batch.
        is_write: Whether it writes.

    Raises:
        StoreError: The rate limit was waited for in vain, for five minutes.
    """
    for whole in batches(items, size):
        left, waited, pauses = deque([whole]), 0, iter(_PAUSES if is_write else ())
        while left:
            batch = left.popleft()
            try:
                answer = send(batch)
            except Exception as error:
                seconds = _wait_of(error)
                if seconds is None:
                    pause = next(pauses, None) if is_passing(error) else None
                    if pause is None:
                        raise
                    left.appendleft(batch)
                    time.sleep(pause)
                    continue
                if waited + seconds > PATIENCE or (len(batch) == 1 and not seconds):
                    raise StoreError(_in_vain(name, error, waited)) from error
                if waited <= _SILENCE < waited + seconds:
                    message = f"{name}: waiting for the rate limit of the server, up to {PATIENCE} seconds"
                    warnings.warn(RateWarning(message), stacklevel=2)
                middle = (len(batch) + 1) // 2
                left.extendleft(half for half in (batch[middle:], batch[:middle]) if half)
                time.sleep(seconds)
                waited += seconds
            else:
                waited = 0
                yield answer


def once(name: str, send: Callable[[], R], *, is_write: bool = False) -> R:
    """Send one request and return the answer; see `in_turn`."""
    (answer,) = in_turn(name, [None], 1, lambda _: send(), is_write=is_write)
    return answer


def _wait_of(error: Exception) -> int | None:
    """Return the seconds that the server asks to wait, 0 for a request that it never allows, or None."""
    words = words_of(error)
    found = _RETRY.search(words)
    return int(found[1]) if found else 0 if _TOO_LARGE in words else None


def _in_vain(name: str, error: Exception, waited: int) -> str:
    remedy = "Repeat the command later, or raise read_rate_limit and write_rate_limit in its strict mode"
    return (
        f"{name}: the rate limit of the collection leaves no room after {waited} seconds: {words_of(error)}. {remedy}."
    )

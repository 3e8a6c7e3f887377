"""Rate limits, by one token bucket per client."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from kinsplit.errors import InvalidParameterError

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_RATE = re.compile(r"(\d{1,9})\s*/\s*(second|minute|hour|day)")
#: Maximum number of buckets; the least recently used one is dropped.
_MOST = 100_000


class Rate(NamedTuple):
    """A number of requests per period."""

    requests: int
    seconds: int

    @classmethod
    def parse(cls, text: object) -> Rate:
        """Parse a rate such as "120/minute", or raise InvalidParameterError if the text is not a rate."""
        if isinstance(text, Rate):
            return text
        found = _RATE.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or not int(found[1]):
            rule = f"must be a number of requests per {', '.join(_SECONDS)}"
            raise InvalidParameterError("rate_limit", rule, text, 'For example: "120/minute".')
        return cls(int(found[1]), _SECONDS[found[2]])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse)


class TokenBuckets:
    """One bucket per client. For use in one event loop: nothing awaits, so no call interrupts another."""

    def __init__(self, rate: Rate, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._now = rate, now
        # Tokens, and the time of that count.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """Take a token from a client's bucket; return 0, or the seconds until the next token."""
        now, (most, seconds) = self._now(), self._rate
        tokens, then = self._buckets.get(client, (float(most), now))
        tokens = min(float(most), tokens + (now - then) * most / seconds)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * seconds / most
        self._buckets[client] = (tokens if wait else tokens - 1, now)
        self._buckets.move_to_end(client)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return wait

"""How often somebody may ask: a bucket of tokens each, which fills up evenly."""

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
#: Most buckets that are kept; the one that was not used for longest goes first.
_MOST = 100_000


class Rate(NamedTuple):
    """A number of requests in a time.

    Attributes:
        requests: So many at once.
        seconds: So long until as many more may come.
    """

    requests: int
    seconds: int

    @classmethod
    def parse(cls, text: object) -> Rate:
        """Read a rate such as "120/minute".

        Raises:
            InvalidParameterError: It is none.
        """
        if isinstance(text, Rate):
            return text
        found = _RATE.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or not int(found[1]):
            rule = f"must be a number of requests per {', '.join(_SECONDS)}"
            raise InvalidParameterError("rate_limit", rule, text, 'Write for example "120/minute".')
        return cls(int(found[1]), _SECONDS[found[2]])

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls.parse)


class TokenBuckets:
    """A bucket for each that asks. For one event loop; nothing is awaited, so nothing comes between.

    Args:
        rate: How many tokens a bucket holds, and how long it takes to fill.
        now: The time in seconds.
    """

    def __init__(self, rate: Rate, now: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._now = rate, now
        # Tokens, and when there were so many.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Take a token out of somebody's bucket.

        Returns:
            0, or the seconds until there is one.
        """
        now, (most, seconds) = self._now(), self._rate
        tokens, then = self._buckets.get(who, (float(most), now))
        tokens = min(float(most), tokens + (now - then) * most / seconds)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * seconds / most
        self._buckets[who] = (tokens if wait else tokens - 1, now)
        self._buckets.move_to_end(who)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return wait

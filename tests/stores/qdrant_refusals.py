"""What a real Qdrant server refuses, in its words: strict mode, rights of keys, rates, sizes, and nodes that are down.

The words and headers are those that Qdrant 1.18.3 answered with; see `recordings/qdrant_refused.jsonl`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

Role = Literal["manage", "write", "read"]

_FACET = (
    "Wrong input: No appropriate index for faceting: `{}`. Please create one to facet on this field. Check "
    "https://qdrant.tech/documentation/concepts/indexing/#payload-index to see which payload schemas support Match "
    "conditions"
)
_INDEX = (
    'Index required but not found for "{}" of one of the following types: [{}]. Help: Create an index for this key or '
    "use a different filter."
)
_MOST = (
    "Collection already has the maximum number of payload indices ({}). Help: Please delete an existing index before "
    "creating a new one."
)
_DOWN = (
    "Service internal error: Tonic status error: code: 'The service is currently unavailable', message: \"Failed to "
    'connect to http://127.0.0.1:6355/, error: transport error"'
)
_READS = ("/points", "/points/count", "/points/query/batch", "/points/scroll", "/facet", "/exists", "")
_POINT_WRITES = ("/points/batch", "/points/delete")


class RefusalError(Exception):
    """An answer of the server that refuses a request."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def _strict(problem: str) -> RefusalError:
    return RefusalError(400, f"Bad request: {problem}")


class Bucket:
    """Tokens of one kind of request, as many as a minute has, refilled steadily.

    Args:
        kind: "Read" or "Write".
        most: Number of tokens per minute.
        now: The clock.
    """

    def __init__(self, kind: str, most: int, now: Callable[[], float]) -> None:
        self._kind, self._most, self._now = kind, most, now
        self._tokens, self._checked = float(most), now()

    def take(self, cost: int) -> None:
        if cost > self._most:
            rule = "request larger than rate limiter capacity, please try to split your request"
            raise RefusalError(429, f"Rate limiting exceeded: {self._kind} rate limit exceeded, {rule}")
        now = self._now()
        self._tokens = min(self._most, self._tokens + (now - self._checked) * self._most / 60)
        self._checked = now
        if self._tokens < cost:
            wait = int(-(-(cost - self._tokens) * 60 // self._most))
            rule = f"Operation requires {cost} tokens but only {self._tokens:.1f} were available. Retry after {wait}s"
            message = f"Rate limiting exceeded: {self._kind} rate limit exceeded: {rule}"
            raise RefusalError(429, message, retry_after=str(wait))
        self._tokens -= cost


@dataclass
class Refusals:
    """Switches of what the server refuses.

    Attributes:
        strict: Strict mode of its collections, as in Qdrant's `strict_mode_config`; empty for none.
        role: Rights of the key.
        bound: Collections that the key may use, by their own names; None for all.
        most_bytes: Largest size of a request.
        is_down: Whether the node of the second replica is down, so that a write reaches the first one alone.
        failures: Refusals of the next writes of points, before anything else is looked at.
        now: The clock of the rates.
    """

    strict: dict[str, Any] = field(default_factory=dict)
    role: Role = "manage"
    bound: frozenset[str] | None = None
    most_bytes: int = 32 * 2**20
    is_down: bool = False
    failures: list[RefusalError] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def check(
        self, method: str, name: str, path: str, body: Any, indexes: dict[str, Any], size: int, known: frozenset[str]
    ) -> None:
        """Raise the error of a request that is refused.

        Args:
            method: HTTP method.
            name: Name of the collection in the path.
            path: Rest of the path.
            body: JSON of the request.
            indexes: Payload indexes of the collection by path.
            size: Bytes of the request.
            known: Own names of all collections.
        """
        if size > self.most_bytes:
            rule = f"JSON payload ({size} bytes) is larger than allowed (limit: {self.most_bytes} bytes)."
            raise RefusalError(413, rule)
        self._check_rights(method, name, path)
        if path in _POINT_WRITES and self.failures:
            raise self.failures.pop(0)
        if path == "/facet" and plain(body["key"]) not in indexes:
            raise RefusalError(400, _FACET.format(body["key"]))
        if self.strict.get("enabled") and name in known:
            self._check_limits(method, path, body or {}, indexes)
            self._check_rates(method, path, body or {})

    def after_write(self) -> None:
        """Raise the error of a write that only one of two replicas has carried out."""
        if self.is_down:
            raise RefusalError(500, _DOWN)

    def _check_rights(self, method: str, name: str, path: str) -> None:
        if self.bound is not None and name not in self.bound:
            raise RefusalError(403, f"Forbidden: Access to collection {name} is required")
        reads = method == "GET" or (method == "POST" and path in _READS)
        if not reads and (self.role == "read" or (self.role == "write" and path not in _POINT_WRITES)):
            raise RefusalError(403, "Forbidden: Global manage access is required")

    def _check_limits(self, method: str, path: str, body: dict[str, Any], indexes: dict[str, Any]) -> None:
        strict = self.strict
        if (method, path) == ("PUT", "/index"):
            most = strict.get("max_payload_index_count")
            if most is not None and len(indexes) >= most:
                raise _strict(_MOST.format(most))
            return
        searches = body.get("searches", [])
        _limit(len(searches), strict.get("search_max_batchsize"), "search batch size")
        for each in body.get("operations", []):
            _limit(len(each.get("upsert", {}).get("points", [])), strict.get("upsert_max_batchsize"), "upsert limit")
        for request in searches or [body]:
            _limit(request.get("limit"), strict.get("max_query_limit"), "limit")
            wanted = request.get("filter")
            if (
                wanted
                and strict.get(f"unindexed_filtering_{'update' if path in _POINT_WRITES else 'retrieve'}") is False
            ):
                _check_filter(wanted, indexes)
            for size in _value_counts(wanted or {}):
                most = strict.get("condition_max_size")
                if most is not None and size > most:
                    rule = f"Condition size limit reached ({size} > {most})"
                    raise _strict(f"{rule}. Help: Reduce the size of your condition.")
            params = request.get("params") or {}
            _limit(params.get("hnsw_ef"), strict.get("search_max_hnsw_ef"), "hnsw_ef")
        if body.get("exact") and strict.get("search_allow_exact") is False:
            raise _strict("Exact search disabled!. Help: Set exact=false.")

    def _check_rates(self, method: str, path: str, body: dict[str, Any]) -> None:
        if path in ("/points/batch", "/points/delete", "/index") and method != "GET":
            # Each operation of a batch takes a token, or each of its points, so the first ones may be carried out.
            points = (each.get("upsert", {}).get("points", [1]) for each in body.get("operations", [{}]))
            self._take("Write", [len(some) for some in points])
        elif method == "POST" and path in _READS:
            cost = len(body["searches"]) if "searches" in body else len(body.get("ids", [1]))
            self._take("Read", [cost])

    def _take(self, kind: str, costs: list[int]) -> None:
        most = self.strict.get(f"{kind.lower()}_rate_limit")
        if most is not None:
            if kind not in self._buckets:
                self._buckets[kind] = Bucket(kind, most, self.now)
            for cost in costs:
                self._buckets[kind].take(cost)


def _limit(value: int | None, most: int | None, name: str) -> None:
    if value is not None and most is not None and value > most:
        rule = f'Limit exceeded {value} > {most} for "{name}"'
        raise _strict(f'{rule}. Help: Reduce the "{name}" parameter to or below {most}.')


def plain(path: str) -> str:
    """Return a path as the server shows it: in quotation marks are only keys with other characters than these."""
    return re.sub(r'"([A-Za-z0-9_-]+)"', r"\1", path)


def _conditions(wanted: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in ("must", "must_not", "should"):
        found = wanted.get(group) or []
        for each in found if isinstance(found, list) else [found]:
            if each.keys() & {"must", "must_not", "should"}:
                yield from _conditions(each)
            else:
                yield each


def _value_counts(wanted: dict[str, Any]) -> Iterator[int]:
    for each in _conditions(wanted):
        yield len(each.get("has_id") or (each.get("match") or {}).get("any") or ())


def _needed(condition: dict[str, Any]) -> set[str] | None:
    """Return the types of indexes of which a condition needs one; None if any type does."""
    if "range" in condition:
        is_number = all(isinstance(bound, int | float) for bound in condition["range"].values() if bound is not None)
        return {"float", "integer"} if is_number else {"datetime"}
    match = condition["match"]
    values = match["any"] if "any" in match else [match["value"]]
    if any(isinstance(value, bool) for value in values):
        return {"bool"}
    if any(isinstance(value, int) for value in values):
        return {"integer"}
    return {"keyword", "uuid"} if values and all(map(_is_uuid, values)) else {"keyword"}


def _is_uuid(value: str) -> bool:
    try:
        return bool(UUID(value))
    except ValueError:
        return False


def _check_filter(wanted: dict[str, Any], indexes: dict[str, Any]) -> None:
    kinds = {path: index["data_type"] for path, index in indexes.items()}
    for each in _conditions(wanted):
        if "has_id" in each or (each.get("match") or {}).get("any") == []:
            continue
        key = each["is_empty"]["key"] if "is_empty" in each else each["key"]
        needed = None if "is_empty" in each else _needed(each)
        found = kinds.get(plain(key))
        if found is None or (needed is not None and found not in needed):
            raise _strict(_INDEX.format(plain(key), ", ".join(sorted(needed or {"keyword"}))))

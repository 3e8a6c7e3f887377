"""API keys, rate limits by one token bucket per client, and security headers."""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinsplit.server.errors import RequestError, reject
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.settings import Rate, ServiceSettings

#: Maximum number of buckets; the least recently used one is dropped.
_MOST = 100_000


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


class AccessControl:
    """ASGI middleware that checks the key and the rate of requests, apart from those to open paths.

    Their bodies are not read before, so that clients without a key can't occupy the service with them.
    """

    def __init__(
        self, app: ASGIApp, settings: ServiceSettings, metrics: Metrics, open_paths: re.Pattern[str] | None = None
    ) -> None:
        self._app, self._open_paths = app, open_paths
        self._keys = [key.get_secret_value().encode() for key in settings.api_keys]
        self._buckets = None if settings.rate_limit is None else TokenBuckets(settings.rate_limit)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject it with 401 or 429."""
        if scope["type"] == "http" and (self._open_paths is None or not self._open_paths.fullmatch(scope["path"])):
            try:
                self._check(_key_of(Headers(scope=scope)), scope["client"][0] if scope.get("client") else "")
            except RequestError as error:
                await reject(error, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, key: str | None, address: str) -> None:
        number = self._find(key)
        # Wrong keys are limited by address, so that a client can't guess many.
        client = f"address {network_of(address)}" if number is None else f"key {number}"
        wait = 0.0 if self._buckets is None else self._buckets.take(client)
        if wait:
            self._metrics.rejected.labels("rate").inc()
            seconds = str(math.ceil(wait))
            headers = {"Retry-After": seconds}
            raise RequestError(429, "exceeds the rate limit", f"Try again in {seconds} s.", headers=headers)
        if self._keys and number is None:
            self._metrics.rejected.labels("key").inc()
            remedy = "Send it as X-API-Key, or as Authorization: Bearer KEY."
            rule = "is required" if key is None else "is not a key of this service"
            raise RequestError(401, rule, remedy, field="X-API-Key", headers={"WWW-Authenticate": "Bearer"})

    def _find(self, key: str | None) -> int | None:
        """Return the number of a key, after comparing it with all keys in constant time."""
        if key is None:
            return None
        given = key.encode("utf-8", "replace")
        equal = [hmac.compare_digest(given, each) for each in self._keys]
        return equal.index(True) if any(equal) else None


def _key_of(headers: Headers) -> str | None:
    if key := headers.get("x-api-key"):
        return key
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else None


def network_of(address: str) -> str:
    """Return an IPv4 address itself, and for IPv6 its /64 network, which one client usually owns."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    # On a dual-stack socket all IPv4 addresses are in one IPv6 network.
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))


_HEADERS = {
    # Responses are data: a browser that shows one runs and loads nothing. The page has its own policy.
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class SecurityHeaders:
    """ASGI middleware that adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and add the headers to its response."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                # Responses quote private documents: caches must not keep them.
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)

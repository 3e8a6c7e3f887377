"""API keys and rate limits."""

from __future__ import annotations

import hmac
import ipaddress
import math
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.middleware.rate_limit import TokenBuckets
from kinsplit.server.settings import ServiceSettings

_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="API key, if the service has keys.")
_BEARER = HTTPBearer(auto_error=False, description="API key as a bearer token.")


class AccessControl:
    """Checks the key and the rate of requests.

    Args:
        settings: Settings with the keys and the rate limit.
        metrics: Metrics that count rejected requests.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self._keys = [key.get_secret_value().encode() for key in settings.api_keys]
        self._buckets = None if settings.rate_limit is None else TokenBuckets(settings.rate_limit)
        self._metrics = metrics

    def check(self, key: str | None, address: str) -> None:
        """Admit a request, or reject it.

        Args:
            key: Key of the request.
            address: Address of the client.

        Raises:
            RequestError: The key is missing or wrong (401), or there are too many requests (429).
        """
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


async def check_access(
    request: Request,
    key: Annotated[str | None, Security(_KEY)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
) -> None:
    """Check a request; see `AccessControl.check`."""
    access: AccessControl = request.app.state.access
    given = key if key is not None else None if bearer is None else bearer.credentials
    access.check(given, "" if request.client is None else request.client.host)


#: Dependency of the protected routers.
REQUIRES_ACCESS = Depends(check_access)

"""Who may ask, and how often."""

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

_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="Where the service has keys.")
_BEARER = HTTPBearer(auto_error=False, description="The same keys.")


class Gate:
    """Lets requests in.

    Args:
        settings: The keys and the rate.
        metrics: Told of those that are turned away.
    """

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self._keys = [key.get_secret_value().encode() for key in settings.api_keys]
        self._buckets = None if settings.rate_limit is None else TokenBuckets(settings.rate_limit)
        self._metrics = metrics

    def enter(self, key: str | None, address: str) -> None:
        """Let a request in, or not.

        Args:
            key: What the request has for a key.
            address: Of the client.

        Raises:
            RequestError: No key, or a wrong one (401); too many requests (429).
        """
        number = self._number(key)
        # Wrong keys are counted by address too, so that nobody can try many.
        who = f"address {network_of(address)}" if number is None else f"key {number}"
        wait = 0.0 if self._buckets is None else self._buckets.take(who)
        if wait:
            self._metrics.rejected.labels("rate").inc()
            seconds = str(math.ceil(wait))
            raise RequestError(429, "came too often", f"Come back in {seconds} s.", headers={"Retry-After": seconds})
        if self._keys and number is None:
            self._metrics.rejected.labels("key").inc()
            remedy = "Send it as X-API-Key, or as Authorization: Bearer KEY."
            rule = "needs a key" if key is None else "is not a key of this service"
            raise RequestError(401, rule, remedy, field="X-API-Key", headers={"WWW-Authenticate": "Bearer"})

    def _number(self, key: str | None) -> int | None:
        """Return which key it is, comparing it with all in the same time."""
        if key is None:
            return None
        given = key.encode("utf-8", "replace")
        equal = [hmac.compare_digest(given, each) for each in self._keys]
        return equal.index(True) if any(equal) else None


def network_of(address: str) -> str:
    """Return an address, or of IPv6 the network that one client has whole."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    # On a socket for both, every IPv4 address lies in one network of IPv6.
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))


async def admitted(
    request: Request,
    key: Annotated[str | None, Security(_KEY)],
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
) -> None:
    """Let a request in; see `Gate.enter`."""
    gate: Gate = request.app.state.gate
    given = key if key is not None else None if bearer is None else bearer.credentials
    gate.enter(given, "" if request.client is None else request.client.host)


#: For the routers that not everybody may ask.
ADMITTED = Depends(admitted)

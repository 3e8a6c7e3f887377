"""Request ids, access log and metrics."""

from __future__ import annotations

import logging
import re
import time
import uuid
from http import HTTPMethod

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinsplit.server.errors import internal_error
from kinsplit.server.middleware.logs import REQUEST_ID, log_failure
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.support.telemetry import request_span

_LOG = logging.getLogger("kinsplit.server")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_UNMATCHED = "(none)"
#: nginx's status for a client that disconnected before the response.
_DISCONNECTED = 499


class RequestLog:
    """ASGI middleware that gives each request an id, logs and measures it, and handles unexpected errors.

    Logs and metrics contain the route's template, never the path, the question or a document.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log_text: bool) -> None:
        self._app, self._metrics, self._log_text = app, metrics, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "*"  # Clients can send any word.
        token, started, status = REQUEST_ID.set(request_id), time.perf_counter(), 0

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        self._metrics.in_flight.inc()
        try:
            with request_span(method, Headers(scope=scope)) as record:
                await self._app(scope, receive, with_id)
                record({"http.route": _route(scope), "http.response.status_code": status})
        except Exception as error:  # Clients never see its message.
            log_failure(error, log_text=self._log_text)
            if status:
                raise  # The response has started: the connection can only be closed.
            await internal_error().response()(scope, receive, with_id)
        finally:
            seconds = time.perf_counter() - started
            self._metrics.in_flight.dec()
            route, status = _route(scope), status or _DISCONNECTED
            self._metrics.seconds.labels(method, route, str(status)).observe(seconds)
            facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
            _LOG.info("request", extra={"facts": facts})
            REQUEST_ID.reset(token)


def _route(scope: Scope) -> str:
    """Return the template of the path, which contains no ids."""
    path: str = getattr(scope.get("route"), "path", _UNMATCHED)
    return path

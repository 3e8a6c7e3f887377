"""What is told of every request: an id, a line in the log, figures. The last resort for errors."""

from __future__ import annotations

import logging
import re
import time
import uuid
from http import HTTPMethod

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinsplit.server.errors import internal
from kinsplit.server.middleware.logs import REQUEST_ID, failure
from kinsplit.server.middleware.metrics import Metrics

_LOG = logging.getLogger("kinsplit.server")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_UNMATCHED = "(none)"
#: nginx's status where the client went away before there was an answer.
_LEFT = 499


class Observed:
    """Gives each request an id, counts it, and answers what nobody else did.

    Logs and figures name the route by its template: no path, question or document is in them.

    Args:
        app: What answers.
        metrics: The figures.
        log_text: Whether the log may have the messages of errors.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log_text: bool) -> None:
        self._app, self._metrics, self._log_text = app, metrics, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and tell of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        token, begun, status = REQUEST_ID.set(request_id), time.perf_counter(), 0

        async def with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, with_id)
        except Exception as error:  # Whatever it was, its text stays here.
            failure(error, log_text=self._log_text)
            if status:
                raise  # The answer had begun: only the connection can be closed.
            await internal().response()(scope, receive, with_id)
        finally:
            seconds = time.perf_counter() - begun
            self._metrics.in_flight.dec()
            route = getattr(scope.get("route"), "path", _UNMATCHED)
            method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "*"  # Any word can be one.
            status = status or _LEFT
            self._metrics.seconds.labels(method, route, str(status)).observe(seconds)
            facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
            _LOG.info("request", extra={"facts": facts})
            REQUEST_ID.reset(token)

"""Limits of request bodies, the check of the Host header, and cancellation when a client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinsplit.server import limits
from kinsplit.server.errors import RequestError, reject
from kinsplit.server.middleware.metrics import Metrics

#: Health probes call these by any address; their responses hold nothing that a foreign page could use.
_PROBES = frozenset({"/healthz", "/readyz"})


class BodyLimits:
    """ASGI middleware that rejects requests whose body is too large or too slow.

    The body is read before the application sees the request. The limits hold whatever Content-Length says.
    `kinsplit.server.run.PatientProtocol` limits request heads and responses. Sizes are in bytes, None for no uploads;
    the patience is in seconds. No hosts allow any.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_body: int,
        patience: float,
        hosts: tuple[str, ...],
        metrics: Metrics,
        max_upload: int | None = None,
    ) -> None:
        self._app, self._max_body, self._patience, self._metrics = app, max_body, patience, metrics
        self._max_upload, self._uploads = max_upload, 0
        self._hosts = frozenset(host.casefold() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        try:
            headers = Headers(scope=scope)
            if scope["path"] not in _PROBES:
                self._check_host(headers.get("host", ""))
            body = await self._body(scope, headers.get("content-length", ""), receive)
        except RequestError as error:
            await reject(error, scope, receive, send)
            return
        if body is not None:
            await _until_disconnect(self._app(scope, _replay(body, receive), send), receive)

    def _check_host(self, host: str) -> None:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._hosts and name.casefold() not in self._hosts:
            remedy = "Use one of the names in the setting allowed_hosts."
            raise RequestError(400, "is not a name of this service", remedy, field="Host", value=host)

    async def _body(self, scope: Scope, length: str, receive: Receive) -> bytes | None:
        """Return the body, or None if the client disconnected; only a few uploads at a time, as they are large."""
        if self._max_upload is None or (scope["method"], scope["path"]) != ("POST", "/documents"):
            return await self._read(length, receive, self._max_body, self._patience)
        if self._uploads >= limits.RECEIVED:
            self._metrics.rejected.labels("queue").inc()
            raise RequestError(503, "receives too many uploads", "Try again later.", headers={"Retry-After": "5"})
        self._uploads += 1
        try:
            return await self._read(length, receive, self._max_upload, limits.UPLOAD_SECONDS)
        finally:
            self._uploads -= 1

    async def _read(self, length: str, receive: Receive, most: int, patience: float) -> bytes | None:
        if length.isdecimal() and (len(length) > 18 or int(length) > most):
            raise self._too_large(most)
        parts, size = [], 0
        try:
            async with asyncio.timeout(patience):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise self._too_large(most)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            self._metrics.rejected.labels("slow").inc()
            raise RequestError(408, f"took longer than {patience:g} s", "Send the body faster.", field="body") from None

    def _too_large(self, most: int) -> RequestError:
        self._metrics.rejected.labels("body").inc()
        return RequestError(413, f"must be at most {most} bytes", "Send less.", field="body")


async def _until_disconnect(response: Awaitable[None], receive: Receive) -> None:
    """Await a response, but cancel it when the client disconnects, so that it no longer waits in a queue.

    Search as you type abandons a request with every pause.
    """
    task, disconnected = asyncio.current_task(), False

    async def watch() -> None:
        nonlocal disconnected
        message = await receive()
        if message["type"] == "http.disconnect" and task is not None:
            disconnected = True
            task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        await response
    except asyncio.CancelledError:
        if not disconnected or task is None or task.uncancel():
            raise  # Cancelled for another reason too.
    finally:
        watcher.cancel()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body already read, and then all further messages."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return read.pop() if read else await receive()

    return receive_again

"""Bodies that are too large or too slow, clients that go away, and names that are not the service's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kinsplit.server.errors import RequestError
from kinsplit.server.middleware.metrics import Metrics

#: What probes ask by the address of a machine or a container; no answer of them is worth a foreign page's while.
_PROBED = frozenset({"/healthz", "/readyz"})


class Traffic:
    """Ends requests that would hold memory or a connection for too long.

    A body is read whole before the application sees the request, at most so many bytes of it, whatever its head says of
    its length, and for so many seconds. `protocol` does the same for heads and answers.

    Args:
        app: What answers.
        max_body: Bytes of a body.
        patience: Seconds.
        hosts: Names under which the service may be asked; none for any.
        metrics: Told of what is turned away.
    """

    def __init__(self, app: ASGIApp, max_body: int, patience: float, hosts: tuple[str, ...], metrics: Metrics) -> None:
        self._app, self._max_body, self._patience, self._metrics = app, max_body, patience, metrics
        self._hosts = frozenset(host.casefold() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or turn away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        try:
            headers = Headers(scope=scope)
            if scope["path"] not in _PROBED:
                self._check_host(headers.get("host", ""))
            body = await self._read(headers.get("content-length", ""), receive)
        except RequestError as fault:
            response = fault.response()
            response.headers["Connection"] = "close"  # What is left of the body is not read.
            await response(scope, receive, send)
            return
        if body is not None:
            await _while_there(self._app(scope, _Replay(body, receive), send), receive)

    def _check_host(self, host: str) -> None:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._hosts and name.casefold() not in self._hosts:
            remedy = "Ask by a name of the service; allowed_hosts has them."
            raise RequestError(400, "is not a name of this service", remedy, field="Host", value=host)

    async def _read(self, length: str, receive: Receive) -> bytes | None:
        """Return the body, or None if the client went away."""
        if length.isdecimal() and (len(length) > 18 or int(length) > self._max_body):
            raise self._too_large()
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._max_body:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            self._metrics.rejected.labels("slow").inc()
            raise RequestError(408, f"took longer than {self._patience:g} s", "Send it faster.", field="body") from None

    def _too_large(self) -> RequestError:
        self._metrics.rejected.labels("body").inc()
        return RequestError(413, f"must be at most {self._max_body} bytes", "Send less at a time.", field="body")


async def _while_there(answering: Awaitable[None], receive: Receive) -> None:
    """Await an answer until its client goes away: what still waits in a queue then need not be done any more.

    Who searches while they type leaves a request behind for each pause.
    """
    task, has_left = asyncio.current_task(), False

    async def watch() -> None:
        nonlocal has_left
        message = await receive()
        if message["type"] == "http.disconnect" and task is not None:
            has_left = True
            task.cancel()

    watching = asyncio.create_task(watch())
    try:
        await answering
    except asyncio.CancelledError:
        if not has_left or task is None or task.uncancel():
            raise  # Somebody else cancelled it too.
    finally:
        watching.cancel()


class _Replay:
    """Gives the application the body that was read, and then what else comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

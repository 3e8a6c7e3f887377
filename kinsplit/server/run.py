"""The service on a socket."""

from __future__ import annotations

import errno
import gc
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from kinsplit.errors import InvalidParameterError
from kinsplit.server.library import Library
from kinsplit.server.protocol import patient
from kinsplit.server.settings import ServiceSettings


def listen(settings: ServiceSettings) -> socket.socket:
    """Take the port.

    Raises:
        InvalidParameterError: It is taken, or there is no such address here.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By name, since asyncio sends small answers at once (TCP_NODELAY) only on sockets that say they are TCP's.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            remedy = "Stop what listens there, or take another one: --port 0 takes a free one."
            raise InvalidParameterError("port", "is taken already", settings.port, remedy) from None
        if error.errno == errno.EACCES:
            remedy = "Take one above 1023."
            raise InvalidParameterError("port", "is not for this user", settings.port, remedy) from None
        rule, remedy = "must be an address of this machine", "Take 127.0.0.1, or 0.0.0.0 for all of them."
        raise InvalidParameterError("host", rule, settings.host, remedy) from None
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return where a browser on this machine finds the service."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def make_server(app: FastAPI, settings: ServiceSettings, on_start: Callable[[], None]) -> uvicorn.Server:
    """Return a server, whose `run` answers requests until it is told to stop, and then finishes those under way.

    Args:
        app: The application.
        settings: The settings.
        on_start: Called once requests are answered.
    """
    library: Library = app.state.library
    rejected = library.metrics.rejected
    proxies = list(settings.trusted_proxies)
    config = uvicorn.Config(
        app,
        http=patient(settings.patience, rejected.labels("slow").inc, rejected.labels("crowd").inc),
        ws="none",
        log_config=None,
        access_log=False,  # It would hold questions.
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        limit_concurrency=settings.connections,
        # As many are accepted at a time; few enough that each is read from before the next ones could displace it.
        backlog=max(64, settings.connections // 2),
        timeout_graceful_shutdown=int(settings.timeout) + 1,
    )
    return _Server(config, on_start)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What is loaded by now stays: a full collection would look at all of it, and hold every request up.
            gc.collect()
            gc.freeze()
            self._on_start()

"""The service on a socket."""

from __future__ import annotations

import asyncio
import errno
import gc
import heapq
import socket
from collections import Counter
from collections.abc import Callable
from operator import attrgetter

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from kinsplit.errors import InvalidParameterError
from kinsplit.server.collections import Library
from kinsplit.server.middleware.access import network_of
from kinsplit.server.settings import ServiceSettings

#: One of so many connections is closed beyond need.
_SPARE = 20


class PatientProtocol(H11Protocol):
    """Closes a connection whose client does not finish the head of a request, or takes nothing of its answer.

    uvicorn waits for both without end, so a few hundred clients that send a byte now and then would take all
    connections, and others would let large answers lie in memory.

    Where all connections are taken, uvicorn answers everybody with 503. Here, those that wait for a request, or for the
    rest of one, give way to whoever has sent one: the oldest of the address that has most of them goes first.

    Attributes:
        patience: Seconds.
        on_slow: Called when a connection is closed for its client's slowness.
        on_crowd: Called when a connection gives way.
    """

    patience: float
    on_slow: Callable[[], None]
    on_crowd: Callable[[], None]
    _since, _network = 0.0, ""
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._network = network_of(self.client[0]) if self.client else ""
        self._make_room()
        self._head = self.loop.call_later(self.patience, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Wait on where the head is still not whole."""
        self._make_room()
        super().data_received(data)
        if not self._is_waiting:
            self._since = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._head is None:
            self._head = self.loop.call_later(self.patience, self._give_up)

    def pause_writing(self) -> None:
        """Begin to wait for the client to take what was written."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop waiting: nearly all was taken."""
        super().resume_writing()
        self._stop_waiting_for_client()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting_for_head()
        self._stop_waiting_for_client()
        super().connection_lost(exc)

    def _stop_waiting_for_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_waiting_for_client(self) -> None:
        if self._answer is not None:
            self._answer.cancel()
            self._answer = None

    @property
    def _is_waiting(self) -> bool:
        """Whether there is no whole request to answer."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _make_room(self) -> None:
        """Close so many of the connections that wait that there is one for this."""
        # uvicorn turns away from this number on, and not only above it.
        over = len(self.connections) + 1 - (self.limit_concurrency or len(self.connections) + 1)
        if over <= 0:
            return
        waiting = [
            each
            for each in self.connections
            if isinstance(each, PatientProtocol) and each is not self and each._is_waiting
        ]
        ranked = []
        crowds: Counter[str] = Counter()
        for each in sorted(waiting, key=attrgetter("_since"), reverse=True):
            crowds[each._network] += 1
            ranked.append((crowds[each._network], -each._since, id(each), each))
        # Some more, since it takes a while to look at all of them.
        for *_, each in heapq.nlargest(over + len(self.connections) // _SPARE, ranked):
            self.on_crowd()
            self.connections.discard(each)
            each.transport.abort()

    def _watch(self, left: int) -> None:
        self._answer = self.loop.call_later(self.patience, self._check, left)

    def _check(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:  # Slow, but it takes something.
            self._watch(left)
        else:
            self._give_up()

    def _give_up(self) -> None:
        self.on_slow()
        self.transport.abort()


def patient(seconds: float, on_slow: Callable[[], None], on_crowd: Callable[[], None]) -> type[PatientProtocol]:
    """Return the protocol with a patience of its own.

    Args:
        seconds: The patience.
        on_slow: Called for every client that used it up.
        on_crowd: Called for every connection that gave way to another one.
    """
    attributes = {"patience": seconds, "on_slow": staticmethod(on_slow), "on_crowd": staticmethod(on_crowd)}
    return type("Patient", (PatientProtocol,), attributes)


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

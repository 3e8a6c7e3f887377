"""The socket, the HTTP protocol and the server process."""

from __future__ import annotations

import asyncio
import errno
import gc
import heapq
import socket
import sys
from collections import Counter
from collections.abc import Callable
from operator import attrgetter

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from kinsplit.errors import InvalidParameterError
from kinsplit.server.middleware.access import network_of
from kinsplit.server.middleware.logs import configure_logs
from kinsplit.server.middleware.metrics import Metrics
from kinsplit.server.settings import ServiceSettings

#: Besides those needed, one of this many connections is closed.
_SPARE = 20


class PatientProtocol(H11Protocol):
    """HTTP protocol that closes slow and idle connections.

    uvicorn waits indefinitely for the rest of a request head and for the client to read its response, so a few hundred
    clients that send a byte now and then could occupy all connections, or keep large responses in memory. This protocol
    closes such connections after `patience` seconds.

    When all connections are taken, uvicorn rejects every request with 503. This protocol instead closes connections
    that have not sent a whole request: first the oldest of the address with the most of them.
    """

    patience: float  # Seconds.
    on_slow: Callable[[], None]  # Called when a slow connection is closed.
    on_crowd: Callable[[], None]  # Called when a connection is closed in favour of another.
    _since, _network = 0.0, ""
    _head: asyncio.TimerHandle | None = None
    _drain: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request head."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._network = network_of(self.client[0]) if self.client else ""
        self._make_room()
        self._head = self.loop.call_later(self.patience, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Keep waiting unless the head is complete."""
        self._make_room()
        super().data_received(data)
        if not self._is_waiting:
            self._since = self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._head is None:
            self._head = self.loop.call_later(self.patience, self._give_up)

    def pause_writing(self) -> None:
        """Start waiting for the client to read."""
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop waiting for the client to read."""
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
        if self._drain is not None:
            self._drain.cancel()
            self._drain = None

    @property
    def _is_waiting(self) -> bool:
        """Whether the connection has no complete request."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _make_room(self) -> None:
        """Close enough waiting connections to leave one for this client."""
        # uvicorn rejects requests at the limit, not only above it.
        over = len(self.connections) + 1 - (self.limit_concurrency or len(self.connections) + 1)
        if over <= 0:
            return
        others = (each for each in self.connections if isinstance(each, PatientProtocol) and each is not self)
        waiting = [each for each in others if each._is_waiting]
        ranked = []
        crowds: Counter[str] = Counter()
        for each in sorted(waiting, key=attrgetter("_since"), reverse=True):
            crowds[each._network] += 1
            ranked.append((crowds[each._network], -each._since, id(each), each))
        # A few more than needed, since ranking all of them takes a while.
        for *_, each in heapq.nlargest(over + len(self.connections) // _SPARE, ranked):
            self.on_crowd()
            self.connections.discard(each)
            each.transport.abort()

    def _watch(self, left: int) -> None:
        self._drain = self.loop.call_later(self.patience, self._check, left)

    def _check(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:  # Slow, but it reads.
            self._watch(left)
        else:
            self._give_up()

    def _give_up(self) -> None:
        self.on_slow()
        self.transport.abort()


def patient(seconds: float, on_slow: Callable[[], None], on_crowd: Callable[[], None]) -> type[PatientProtocol]:
    """Return a `PatientProtocol` class with the given attributes."""
    attributes = {"patience": seconds, "on_slow": staticmethod(on_slow), "on_crowd": staticmethod(on_crowd)}
    return type("Patient", (PatientProtocol,), attributes)


def listen(settings: ServiceSettings) -> socket.socket:
    """Bind the socket of the service, or raise InvalidParameterError if the port or the address can't be used."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With an explicit protocol, since asyncio sets TCP_NODELAY only on sockets that are marked as TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except (OSError, TypeError, UnicodeError) as error:  # The latter two where the host can't be the name of one.
        listening.close()
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            remedy = "Stop the program that uses it, or choose another port; --port 0 picks a free one."
            raise InvalidParameterError("port", "is already in use", settings.port, remedy) from None
        if number == errno.EACCES:
            remedy = "Use a port above 1023."
            raise InvalidParameterError("port", "is not permitted for this user", settings.port, remedy) from None
        rule, remedy = "must be an address of this machine", "Use 127.0.0.1, or 0.0.0.0 for all addresses."
        raise InvalidParameterError("host", rule, settings.host, remedy) from None
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the URL of the service for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def run(
    app: ASGIApp, settings: ServiceSettings, metrics: Metrics, listening: socket.socket, on_start: Callable[[], None]
) -> None:
    """Serve requests on a socket of `listen` until Ctrl-C; see `make_server`."""
    configure_logs(as_json=settings.log_json, log_text=settings.log_text)
    # The event loop waits for other threads several times per request, by default up to 5 ms each time.
    sys.setswitchinterval(0.001)
    make_server(app, settings, metrics, on_start).run(sockets=[listening])


def make_server(
    app: ASGIApp, settings: ServiceSettings, metrics: Metrics, on_start: Callable[[], None]
) -> uvicorn.Server:
    """Create a server whose `run` serves requests until it is stopped, and then finishes those in progress.

    `on_start` is called once it accepts requests.
    """
    rejected = metrics.rejected
    proxies = list(settings.trusted_proxies)
    config = uvicorn.Config(
        app,
        http=patient(settings.patience, rejected.labels("slow").inc, rejected.labels("crowd").inc),
        ws="none",
        log_config=None,
        access_log=False,  # It would contain questions.
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        limit_concurrency=settings.connections,
        # uvicorn accepts this many at a time; each must be read before the next ones can displace it.
        backlog=max(64, settings.connections // 2),
        timeout_graceful_shutdown=int(settings.timeout) + 1,
    )
    return NotifyingServer(config, on_start)


class NotifyingServer(uvicorn.Server):
    """Server that calls a function once it accepts requests."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then call `on_start`."""
        await super().startup(sockets)
        if self.started:
            # Exclude everything loaded so far from garbage collection, which would pause all requests.
            gc.collect()
            gc.freeze()
            self._on_start()

"""uvicorn's connections, with an end to waiting for clients, and room for those that don't let it wait."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable
from operator import attrgetter

from uvicorn.protocols.http.h11_impl import H11Protocol

from kinsplit.server.access import network_of

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

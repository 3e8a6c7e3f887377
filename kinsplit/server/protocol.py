"""uvicorn's connections, with an end to waiting for the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """Closes a connection whose client does not finish the head of a request, or takes nothing of its answer.

    uvicorn waits for both without end, so a few hundred clients that send a byte now and then would take all
    connections, and others would let large answers lie in memory.

    Attributes:
        patience: Seconds.
        on_slow: Called when a connection is closed.
    """

    patience: float
    on_slow: Callable[[], None]
    _head: asyncio.TimerHandle | None = None
    _answer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._head = self.loop.call_later(self.patience, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Wait on where the head is still not whole."""
        super().data_received(data)
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


def patient(seconds: float, on_slow: Callable[[], None]) -> type[PatientProtocol]:
    """Return the protocol with a patience of its own.

    Args:
        seconds: The patience.
        on_slow: Called for every client that used it up.
    """
    return type("Patient", (PatientProtocol,), {"patience": seconds, "on_slow": staticmethod(on_slow)})

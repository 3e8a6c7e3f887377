"""HTTP requests with limits of their time, and of their bytes both packed and unpacked."""

from __future__ import annotations

import functools
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx

#: Maximum bytes read of an error's body; messages show far less.
ERROR_BODY = 1 << 16
# Bytes unpacked at a time, which may be packed into a thousandth.
_PART = 1 << 16
_GZIP = zlib.MAX_WBITS | 16
#: The only packing to request, since no other is unpacked within limits.
PACKING = {"accept-encoding": "gzip"}


@functools.cache
def certificates() -> ssl.SSLContext:
    """Return the certificates that clients trust, which take a tenth of a second to load."""
    return httpx.create_ssl_context()


class ResponseTooLongError(Exception):
    """A response exceeds its limit; the excess is in words, such as "more than 1,000 bytes"."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Watchdog:
    """Shuts a client's connections down when the time of a request is over.

    httpx limits only the wait for the next bytes, so a server that sends a byte now and then can hold a request
    forever. A watchdog serves one client, which sends its requests one after another.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._over = threading.Event()
        self._timer: threading.Timer | None = None
        self._streams: list[Any] = []

    @property
    def is_over(self) -> bool:
        """Whether the time of the last request was over before its end."""
        return self._over.is_set()

    def start(self, request: httpx.Request, seconds: float) -> None:
        """Limit the time of a request that is about to be sent."""
        self._over.clear()
        request.extensions["trace"] = self._watch
        self.restart(seconds)

    def restart(self, seconds: float) -> None:
        """Limit the rest of the time of the request that was started."""
        self.stop()
        self.seconds = seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """End the limit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._over.set()
        for stream in self._streams:
            # Not the method of a TLS socket, which isn't safe while another thread reads.
            with suppress(OSError):
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)

    def _watch(self, event: str, details: Mapping[str, Any]) -> None:
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._streams = [one for one in self._streams if one.get_extra_info("socket").fileno() >= 0]
            self._streams.append(details["return_value"])


class LimitedStream(httpx.SyncByteStream):
    """The body of a response, unpacked, and limited in bytes both packed and unpacked.

    The body of an error is truncated at `ERROR_BODY`. The excess is reported before it is raised.
    """

    def __init__(self, response: httpx.Response, limit: int, on_excess: Callable[[ResponseTooLongError], None]) -> None:
        self._stream = response.stream
        self._packing = response.headers.pop("content-encoding", "")
        self._is_error, self._limit, self._on_excess = response.is_error, limit, on_excess

    def __iter__(self) -> Iterator[bytes]:
        assert isinstance(self._stream, httpx.SyncByteStream)  # noqa: S101
        if self._is_error:
            with suppress(ResponseTooLongError, httpx.DecodingError):
                yield from _body(self._stream, self._packing, ERROR_BODY)
            return
        try:
            yield from _body(self._stream, self._packing, self._limit)
        except ResponseTooLongError as error:
            self._on_excess(error)
            raise

    def close(self) -> None:
        """Close the connection."""
        assert isinstance(self._stream, httpx.SyncByteStream)  # noqa: S101
        self._stream.close()


class RequestLimits:
    """Limits of the requests of one client, which sends them one after another, as event hooks of httpx.

    The seconds last until the beginning of a response's body, and include the body if it has none of its own. `excess`
    is the limit of bytes that was exceeded, or None.
    """

    def __init__(self, seconds: float, body_seconds: float | None, longest: int) -> None:
        self.watchdog = Watchdog()
        self.excess: ResponseTooLongError | None = None
        self._seconds, self._body_seconds, self._longest = seconds, body_seconds, longest

    def begin(self, request: httpx.Request) -> None:
        """Limit a request that is about to be sent."""
        if self.excess is not None:
            # Instead of another attempt of the client, which takes this for a failure that may pass.
            raise self.excess
        self.watchdog.start(request, self._seconds)

    def limit(self, response: httpx.Response) -> None:
        """Limit the body of a response."""
        if self._body_seconds is not None:
            self.watchdog.restart(self._body_seconds)
        response.stream = LimitedStream(response, self._longest, self._exceed)
        response.encoding = "utf-8"  # The declared charset may name a slow codec.

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch one call of the client, whatever came of the calls before.

        Raises:
            httpx.ReadTimeout: The time is over.
            ResponseTooLongError: The response exceeds its limit.
        """
        self.excess = None
        try:
            yield
        except Exception as error:
            # A connection that was shut down can look broken in any way,
            if self.watchdog.is_over:
                raise self._timeout() from error
            raise
        else:
            # or complete, if only its end marks the end of the response.
            if self.watchdog.is_over:
                raise self._timeout()
        finally:
            self.watchdog.stop()

    def _timeout(self) -> httpx.ReadTimeout:
        return httpx.ReadTimeout(f"there is no end after {self.watchdog.seconds:g} s")

    def _exceed(self, excess: ResponseTooLongError) -> None:
        self.excess = excess


def _body(arriving: Iterable[bytes], packing: str, limit: int) -> Iterator[bytes]:
    """Return the parts of a body, unpacked, with a maximum of bytes both packed and unpacked.

    Raises:
        ResponseTooLongError: There are more.
        httpx.DecodingError: Its packing is not the declared or not the requested one.
    """
    arriving, packing = _counted(arriving, limit), packing.strip().lower()
    if packing in ("", "identity"):
        return arriving
    if packing in ("gzip", "x-gzip"):
        return _counted(_unpacked(arriving), limit)
    raise httpx.DecodingError(f"it is packed by {packing[:40]!r}, and only gzip was asked for")


def _counted(parts: Iterable[bytes], limit: int) -> Iterator[bytes]:
    left = limit
    for part in parts:
        yield part[:left]
        left -= len(part)
        if left < 0:
            raise ResponseTooLongError(f"more than {limit:,} bytes")


def _unpacked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack on request only: 64 KiB may contain 64 MiB."""
    unzip, is_begun = zlib.decompressobj(_GZIP), False
    try:
        for part in parts:
            is_begun = True
            found = unzip.decompress(part, _PART)
            while found:
                yield found
                found = unzip.decompress(unzip.unconsumed_tail, _PART)
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error
    if is_begun and not unzip.eof:
        raise httpx.DecodingError("its gzip ends in the middle")

"""HTTP exchanges that end: limited in time, and in bytes both as they arrive and as they unpack."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

import httpx

#: Bytes of an error's body that are read; messages show far less.
ERROR_BODY = 1 << 16
# Bytes that are unpacked at a time: a thousandth as many may hold them.
_PART = 1 << 16
_GZIP = zlib.MAX_WBITS | 16
# No longer true once a body was read and decoded; the declared charset may also name a slow codec.
_DECODED_HEADERS = ("content-encoding", "content-length", "content-type", "transfer-encoding")


class ResponseTooLongError(Exception):
    """A response is longer than its limit.

    Args:
        what: What was longer, and than what.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class ExchangeTimeoutError(httpx.ReadTimeout):
    """An exchange is not over in time.

    Args:
        seconds: The time.
        request: The request.
    """

    def __init__(self, seconds: float, request: httpx.Request) -> None:
        super().__init__(f"there is no end after {seconds:g} s", request=request)
        self.seconds = seconds


class Client:
    """Sends requests, one after another, each of which ends in time.

    httpx limits only the wait for the next bytes: a server that sends one byte now and then is never given up. Here the
    connection is shut down when the time of the whole exchange is over, in whatever state it is. Redirects are not
    followed, and no packing other than gzip is asked for or unpacked.

    Args:
        wait: Most seconds to wait for the next bytes.
        connect: Most seconds to wait for a connection.
        headers: Sent with each request.
        auth: Sent with each request.
        **options: See `httpx.Client`.
    """

    def __init__(
        self,
        wait: float,
        connect: float,
        headers: Mapping[str, str] | None = None,
        auth: httpx.BasicAuth | None = None,
        **options: Any,
    ) -> None:
        headers = {"accept-encoding": "gzip", **(headers or {})}
        timeout = httpx.Timeout(wait, connect=connect)
        self._client = httpx.Client(headers=headers, auth=auth, timeout=timeout, **options)
        self._streams: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def request(self, method: str, url: str, **content: Any) -> httpx.Request:
        """Return a request; see `httpx.Client.build_request`."""
        return self._client.build_request(method, url, **content)

    @contextmanager
    def exchange(self, request: httpx.Request, seconds: float) -> Iterator[httpx.Response]:
        """Send a request and yield the response, of which the body is read by `body` or `read_response`.

        Args:
            request: The request.
            seconds: Most seconds from here to the end of the block.

        Raises:
            ExchangeTimeoutError: The time is over.
            httpx.HTTPError: See `httpx.Client.send`.
        """
        over = threading.Event()

        def end() -> None:
            over.set()
            for stream in self._streams:
                # Not the method of a TLS socket, which is not made to be called while another thread reads.
                with suppress(OSError):
                    socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)

        def watch(event: str, details: Mapping[str, Any]) -> None:
            if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
                self._streams = [one for one in self._streams if one.get_extra_info("socket").fileno() >= 0]
                self._streams.append(details["return_value"])

        request.extensions["trace"] = watch
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            response = self._client.send(request, stream=True)
            try:
                yield response
            finally:
                response.close()
        except Exception as error:
            # Cut off, a response may look broken in any way,
            if over.is_set():
                raise ExchangeTimeoutError(seconds, request) from error
            raise
        else:
            # or whole, where only the end of the connection says that it is.
            if over.is_set():
                raise ExchangeTimeoutError(seconds, request)
        finally:
            timer.cancel()


def body(response: httpx.Response, limit: int) -> Iterator[bytes]:
    """Yield a response's body, unpacked.

    Args:
        response: The response.
        limit: Most bytes, both as they arrive and unpacked.

    Raises:
        ResponseTooLongError: There are more.
        httpx.DecodingError: It is packed otherwise than it says, or than was asked for.
    """
    arriving = _counted(response.iter_raw(), limit)
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing in ("", "identity"):
        return arriving
    if packing in ("gzip", "x-gzip"):
        return _counted(_unpacked(arriving), limit)
    raise httpx.DecodingError(f"it is packed by {packing[:40]!r}, and only gzip was asked for")


def read_response(response: httpx.Response, limit: int) -> httpx.Response:
    """Return a response with its body read: UTF-8, and of an error no more than its first bytes.

    Args:
        response: The response.
        limit: See `body`; that of an error is `ERROR_BODY`, at which it is cut.
    """
    data = bytearray()
    if response.is_success:
        for part in body(response, limit):
            data += part
    else:
        with suppress(ResponseTooLongError, httpx.DecodingError):
            for part in body(response, ERROR_BODY):
                data += part
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _DECODED_HEADERS]
    return httpx.Response(
        response.status_code,
        headers=headers,
        content=bytes(data),
        extensions={key: value for key, value in response.extensions.items() if key == "reason_phrase"},
    )


def _counted(parts: Iterable[bytes], limit: int) -> Iterator[bytes]:
    left = limit
    for part in parts:
        yield part[:left]
        left -= len(part)
        if left < 0:
            raise ResponseTooLongError(f"more than {limit:,} bytes")


def _unpacked(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack no more at a time than is asked for: 64 KiB may hold 64 MiB."""
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
